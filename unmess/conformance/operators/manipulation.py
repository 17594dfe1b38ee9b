"""Views, permutations, concatenation: operators that move elements and compute none."""

import torch

from unmess.conformance.operators.case import EXACT, C, Table

TABLE = Table("Tensor manipulation", EXACT)
op = TABLE.op

op("Tensor.view", C("f32[2,6]", 3, 4), C("f32[n,6]", -1, 2, 3), C("i64[4]", 2, 2), C("f32[1]", ()))
op("Tensor.view", C("f32[4]", torch.int32), C("i16[4]", torch.float16), C("f32[2,4]", torch.uint8))
op(
    "torch.reshape",
    C("f32[2,6]", (3, 4)),
    C("f32[n,6]", (-1, 3)),
    C("f32[]", (1, 1)),
    C("f32[0,3]", (3, 0)),
)
op("x.T.reshape(-1)", "f32[n,4]", "i64[2,3]", function=lambda x: x.T.reshape(-1))
op("torch.flatten", "f32[n,3,2]", C("f32[2,3,n]", 0, 1), C("f32[2,3,4]", -2), "f32[]")
op("torch.unflatten", C("f32[n,6]", 1, (2, 3)), C("f32[6]", 0, (-1, 2)))
op(
    "torch.squeeze",
    "f32[1,n,1]",
    C("f32[1,3,1]", 0),
    C("f32[1,3,1]", -1),
    C("f32[2,3]", 0),
    C("f32[1,n,1]", (0, 2)),
)
op("torch.unsqueeze", C("f32[n,3]", 0), C("f32[n,3]", -1), C("f32[]", 0), C("bool[3]", 1))
op("torch.transpose", C("f32[n,3,4]", 0, 2), C("i64[2,3]", -1, -2), C("f32[]", 0, 0))
op(
    "torch.permute",
    C("f32[n,3,4]", (2, 0, 1)),
    C("f16[2,3,4]", (-1, 0, -2)),
    C("bool[2,3]", (1, 0)),
)
op("torch.movedim", C("f32[n,3,4]", 0, -1), C("f32[2,3,4]", (0, 1), (2, 0)))
op("torch.t", "f32[n,3]", "f32[3]")
op("Tensor.mT", "f32[2,n,3]", function=lambda x: x.mT)
op("Tensor.expand", C("f32[n,1]", -1, 4), C("f32[3]", 2, 3), C("f32[]", 2, 2), C("i64[1,3]", 4, -1))
op("torch.broadcast_to", C("f32[3,1]", (2, 3, 4)), C("bool[1]", (3,)))
op("torch.broadcast_tensors", C("f32[n,1]", "f32[1,m]"))
op("Tensor.repeat", C("f32[n,2]", 2, 3), C("f32[3]", 2, 1), C("i64[2]", 3))
op("torch.tile", C("f32[n,2]", (2,)), C("f32[2]", (2, 2)))
op("torch.repeat_interleave", C("f32[n,2]", 2), C("f32[2,3]", 2, 1), C("i64[3]", 3, dim=0))
op("torch.repeat_interleave", C("f32[3]", "i64[3] positive"))
op(
    "torch.cat",
    C(["f32[n,3]", "f32[2,3]"]),
    C(["f32[2,n]", "f32[2,m]"], 1),
    C(["f32[2]", "f32[0]"]),
    C(["f32[2,3]"] * 3, -1),
)
op("torch.cat", C(["i64[2]", "f32[2]"]), C(["bool[2]", "u8[2]"]), C(["f16[2,2]", "f16[2,1]"], 1))
op(
    "torch.stack",
    C(["f32[n,3]", "f32[n,3]"]),
    C(["f32[3]", "f32[3]"], -1),
    C(["f32[]", "f32[]"]),
    C(["i64[2,3]"] * 2, 1),
)
op("torch.hstack", C(["f32[2]", "f32[3]"]), C(["f32[n,1]", "f32[n,2]"]))
op("torch.vstack", C(["f32[3]", "f32[3]"]))
op("torch.dstack", C(["f32[2,3]", "f32[2,3]"]))
op("torch.column_stack", C(["f32[3]", "f32[3]"]))
op("torch.block_diag", C("f32[2,3]", "f32[1,2]"))
op("torch.split", C("f32[n,6]", 2, 1), C("f32[5,2]", [1, 4]), C("f32[5]", 2))
op("torch.chunk", C("f32[n,6]", 3, -1), C("f32[5]", 3))
op("torch.tensor_split", C("f32[5,2]", 3), C("f32[5]", (1, 3)))
op("torch.unbind", "f32[2,n]", C("f32[n,2]", 1))
op("torch.select", C("f32[n,3]", 1, 2), C("f32[3,n]", 0, -1))
op("torch.narrow", C("f32[n,4]", 1, 1, 2), C("i64[5]", 0, -3, 2))
op(
    "torch.flip",
    C("f32[n,3]", (0,)),
    C("f32[2,3,4]", (0, -1)),
    C("i64[4]", (0,)),
    C("f32[0]", (0,)),
)
op("torch.fliplr", "f32[n,3]")
op("torch.rot90", C("f32[n,3]", 1), C("f32[2,3]", 2), C("f32[2,3]", -1, (1, 0)))
op(
    "torch.roll",
    C("f32[n,3]", 1, 0),
    C("f32[2,4]", (1, -2), (0, 1)),
    C("f32[2,3]", 2),
    C("i64[5]", -7, 0),
)
op("torch.diagonal", C("f32[3,4]"), C("f32[2,3,4]", 1, 1, 2), C("f32[3,4]", -1))
op("torch.diag", "f32[3]", "f32[3,4]", C("f32[3]", 1))
op("torch.diag_embed", "f32[n,3]", C("f32[3]", 1))
op("torch.diagflat", "f32[2,2]")
op("torch.tril", "f32[n,4]", C("f32[3,4]", -1), C("i64[2,3,3]", 1), "bool[3,3]")
op("torch.triu", "f32[n,4]", C("f32[3,4]", 1), C("f64[3,3]", -1))
op("Tensor.unfold", C("f32[6]", 0, 3, 1), C("f32[2,7]", 1, 3, 2))
op("torch.as_strided_scatter", C("f32[3,4]", "f32[2,2]", (2, 2), (4, 1), 1))
op("torch.as_strided_scatter", C("f32[6]", "f32[2,3]", (2, 3), (1, 2)))
op("torch.as_strided", C("f32[6]", (2, 3), (1, 2)), C("f32[6]", (2, 2), (2, 1), 1))
op("Tensor.contiguous", "f32[n,3]", function=lambda x: x.T.contiguous())
op("torch.clone", "f32[n,3]", "bool[]", C("f32[1,2,3,3]", memory_format=torch.channels_last))
op("torch.meshgrid", C("f32[n]", "f32[m]", indexing="ij"), C("f32[2]", "f32[3]", indexing="xy"))
op("torch.cartesian_prod", C("f32[2]", "f32[3]"))
op("torch.combinations", "f32[4]")
op("torch.atleast_2d", "f32[3]", "f32[]")
op("torch.swapaxes", C("f32[n,3]", 0, 1))
op("torch.ravel", "f32[n,3]")
op("Tensor.type_as", C("f32[3] positive", "i64[1]"))
op("x[1:, ::2]", "f32[4,n]", "i64[4,5]", function=lambda x: x[1:, ::2])
op("x[..., -1]", "f32[n,4]", "f32[2,3,4]", function=lambda x: x[..., -1])
op("x[None, :, 1:3]", "f32[n,4]", function=lambda x: x[None, :, 1:3])
op("x[-3:-1]", "f32[5]", "bool[4,2]", function=lambda x: x[-3:-1])
op("x[5:2]", "f32[6]", function=lambda x: x[5:2])
op("torch.numel", "f32[n,3]")
op("x.shape[0] * x.shape[1]", "f32[n,m]", function=lambda x: x.shape[0] * x.shape[1])
for name, *arguments in (
    ("view_copy", "f32[3,4]", (2, 6)),
    ("permute_copy", "f32[2,3,4]", (2, 0, 1)),
    ("narrow_copy", "f32[3,4]", 1, 1, 2),
    ("unbind_copy", "f32[3,4]", 1),
    ("slice_copy", "f32[5,2]", 0, 1, 4, 2),
    ("unfold_copy", "f32[7]", 0, 3, 2),
    ("as_strided_copy", "f32[12]", (2, 3), (5, 2), 1),
    ("transpose_copy", "f32[n,3]", 0, 1),
):
    op(f"torch.{name}", C(*arguments))
op("x.clone().resize_(2, 3)", "f32[6]", "f32[3,3]", function=lambda x: x.clone().resize_(2, 3))
