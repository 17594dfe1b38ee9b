"""Compares the fixed-size steps of detection models, run by PyTorch, with torchvision's own."""

import pytest
import torch
import torchvision
from torchvision.models.detection import roi_heads

from importers.detection import fixed_size, keypoints, selection, suppression, without_absent
from importers.detection.deform_conv2d import deform_conv2d
from importers.detection.keypoints import find_keypoints, paste_masks
from importers.detection.roi_align import roi_align
from importers.detection.selection import top
from importers.detection.suppression import ABSENT, suppress
from importers.sources import find_source
from unmess.core.errors.error import Error


@pytest.fixture(autouse=True)
def plain_loops(monkeypatch):
    """Replaces `while_loop` with a Python loop: PyTorch compiles it outside of a capture."""

    def loop(more, step, state):
        while more(*state):
            state = step(*state)
        return state

    for module in (selection, suppression, keypoints):
        monkeypatch.setattr(module, "while_loop", loop)


def random(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def boxes(count, width=100.0, height=80.0, seed=0):
    ends = random(count, 2, 2, seed=seed).sort(dim=1).values
    return (ends * torch.tensor([width, height])).reshape(count, 4)


@pytest.mark.parametrize("shape, count", [((40,), 7), ((3, 900), 300), ((5000,), 1), ((300,), 300)])
def test_top(shape, count):
    values = random(*shape) - 0.5
    best, index = top(values, count)
    expected = values.topk(count)
    assert torch.equal(best, expected.values)
    assert torch.equal(index, expected.indices)


def test_top_of_equal_values_is_in_order():
    values = (random(2, 600) * 8).floor()
    best, index = top(values, 200)
    expected = values.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(best, expected.values[:, :200])
    assert torch.equal(index, expected.indices[:, :200])


# Up to 1000 boxes, torchvision offsets the boxes of each label. Above, it loops over labels.
@pytest.mark.parametrize("count", [50, 1200])
def test_suppress(count):
    found, scores = boxes(count), random(count, seed=1)
    labels = torch.arange(count) % 5
    kept, kept_scores = suppress(found, scores, labels, 0.5, count)
    expected = torchvision.ops.batched_nms(found, scores, labels, 0.5)
    assert 5 < len(expected) < count
    assert kept[: len(expected)].tolist() == expected.tolist()
    assert torch.equal(kept_scores[: len(expected)], scores[expected])
    assert (kept_scores[len(expected) :] == ABSENT).all()


def test_suppress_ignores_absent_boxes():
    found = boxes(40)
    scores = torch.where(torch.arange(40) % 3 == 0, ABSENT, random(40, seed=1))
    labels = torch.zeros(40, dtype=torch.int64)
    present = (scores > ABSENT).nonzero()[:, 0]
    expected = present[
        torchvision.ops.batched_nms(found[present], scores[present], labels[present], 0.3)
    ]
    kept, kept_scores = suppress(found, scores, labels, 0.3, 4)
    assert kept.tolist() == expected[:4].tolist()
    assert torch.equal(kept_scores, scores[expected[:4]])


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("sampling_ratio", [-1, 2])
def test_roi_align(sampling_ratio, aligned):
    feature = random(2, 3, 20, 24) - 0.5
    image = torch.tensor([0.0, 1, 1, 0, 1, 0])[:, None]
    # Some boxes extend beyond the image.
    rois = torch.cat([image, boxes(6) * 1.2 - 8], 1)
    arguments = (0.25, 3, 4, sampling_ratio, aligned)
    expected = torch.ops.torchvision.roi_align(feature, rois, *arguments)
    torch.testing.assert_close(roi_align(feature, rois, *arguments), expected)


def test_deform_conv2d():
    shape = (2, 6, 7, 8)
    image, weight, bias = random(*shape) - 0.5, random(4, 3, 3, 2) - 0.5, random(4)
    offset, mask = 4 * random(2, 2 * 3 * 6, 4, 7) - 2, random(2, 3 * 6, 4, 7)
    for use_mask in (True, False):
        arguments = (weight, offset, mask, bias, 2, 1, 1, 0, 1, 1, 2, 3, use_mask)
        expected = torch.ops.torchvision.deform_conv2d(image, *arguments)
        torch.testing.assert_close(deform_conv2d(image, *arguments), expected)


def test_masks_are_pasted():
    masks, found = random(5, 1, 28, 28), boxes(5, 60, 50)
    expected = roi_heads.paste_masks_in_image(masks, found, (50, 60))
    torch.testing.assert_close(paste_masks(masks, found, (50, 60)), expected)


def test_keypoints_are_the_peaks_of_resized_maps():
    maps, found = random(6, 4, 14, 14), boxes(6, 60, 50)
    points, scores = find_keypoints([(50, 60)], maps, [found])
    expected, expected_scores = roi_heads.keypointrcnn_inference(maps, [found])
    torch.testing.assert_close(points[0], expected[0])
    torch.testing.assert_close(scores[0], expected_scores[0])


@pytest.mark.parametrize(
    "name",
    ["fasterrcnn_mobilenet_v3_large_320_fpn", "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large"],
)
def test_a_whole_model_matches_torchvision(name):
    """Requires more than four labels, so that the comparison can detect errors."""
    source = find_source(f"torchvision:{name}")
    with torch.no_grad():
        expected = source.model(*source.args)
        with fixed_size(source.model):
            padded = source.model(*source.args)
    result = without_absent(padded)
    assert len(expected[0]["labels"].unique()) > 4
    for key, value in expected[0].items():
        torch.testing.assert_close(result[0][key], value, msg=key)


def test_unused_boxes_are_absent_and_zero():
    source = find_source("torchvision:retinanet_resnet50_fpn")
    source.model.score_thresh = 0.75
    with torch.no_grad():
        expected = source.model(*source.args)[0]
        with fixed_size(source.model):
            padded = source.model(*source.args)[0]
    count = len(expected["scores"])
    assert 0 < count < len(padded["scores"])
    assert (padded["scores"][count:] == ABSENT).all()
    assert (padded["boxes"][count:] == 0).all()
    torch.testing.assert_close(padded["boxes"][:count], expected["boxes"])


def test_training_mode_is_refused():
    model = torch.nn.Module()
    with fixed_size(model) as restore:
        assert restore is None
    name = "ssdlite320_mobilenet_v3_large"
    model = torchvision.models.get_model(name, weights=None, weights_backbone=None).train()
    with pytest.raises(Error) as caught, fixed_size(model):
        pass
    assert "training mode" in caught.value.cause
