"""Layers of neural networks, from activations to losses."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn

from unmess.conformance.operators.case import CHOICE, EACH, EXACT, SUMS, Accuracy, C, Table

TABLE = Table("Neural-network layers", SUMS)
op = TABLE.op

# Activations.
for name in ("gelu", "silu", "mish", "softplus", "elu", "selu", "celu", "logsigmoid"):
    op(f"F.{name}", "f32[n,3]", "bf16[7]", accuracy=EACH)
for name in (
    "softsign",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "relu6",
    "leaky_relu",
    "tanhshrink",
):
    op(f"F.{name}", "f32[n,3]", accuracy=EACH)
for name in ("hardshrink", "softshrink"):
    op(f"F.{name}", "f32[n,3]", C("f64[5]", 1.0), accuracy=CHOICE)
op("F.gelu", C("f32[n,3]", approximate="tanh"), accuracy=EACH)
op("F.elu", C("f32[5]", alpha=0.5), accuracy=EACH)
op("F.softplus", C("f32[5]", beta=2, threshold=1), accuracy=EACH)
op("F.leaky_relu", C("f32[5]", 0.2), C("f32[9] special", 0.2), accuracy=EACH)
op("F.hardtanh", C("f32[5]", -2, 0.5), C("i64[4]", -2, 3), accuracy=CHOICE)
op("F.prelu", C("f32[n,3]", "f32[3]"), C("f32[2,3,4]", "f32[1]"), accuracy=EACH)
op("F.glu", "f32[n,4]", C("f32[4,n]", dim=0), accuracy=EACH)
# A result of log_softmax near 0 is a difference of larger numbers, and has their rounding errors.
for name, accuracy in (("softmax", SUMS), ("log_softmax", replace(SUMS, of_largest=1))):
    op(
        f"F.{name}",
        *(
            C("f32[n,4]", dim=-1),
            C("f32[n,4]", dim=0),
            C("f64[2,3,2]", dim=1),
            C("f16[2,5]", dim=1),
        ),
        *(
            C("f32[n,m]", dim=1),
            C("f32[]", dim=0),
            C("f32[2,0]", dim=0),
            C("f16[2,5]", dim=1, dtype=torch.float32),
        ),
        accuracy=accuracy,
    )
op("F.softmin", C("f32[n,4]", dim=1))
op("F.normalize", "f32[n,4]", C("f32[3,4]", p=1, dim=0), C("f32[2,3] zero"))

# Linear layers and embeddings.
op("F.linear", C("f32[n,3]", "f32[4,3]"), C("f32[n,3]", "f32[4,3]", "f32[4]"))
op("F.linear", C("f32[3]", "f32[4,3]", "f32[4]"), C("bf16[2,n,3]", "bf16[4,3]", "bf16[4]"))
op("F.linear", C("f64[0,3]", "f64[4,3]"), C("f16[2,3]", "f16[4,3]"))
op("F.bilinear", C("f32[2,3]", "f32[2,4]", "f32[5,3,4]", "f32[5]"))
op(
    "F.embedding",
    C("i64[n,2] <5", "f32[5,3]"),
    C("i32[4] <5", "f16[5,3]"),
    C("i64[] <5", "f32[5,3]"),
)
op(
    "F.embedding",
    C("i64[4] <5", "f32[5,3]", padding_idx=1),
    C("i64[0]", "f32[5,3]"),
    accuracy=EXACT,
)
op("F.embedding", C("i64[n,2] <4", "f32[5,3]", max_norm=1.0))
op("F.embedding", C("i64[4] <5", "f32[5,3]", max_norm=1.0, norm_type=1.0))
op(
    "F.embedding_bag",
    *(C("i64[n,2] <5", "f32[5,3]"), C("i64[2,3] <5", "f32[5,3]", mode="sum")),
    C("i64[2,3] <5", "f64[5,3]", mode="sum"),
)
op("F.one_hot", C("i64[n] <4", 4), C("i64[2,3] <4", 5), C("i64[2,n] <4"), accuracy=EXACT)

# Convolutions: stride, padding, dilation, groups, depthwise, transposed, without a batch.
X1, X2, X3 = "f32[b,4,9]", "f32[b,4,6,7]", "f32[1,2,4,5,4]"
op("F.conv1d", C(X1, "f32[6,4,3]", "f32[6]"), C(X1, "f32[6,2,3]", stride=2, padding=1, groups=2))
op("F.conv1d", C("f32[2,4,n]", "f32[3,4,1]"), C(X1, "f32[4,1,3]", dilation=2, groups=4))
op("F.conv1d", C("f32[4,9]", "f32[6,4,3]"), C("f64[1,4,9]", "f64[2,4,2]", padding="same"))
op("torch.conv_tbc", C("f32[5,2,3]", "f32[3,3,4]", "f32[4]", 1))
op("F.conv2d", C(X2, "f32[6,4,3,3]", "f32[6]"), C(X2, "f32[6,2,3,3]", stride=(2, 1), groups=2))
op("F.conv2d", C(X2, "f32[4,1,3,2]", padding=(1, 0), groups=4), C(X2, "f32[8,1,2,2]", groups=4))
op("F.conv2d", C("f32[1,4,n,m]", "f32[3,4,2,2]", padding=1), C(X2, "f32[2,4,2,2]", dilation=(2, 3)))
op("F.conv2d", C("f16[1,4,5,5]", "f16[2,4,3,3]"), C("bf16[1,4,5,5]", "bf16[2,4,3,3]"))
op(
    "F.conv2d",
    C(X2, "f32[3,4,1,1]"),
    C(X2, "f32[2,4,3,3]", padding="same"),
    C("f32[4,6,7]", "f32[2,4,3,3]"),
)
op("F.conv2d", C("f32[0,4,6,7]", "f32[2,4,3,3]"), C("f64[1,4,5,5]", "f64[2,4,3,3]"))
op("F.conv3d", C(X3, "f32[3,2,2,3,2]", "f32[3]"), C(X3, "f32[2,1,2,2,2]", padding=1, groups=2))
op("F.conv_transpose1d", C(X1, "f32[4,3,3]", "f32[3]"), C(X1, "f32[4,2,2]", stride=2, groups=2))
op("F.conv_transpose2d", C(X2, "f32[4,3,2,3]", "f32[3]", stride=2), C(X2, "f32[4,1,3,3]", groups=4))
op("F.conv_transpose2d", C(X2, "f32[4,3,3,3]", stride=2, padding=1, output_padding=1))
op("F.conv_transpose1d", C("f32[1,4,n]", "f32[4,3,16]", "f32[3]", stride=8, padding=4))
op(
    "F.conv_transpose2d",
    C(X2, "f32[4,3,5,4]", "f32[6]", stride=(2, 3), padding=(2, 1), output_padding=1, groups=2),
    C(X2, "f32[4,3,1,1]", stride=2),
)
op("F.conv_transpose2d", C(X2, "f32[4,3,2,2]", dilation=2), C(X2, "f32[4,2,2,2]", groups=2))
op("F.conv_transpose3d", C(X3, "f32[2,3,2,2,2]", stride=2))
op("F.unfold", C(X2, (2, 3)), C(X2, 2, stride=2, padding=1, dilation=2), accuracy=EXACT)
op(
    "F.fold",
    C("f32[2,12,6]", (4, 3), (2, 2)),
    C("f32[1,8,4]", (4, 4), 2, stride=2),
    C("f32[12,9]", (6, 5), (3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 1)),
    accuracy=EXACT,
)

# Pooling.
op("F.max_pool1d", C(X1, 2), C(X1, 3, stride=1, padding=1), accuracy=CHOICE)
op(
    "F.max_pool2d",
    C(X2, 2),
    C(X2, 3, stride=2, padding=1),
    C(X2, (2, 3), dilation=(1, 2)),
    accuracy=CHOICE,
)
op(
    "F.max_pool2d",
    C(X2, 3, ceil_mode=True),
    C("i64[1,2,4,4]", 2),
    C("f32[2,6,7]", 2),
    accuracy=CHOICE,
)
op("F.max_pool2d", C(X2, 2, return_indices=True), C("f16[1,2,4,4]", 2), accuracy=CHOICE)
op(
    "F.max_pool2d",
    C("f32[1,2,5,7] special", 3, 2, 1, return_indices=True),
    C("f32[1,2,5,7] special", 2, ceil_mode=True, return_indices=True),
    accuracy=CHOICE,
)
op(
    "F.max_pool2d of negative infinities",
    C("f32[2,4,5]", 3, 2, 1, 2, return_indices=True),
    function=lambda x, *window, **options: F.max_pool2d(
        torch.full_like(x, -torch.inf), *window, **options
    ),
    accuracy=EXACT,
)
op("F.max_pool3d", C("f32[1,4,5,3] special", 3, 2, 1, return_indices=True), accuracy=CHOICE)
op("F.adaptive_max_pool2d", C("f32[2,4,6] special", 2, return_indices=True), accuracy=CHOICE)
op("F.max_pool3d", C(X3, 2), accuracy=CHOICE)
for axes, shape in ((1, "3,9"), (2, "3,7,8"), (3, "2,5,6,5")):
    op(
        f"F.max_pool{axes}d without a batch",
        *(C(f"{dtype}[{shape}]", 3, 2, 1) for dtype in ("f32", "i64")[: 1 if axes == 1 else 2]),
        C(f"f32[{shape}]", 3, 2, 1, ceil_mode=True, return_indices=True),
        function=getattr(F, f"max_pool{axes}d"),
        accuracy=EXACT,
    )
op(
    "F.max_pool2d",
    C("i64[2,3,7,8] ties", (2, 3), 2, 1, ceil_mode=True, return_indices=True),
    C("u8[1,2,5,6] extreme", 3, 2, 1, 2, return_indices=True),
    accuracy=EXACT,
)
op(
    "F.max_pool3d",
    C("i64[2,5,6,4]", 2, 3, 1, ceil_mode=True, return_indices=True),
    C("u8[2,5,6,4]", (2, 3, 1), 1, dilation=(2, 1, 3), return_indices=True),
)
op("F.avg_pool1d", C(X1, 2), C(X1, 3, padding=1, count_include_pad=False))
op(
    "F.avg_pool2d",
    C(X2, 2),
    C(X2, (3, 2), stride=1, padding=1),
    C(X2, 3, padding=1, ceil_mode=True),
)
op("F.avg_pool2d", C(X2, 3, padding=1, count_include_pad=False), C(X2, 2, divisor_override=3))
op("F.avg_pool2d", C("bf16[1,2,4,4]", 2))
op("torch.ops.aten.avg_pool2d", C(X2, (2, 2), (), (0,)))
op("torch.ops.aten.max_pool3d", C(X3, (2,), (), (0,)), accuracy=CHOICE)
op("F.avg_pool3d", C(X3, 2))
op("F.adaptive_avg_pool1d", C(X1, 1), C(X1, 3), C("f32[2,4,10]", 4))
op("F.adaptive_avg_pool2d", C(X2, 1), C("f32[b,4,6,8]", (3, 4)), C(X2, (3, 2)), C(X2, (None, 1)))
op("F.adaptive_avg_pool3d", C(X3, 1))
op("F.adaptive_max_pool1d", C(X1, 3), C("f32[4,8]", 2), accuracy=CHOICE)
op("F.adaptive_max_pool2d", C("f32[b,4,6,8]", (3, 4)), C(X2, (4, 3)), C(X2, 1), accuracy=CHOICE)
op(
    "F.adaptive_max_pool2d",
    *(C(X2, (4, 3), return_indices=True), C("f32[2,13,5] special", (3, 2), return_indices=True)),
    *(C("f16[1,2,5,7]", (7, 5)), C("f32[0,2,4,7]", (3, 3))),
    accuracy=EXACT,
)
op("F.adaptive_max_pool1d", C("f32[b,3,7]", 3, return_indices=True), accuracy=EXACT)
op("F.adaptive_max_pool3d", C("f32[b,2,5,4,3]", (2, 3, 2)), accuracy=EXACT)
op("F.lp_pool1d", C("f32[b,4,9] positive", 2, 3))
op("F.lp_pool2d", C("f32[b,4,6,7] positive", 2, 2))

# Normalizations.
op("F.layer_norm", C("f32[n,4]", (4,)), C("f32[n,3,4]", (3, 4), "f32[3,4]", "f32[3,4]"))
op("F.layer_norm", C("bf16[2,8]", (8,), "bf16[8]", "bf16[8]"), C("f64[2,4]", (4,), eps=0.1))
op("F.group_norm", C("f32[b,4,5]", 2), C("f32[b,4,3,2]", 4, "f32[4]", "f32[4]"))
op("F.instance_norm", "f32[b,3,5]", C("f32[b,3,4,2]", None, None, "f32[3]"))
op(
    "F.instance_norm",
    C("f32[2,3,5]", "f32[3]", "f32[3] positive", use_input_stats=False),
)
op("F.rms_norm", C("f32[n,4]", (4,)), C("f16[2,8]", (8,), "f16[8]"), C("f32[2,4]", (4,), eps=0.1))
op("F.rms_norm", C("f32[2,4]", (4,), "c64[4]"), C("c64[2,4]", (4,), "c64[4]"))
op("F.local_response_norm", C("f32[b,4,5]", 3))
op("F.batch_norm", C("f32[b,3,5]", "f32[3]", "f32[3] positive"))
op("F.batch_norm", C("f32[b,3,2,2]", "f32[3]", "f32[3] positive", "f32[3]", "f32[3]", eps=0.1))
op("F.batch_norm", C("f32[4,3]", None, None, "f32[3]", "f32[3]", training=True))

# Attention.
Q, K = "f32[b,2,3,4]", "f32[b,2,5,4]"
op("F.scaled_dot_product_attention", C(Q, K, K), C("f32[1,2,n,4]", "f32[1,2,n,4]", "f32[1,2,n,4]"))
op("F.scaled_dot_product_attention", C(K, K, K, is_causal=True), C(Q, K, K, scale=0.3))
op("F.scaled_dot_product_attention", C(Q, K, K, "bool[3,5]"), C(Q, K, K, "f32[1,1,3,5]"))
op(
    "F.scaled_dot_product_attention",
    C("f32[1,4,3,4]", "f32[1,2,5,4]", "f32[1,2,5,4]", enable_gqa=True),
)
op("F.scaled_dot_product_attention", C("bf16[1,2,3,4]", "bf16[1,2,5,4]", "bf16[1,2,5,4]"))
op(
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu",
    C("f32[1,4,3,4]", "f32[1,2,5,4]", "f32[1,2,5,4]"),
    C("f32[2,4,3,4]", "f32[2,4,3,4]", "f32[2,4,3,4]", 0.0, True, scale=0.3),
)
op(
    "torch.ops.aten.rrelu_with_noise_backward",
    C("f32[5]", "f32[5]", "f32[5]", 0.1, 0.3, True, False),
    C("f32[5]", "f32[5]", "f32[5]", 0.1, 0.3, False, False),
)

# Recurrent layers and others with parameters.
torch.manual_seed(0)
op("nn.LSTM", "f32[5,b,3]", function=nn.LSTM(3, 4))
op(
    "nn.LSTM(bidirectional)",
    "f32[2,5,3]",
    function=nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
)
op("nn.GRU", "f32[5,b,3]", function=nn.GRU(3, 4))
op("nn.RNN", "f32[5,2,3]", function=nn.RNN(3, 4))
op("nn.LSTMCell", C("f32[n,3]"), function=nn.LSTMCell(3, 4))
op("nn.GRUCell", C("f32[n,3]"), function=nn.GRUCell(3, 4))
op(
    "nn.MultiheadAttention",
    C("f32[5,b,4]", "f32[5,b,4]", "f32[5,b,4]"),
    function=nn.MultiheadAttention(4, 2),
)
op(
    "nn.TransformerEncoderLayer",
    "f32[b,5,4]",
    function=nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
)
op("nn.Bilinear", C("f32[n,3]", "f32[n,4]"), function=nn.Bilinear(3, 4, 2))

# Resizing, sampling and padding of images.
for mode in ("nearest", "nearest-exact"):
    op(
        "F.interpolate",
        C(X2, scale_factor=2.0, mode=mode),
        C(X2, size=(4, 9), mode=mode),
        accuracy=EXACT,
    )
op("F.interpolate", C(X1, size=5, mode="linear"), C(X1, scale_factor=1.5, mode="nearest"))
# Eager resizes uint8 images in integer arithmetic.
op(
    "F.interpolate",
    C("u8[1,3,7,6] extreme", size=(3, 4), mode="bilinear", antialias=True),
    C("u8[2,1,5,6]", size=(9, 4), mode="bicubic"),
    C("u8[1,2,5,6] extreme", scale_factor=1.7, mode="bilinear"),
    accuracy=EXACT,
)
op(
    "F.interpolate",
    C(X2, size=(9, 5), mode="bilinear"),
    C(X2, size=(9, 5), mode="bilinear", align_corners=True),
)
op("torch.ops.aten._upsample_bilinear2d_aa", C(X2, (3, 4), True))
op(
    "F.interpolate",
    C(X2, scale_factor=0.5, mode="bilinear", antialias=True),
    C(X2, size=(8, 8), mode="bicubic"),
)
op(
    "F.interpolate",
    C(X2, size=(3, 4), mode="area"),
    C(X3, scale_factor=2.0),
    C(X3, size=(3, 3, 3), mode="trilinear"),
)
op("F.grid_sample", C("f32[2,3,4,5]", "f32[2,3,2,2] unit", align_corners=False))
op("F.grid_sample", C("f32[2,3,4,5]", "f32[2,3,2,2] unit", mode="nearest", align_corners=True))
op("F.grid_sample", C("f32[1,3,4,5]", "f32[1,3,2,2]", padding_mode="border", align_corners=True))
op(
    "F.affine_grid",
    C("f32[2,2,3]", (2, 1, 3, 4), align_corners=False),
    C("f32[2,2,3]", (2, 1, 1, 4), align_corners=True),
)
op("F.pixel_shuffle", C("f32[b,8,3,2]", 2), accuracy=EXACT)
op("F.pixel_unshuffle", C("f32[b,2,4,6]", 2), accuracy=EXACT)
op("F.channel_shuffle", C("f32[b,4,3,2]", 2), accuracy=EXACT)
for mode in ("reflect", "replicate", "circular"):
    op("F.pad", C("f32[b,2,5]", (2, 1), mode), C(X2, (1, 2, 2, 1), mode), accuracy=EXACT)
op("F.pad", C("f32[n,3]", (1, 2)), C("f32[n,3]", (0, 1, 2, 0), value=-1.5), accuracy=EXACT)
op(
    "F.pad",
    C("f32[3,4]", (-1, 1)),
    C("i64[3]", (2, 0), value=7),
    C("bool[3]", (1, 1), value=True),
    accuracy=EXACT,
)

# Losses.
op("F.mse_loss", C("f32[n,3]", "f32[n,3]"), C("f32[4]", "f32[4]", reduction="none"))
op("F.l1_loss", C("f32[n,3]", "f32[n,3]"), C("f32[4]", "f32[4]", reduction="sum"))
op("F.smooth_l1_loss", C("f32[n,3]", "f32[n,3]"), C("f32[4]", "f32[4]", beta=0.5))
op("F.huber_loss", C("f32[n,3]", "f32[n,3]", delta=0.7))
op("F.cross_entropy", C("f32[n,4]", "i64[n] <4"), C("f32[2,4,3]", "i64[2,3] <4", reduction="none"))
op("F.cross_entropy", C("f32[3,4]", "i64[3] <4", "f32[4] positive", label_smoothing=0.1))
op(
    "F.cross_entropy",
    C("f32[3,4]", "i64[3] <4", ignore_index=2),
    C("f32[3,4]", "f32[3,4] positive"),
)
op("F.nll_loss", C("f32[n,4]", "i64[n] <4"), C("f32[3,4]", "i64[3] <4", reduction="sum"))
op(
    "F.binary_cross_entropy",
    C("f32[n] positive", "f32[n] positive"),
    function=lambda x, y: F.binary_cross_entropy(x / 3.1, y / 3.1),
)
op("F.binary_cross_entropy_with_logits", C("f32[n,3]", "f32[n,3] positive"))
op("F.kl_div", C("f32[n,3]", "f32[n,3] positive"), C("f32[3]", "f32[3]", log_target=True))
op("F.cosine_similarity", C("f32[n,4]", "f32[n,4]"), C("f32[3,4]", "f32[3,4]", dim=0))
op("F.pairwise_distance", C("f32[n,4]", "f32[n,4]"))
op(
    "F.hinge_embedding_loss",
    C("f32[4]", "i64[4] ties"),
    function=lambda x, y: F.hinge_embedding_loss(x, y.clamp(0, 1) * 2 - 1),
)
op(
    "F.margin_ranking_loss",
    C("f32[4]", "f32[4]", "f32[4]"),
    function=lambda x, y, t: F.margin_ranking_loss(x, y, t.sign()),
)
# The first -1 ends the labels of a row.
LABELS = torch.tensor([[0, 2, -1, 3, 1], [1, -1, 0, 0, 0], [3, 2, 1, 0, 4], [-1, 0, 0, 0, 0]])
op(
    "F.multilabel_margin_loss",
    C("f32[4,5]", LABELS, reduction="none"),
    C("f32[2,13] special", LABELS.repeat(2, 3)[:2, :13]),
    C("f32[5]", LABELS[0]),
)
op("F.triplet_margin_loss", C("f32[n,4]", "f32[n,4]", "f32[n,4]"))
op("F.poisson_nll_loss", C("f32[n,3]", "f32[n,3] positive"))
op("F.gaussian_nll_loss", C("f32[4]", "f32[4]", "f32[4] positive"))
op("F.dropout", C("f32[n,3]", training=False), accuracy=EXACT)

# Pooling without a batch.
op("F.avg_pool1d", C("f32[3,8]", 3, 2, ceil_mode=True))
op("F.avg_pool2d", C("f32[2,5,8]", 3, 2, 1, ceil_mode=True))
op("F.avg_pool3d", C("f32[2,5,6,4]", 2, 2))

# Sampling of volumes, fractional pooling, segments, sequences.
op(
    "F.grid_sample",
    *(
        C("f32[2,3,4,5,6]", "f32[2,3,2,3,3] unit", mode=mode, padding_mode=pad, align_corners=align)
        for mode, pad, align in (
            ("bilinear", "zeros", False),
            ("bilinear", "border", True),
            ("nearest", "reflection", False),
        )
    ),
    accuracy=Accuracy(16, "worst"),
)
op(
    "torch.ops.aten.fractional_max_pool2d",
    C("f32[2,3,7,8]", [2, 3], [4, 5], "f32[2,3,2] unit"),
    function=lambda x, size, shape, u: torch.ops.aten.fractional_max_pool2d(
        x, size, shape, u.abs()
    ),
    accuracy=EXACT,
)
op(
    "torch.ops.aten.fractional_max_pool3d",
    C("f32[3,7,8,6]", [2, 3, 2], [4, 5, 1], "f32[1,3,3] unit"),
    function=lambda x, size, shape, u: torch.ops.aten.fractional_max_pool3d(
        x, size, shape, u.abs()
    ),
    accuracy=EXACT,
)
for reduction in ("sum", "mean", "max", "min", "prod"):
    op("torch.segment_reduce", C("f32[7,3]", reduction, offsets=torch.tensor([0, 2, 2, 7])))
op(
    "F.ctc_loss",
    C("f32[9,3,5]", "i64[3,4] <4", torch.tensor([9, 4, 9]), torch.tensor([4, 3, 0])),
    C("f32[9,3,5]", "i64[7] <4", (9, 4, 9), (4, 3, 0), reduction="none", zero_infinity=True),
    function=lambda x, target, *lengths, **options: F.ctc_loss(
        x.log_softmax(2), target + 1, *lengths, **options
    ),
)
op(
    "torch.ops.aten._batch_norm_no_update",
    C("f32[4,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3] positive", 0.1, 1e-5),
)
