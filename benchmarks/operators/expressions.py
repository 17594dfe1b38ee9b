"""Common operators of PyTorch as Python expressions, and the tensors that they read."""

from __future__ import annotations

import torch

_random = torch.Generator().manual_seed(0)


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_random)


def _below(limit: int, *shape: int) -> torch.Tensor:
    """Returns random indices (i64) below a limit."""
    return torch.randint(limit, shape, generator=_random)


# The tensors, by the names that expressions use.
TENSORS = {
    "x": _normal(512, 1024),
    "y": _normal(512, 1024),
    "positive": _normal(512, 1024).abs() + 0.1,
    "unit": torch.rand(512, 1024, generator=_random) * 0.8 + 0.1,
    "mask": _normal(512, 1024) > 0,
    "numbers": _below(100, 512, 1024),
    "line": _normal(200_000),
    "sorted_line": _normal(5000).sort().values,
    "ids": _below(1000, 100_000),
    "columns": _below(1024, 512, 256),
    "rows": _below(512, 400),
    "row_values": _normal(400, 1024),
    "column_values": _normal(512, 256),
    "classes": _below(1024, 512),
    "tokens": _below(30_000, 16, 128),
    "bags": _below(30_000, 512, 20),
    "table": _normal(30_000, 64),
    "image": _normal(4, 64, 56, 56),
    "small_image": _normal(2, 16, 56, 56),
    "photo": _normal(2, 3, 224, 224),
    "bytes_": _below(256, 1, 3, 224, 224).to(torch.uint8),
    "grid": torch.rand(4, 56, 56, 2, generator=_random) * 2 - 1,
    "blocks": _normal(2, 144, 3136),
    "volume": _normal(1, 16, 8, 28, 28),
    "sequence": _normal(2, 256, 500),
    "w1": _normal(256, 64, 3),
    "w1_depthwise": _normal(256, 1, 4),
    "w2": _normal(64, 64, 3, 3),
    "w2_depthwise": _normal(64, 1, 3, 3),
    "w2_groups": _normal(64, 16, 3, 3),
    "w2_patches": _normal(384, 3, 16, 16),
    "w2_stem": _normal(64, 3, 11, 11),
    "w3": _normal(32, 16, 3, 3, 3),
    "square": _normal(1024, 512),
    "w_bytes": _below(256, 1024, 1024).to(torch.int8),
    "scale": torch.rand(1024, 1, generator=_random),
    "batch": _normal(16, 128, 64),
    "heads": _normal(2, 8, 128, 64),
    "points": _normal(512, 64),
    "cube": _normal(32, 64, 64),
    "few_points": _normal(200, 32),
    "vectors": _normal(50_000, 3),
    "small": _normal(32, 32) + 8 * torch.eye(32),
    "angles": _normal(512, 64),
    "rotary": _normal(1, 8, 512, 64),
    "complex_pairs": _normal(256, 512, 2),
    "signal": _normal(2, 16_000),
    "frames": _normal(64, 512),
    "long_frames": _normal(64, 1000),
    "half": _normal(512, 1024).half(),
    "half_square": _normal(1024, 512).half(),
    "bf16": _normal(512, 1024).bfloat16(),
    "double": _normal(256, 1024).double(),
}

# `F` is `torch.nn.functional`.
EXPRESSIONS = """
x.exp()
positive.log()
positive.log2()
positive.log1p()
x.expm1()
x.exp2()
positive.sqrt()
positive.rsqrt()
x.reciprocal()
x.sin()
x.cos()
x.tan()
unit.asin()
unit.acos()
x.atan()
x.sinh()
x.cosh()
x.tanh()
x.asinh()
(positive + 1).acosh()
unit.atanh()
x.sigmoid()
unit.logit()
x.erf()
x.erfc()
unit.erfinv()
positive.lgamma()
positive.digamma()
x.round()
x.floor()
x.frac()
x.sign()
x.abs()
-x
x.square()
x ** 3
positive ** 2.5
2**x
F.relu(x)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.silu(x)
F.elu(x)
F.mish(x)
F.softplus(x)
F.hardswish(x)
F.logsigmoid(x)
F.glu(x)

x + y
x / y
torch.atan2(x, y)
torch.fmod(x, positive)
torch.remainder(x, positive)
torch.floor_divide(x, positive)
torch.logaddexp(x, y)
torch.hypot(x, y)
torch.xlogy(positive, positive)
positive**y
torch.maximum(x, y)
torch.copysign(x, y)
x < y
torch.where(mask, x, y)
x.masked_fill(mask, -1.0)
torch.logical_and(mask, ~mask)
x.clamp(-1, 1)
torch.lerp(x, y, 0.3)
torch.addcmul(x, y, y)
numbers // 7
numbers % 7
numbers.sum()
(bytes_.float() / 255 - 0.45) / 0.22
bf16 + bf16

x.sum()
x.sum(0)
x.sum(1)
x.mean((0, 1))
x.amax(0)
x.amax(1)
x.max()
x.prod()
x.std(1)
x.var(0)
x.norm()
x.norm(dim=1)
x.logsumexp(1)
x.argmax(0)
x.argmax(1)
mask.any(1)
mask.all(0)
image.mean((2, 3))
x.softmax(0)
x.softmax(1)
x.log_softmax(1)
bf16.softmax(1)
x.cumsum(0)
x.cumsum(1)
line.cumsum(0)
x.cumprod(1)
x.cummax(1)
x.logcumsumexp(1)
x.diff()
torch.trapezoid(x)

x.sort(0)
x.sort(1)
line.sort()
line.topk(50)
x.topk(8, dim=0)
x.topk(8, dim=1)
x.kthvalue(5, dim=1)
x.median()
x.median(1)
x.quantile(0.5, dim=1)
torch.unique(ids)
torch.bincount(ids, minlength=1000)
torch.histc(line, 64, -3, 3)
torch.searchsorted(sorted_line, line)
torch.bucketize(line, torch.linspace(-3, 3, 64))
torch.isin(ids, ids[:20])
torch.nonzero(x > 1)
x[x > 1]

x.gather(1, columns)
x.index_select(0, rows)
x[rows]
F.embedding(tokens, table)
F.embedding_bag(bags, table)
x.scatter(1, columns, column_values)
x.scatter_add(1, columns, column_values)
x.scatter_reduce(1, columns, column_values, "amax")
x.index_add(0, rows, row_values)
x.index_put((rows,), row_values, accumulate=True)
x.masked_scatter(mask, y)
F.one_hot(classes, 1024)

x.tril()
x.roll((3, 5), (0, 1))
x.flip(1)
torch.rot90(x)
x.t().contiguous()
image.permute(0, 2, 3, 1).contiguous()
torch.cat([x, y])
torch.cat([x, y], 1)
torch.stack([x, y], -1)
x.repeat(2, 2)
x.repeat_interleave(2, 1)
x.unfold(1, 16, 8).contiguous()
image[:, ::2, 1::2, ::2].contiguous()
F.pixel_shuffle(image, 2)
F.pixel_unshuffle(image, 2)
torch.channel_shuffle(image, 4)
F.pad(image, (2, 2, 2, 2))
F.pad(image, (2, 2, 2, 2), mode="reflect")
F.pad(image, (2, 2, 2, 2), mode="replicate")
F.pad(image, (2, 2, 2, 2), mode="circular")
F.unfold(small_image, 3, padding=1)
F.fold(blocks, (56, 56), 3, padding=1)
torch.block_diag(x, y)
torch.diag_embed(column_values)

F.max_pool2d(image, 3, 2, 1)
F.max_pool2d(image, 2, return_indices=True)
F.avg_pool2d(image, 3, 2, 1)
F.adaptive_avg_pool2d(image, 7)
F.adaptive_avg_pool2d(image, (5, 6))
F.adaptive_max_pool2d(image, 6)
F.lp_pool2d(image, 2, 3, 2)
F.max_pool1d(sequence, 4)
F.avg_pool1d(sequence, 25, 1, 12)
F.max_pool3d(volume, 2)
F.interpolate(small_image, scale_factor=2)
F.interpolate(small_image, scale_factor=2, mode="bilinear")
F.interpolate(small_image, scale_factor=2, mode="bicubic")
F.interpolate(image, size=(30, 30), mode="bilinear", antialias=True)
F.interpolate(image, size=(28, 28), mode="area")
F.grid_sample(image, grid, align_corners=False)

F.layer_norm(x, (1024,))
F.layer_norm(bf16, (1024,))
F.rms_norm(x, (1024,))
F.batch_norm(image, None, None, training=True)
F.group_norm(image, 8)
F.instance_norm(image)
F.local_response_norm(image, 5)
F.normalize(x, dim=1)
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
x.renorm(2, 0, 1.0)

x @ square
x[:1] @ square
line @ line
batch @ batch.mT
torch.outer(line[:1000], line[:1000])
F.bilinear(points, points, cube)
torch.einsum("bihd,bjhd->bhij", heads.transpose(1, 2), heads.transpose(1, 2))
half @ half_square
double @ double.mT
numbers[:256, :256] @ numbers[:256, :256]
x[:4] @ (w_bytes.float() * scale).mT
torch.cdist(points, cube[:8].flatten(0, 1))
torch.cdist(points, cube[:8].flatten(0, 1), p=1.0)
F.pdist(few_points)
torch.kron(small, small)
torch.linalg.cross(vectors, vectors.roll(1, 0))
torch.linalg.inv(small)
torch.linalg.det(small)
torch.linalg.solve(small, small)
F.scaled_dot_product_attention(heads, heads, heads)
F.scaled_dot_product_attention(rotary, rotary, rotary, is_causal=True)
rotary * angles.cos() + torch.cat([-rotary[..., 32:], rotary[..., :32]], -1) * angles.sin()

F.conv1d(sequence, w1, groups=4)
F.conv1d(F.pad(sequence, (3, 0)), w1_depthwise, groups=256)
F.conv2d(image, w2)
F.conv2d(image, w2, padding=2, dilation=2)
F.conv2d(image, w2_depthwise, padding=1, groups=64)
F.conv2d(image, w2_depthwise, stride=2, padding=1, groups=64)
F.conv2d(image, w2_groups, padding=1, groups=4)
F.conv2d(photo, w2_patches, stride=16)
F.conv2d(photo, w2_stem, stride=4, padding=2)
F.conv3d(volume, w3)
F.conv_transpose2d(image, w2, stride=2)
F.conv_transpose2d(image, w2_depthwise, stride=2, groups=64)

torch.view_as_real(torch.fft.rfft(frames))
torch.view_as_real(torch.fft.rfft(long_frames))
torch.fft.irfft(torch.fft.rfft(frames))
torch.view_as_real(torch.fft.fft2(image[0]))
torch.stft(signal, 400, 160, window=torch.hann_window(400), return_complex=True).abs()
torch.view_as_real(torch.view_as_complex(complex_pairs) * torch.view_as_complex(complex_pairs))

F.cross_entropy(x, classes)
F.mse_loss(x, y)
F.kl_div(x, positive, reduction="sum")
F.binary_cross_entropy_with_logits(x, unit)
F.smooth_l1_loss(x, y)
F.triplet_margin_loss(x, y, positive)
F.multi_margin_loss(x, classes)
"""
