"""Tests `torchvision:NAME`: example inputs, cached weights, and errors."""

import hashlib

import pytest
import torch
from torchvision import models

from importers.sources import find_source
from unmess.core.errors.error import Error


@pytest.fixture(autouse=True)
def torch_home(tmp_path, monkeypatch):
    """Returns an empty weight cache, so that earlier downloads do not affect the tests."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def test_unknown_name():
    with pytest.raises(Error) as caught:
        find_source("torchvision:resnet8")
    assert caught.value.stage == "source"
    assert caught.value.exit_status == 2
    assert caught.value.hint == "did you mean resnet18, resnet50 or resnet34?"


@pytest.mark.parametrize(
    "name, shape",
    [
        ("mobilenet_v3_small", (1, 3, 224, 224)),
        ("efficientnet_b1", (1, 3, 240, 240)),
        ("googlenet", (1, 3, 224, 224)),
        ("vit_b_32", (1, 3, 224, 224)),
        ("swin_v2_t", (1, 3, 256, 256)),
        ("lraspp_mobilenet_v3_large", (1, 3, 224, 224)),
        ("mc3_18", (1, 3, 16, 112, 112)),
    ],
)
def test_result_depends_on_the_example(name, shape):
    source = find_source(f"torchvision:{name}")
    assert source.args[0].shape == shape
    assert not any(layer.training for layer in source.model.modules())
    assert "random weights (seed 0" in source.notes[0]
    with torch.no_grad():
        result = torch.utils._pytree.tree_leaves(source.model(*source.args))[0]
        other = torch.utils._pytree.tree_leaves(source.model(-source.args[0]))[0]
    # A result that hardly depends on the image would not reveal a wrong lowering.
    assert float((result - other).abs().max()) > 0.01 * float(result.abs().max())


def test_crop_size_of_inception():
    from importers.sources.torchvision import _crop_size

    assert _crop_size("inception_v3", None) == (299, 299)
    # Weights are published for 518 and 224; the constructor's default is 224.
    assert _crop_size("vit_h_14", None) == (224, 224)
    assert _crop_size("vit_h_14", models.ViT_H_14_Weights.DEFAULT) == (518, 518)


def test_boxes_do_not_depend_on_rounding():
    source = find_source("torchvision:fasterrcnn_resnet50_fpn")
    (image,) = source.args[0]
    with torch.no_grad():
        boxes = source.model([image])[0]["boxes"]
        # Without oneDNN, sums are in another order.
        with torch.backends.mkldnn.flags(enabled=False):
            others = source.model([image])[0]["boxes"]
    assert float((boxes - others).abs().max()) < 3e-5 * image.shape[-1]


def test_random_weights_repeat():
    first, second = (find_source("torchvision:shufflenet_v2_x0_5") for _ in range(2))
    for (name, one), two in zip(
        first.model.state_dict().items(), second.model.state_dict().values(), strict=True
    ):
        assert torch.equal(one, two), name
    assert torch.equal(first.args[0], second.args[0])


def test_published_weights_in_the_cache(torch_home, monkeypatch):
    model = models.squeezenet1_1(weights=None)
    with torch.no_grad():
        model.classifier[1].bias.fill_(0.25)
    torch.save(model.state_dict(), torch_home / "weights")
    digest = hashlib.sha256((torch_home / "weights").read_bytes()).hexdigest()[:8]
    file = torch_home / f"squeezenet1_1-{digest}.pth"
    (torch_home / "weights").rename(file)
    weights = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    published = weights.value.__class__(
        f"https://example.org/{file.name}", weights.transforms, weights.meta
    )
    monkeypatch.setattr(weights, "_value_", published)
    source = find_source("torchvision:squeezenet1_1")
    assert source.model.classifier[1].bias[0] == 0.25
    assert source.notes == (f"weights {weights} from {file}",)


def test_damaged_weights_in_the_cache(torch_home):
    file = torch_home / models.SqueezeNet1_1_Weights.DEFAULT.url.rpartition("/")[2]
    file.write_bytes(b"half a download")
    with pytest.raises(Error) as caught:
        find_source("torchvision:squeezenet1_1")
    assert caught.value.cause.startswith(f"{file} is damaged: its SHA-256 starts with ")
    assert "delete it" in caught.value.hint


def test_weights_from_a_local_file(tmp_path):
    model = models.squeezenet1_1(weights=None)
    with torch.no_grad():
        model.classifier[1].bias.fill_(0.5)
    torch.save({"model": model.state_dict(), "epoch": 3}, tmp_path / "own.pth")
    source = find_source(f"torchvision:squeezenet1_1@{tmp_path / 'own.pth'}")
    assert source.model.classifier[1].bias[0] == 0.5
    assert source.notes == (f"weights from {tmp_path / 'own.pth'}",)


def test_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "own.pth"
    torch.save(models.squeezenet1_1(weights=None, num_classes=10).state_dict(), path)
    with pytest.raises(Error) as caught:
        find_source(f"torchvision:squeezenet1_1@{path}")
    assert caught.value.cause == (
        f"{path} does not fit squeezenet1_1: 2 weights differ, first classifier.1.weight is "
        "10x512x1x1 in the file and 1000x512x1x1 in the model"
    )


def test_a_file_without_weights(tmp_path):
    path = tmp_path / "own.pth"
    for content, cause in ((b"text", "does not contain weights"), (None, "there is no file")):
        if content is not None:
            path.write_bytes(content)
        else:
            path.unlink()
        with pytest.raises(Error) as caught:
            find_source(f"torchvision:squeezenet1_1@{path}")
        assert cause in caught.value.cause
