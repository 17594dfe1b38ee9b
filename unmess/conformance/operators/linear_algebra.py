"""Matrix products, factorizations and Fourier transforms."""

from __future__ import annotations

import torch

from unmess.conformance.operators.case import EXACT, SUMS, Accuracy, C, Table

TABLE = Table("Linear algebra", SUMS)
op = TABLE.op

op(
    "torch.matmul",
    *(
        C("f32[n,3]", "f32[3,m]"),
        C("f32[3]", "f32[3]"),
        C("f32[n,3]", "f32[3]"),
        C("f32[3]", "f32[3,4]"),
    ),
    *(C("f32[b,2,3]", "f32[3,4]"), C("f32[b,1,2,3]", "f32[4,3,2]"), C("f32[2,0]", "f32[0,3]")),
    *(C("f64[2,3]", "f64[3,2]"), C("f16[2,3]", "f16[3,4]"), C("bf16[2,3]", "bf16[3,4]")),
    *(C("c64[2,3]", "c64[3,2]"), C("f32[0,3]", "f32[3,2]"), C("f32[5,n,3]", "f32[5,3,n]")),
)
op(
    "torch.matmul",
    C("i64[2,3]", "i64[3,2]"),
    C("i32[n,3]", "i32[3]"),
    C("i8[2,3] extreme", "i8[3,2]"),
    accuracy=EXACT,
)
op("torch.mm", C("f32[n,3]", "f32[3,4]"), C("f32[1,1]", "f32[1,1]"), C("u8[2,3]", "u8[3,2]"))
op(
    "torch.bmm",
    C("f32[b,2,3]", "f32[b,3,4]"),
    C("f64[1,2,3]", "f64[1,3,1]"),
    C("i64[2,2,3]", "i64[2,3,2]"),
    C("f32[b,2,0]", "f32[b,0,3]"),
)
op("torch.mv", C("f32[n,3]", "f32[3]"))
op("torch.dot", C("f32[n]", "f32[n]"), C("i64[4]", "i64[4]"), C("f32[0]", "f32[0]"))
op("torch.vdot", C("c64[4]", "c64[4]"), C("f32[4]", "f32[4]"))
op("torch.inner", C("f32[n,3]", "f32[4,3]"))
op("torch.outer", C("f32[n]", "f32[m]"), C("i64[3]", "i64[2]"), accuracy=EXACT)
op(
    "torch.addmm",
    C("f32[4]", "f32[n,3]", "f32[3,4]"),
    C("f32[2,4]", "f32[2,3]", "f32[3,4]", beta=0.5, alpha=2),
)
op(
    "torch.addmv",
    C("f32[n]", "f32[n,3]", "f32[3]", alpha=2),
    C("f32[3] special", "f32[3,2]", "f32[2]", beta=0),
    C("i64[]", "i64[3,2]", "i64[2]"),
)
op(
    "torch.addbmm",
    C("f32[n,2]", "f32[b,n,3]", "f32[b,3,2]", beta=2),
    C("f64[2]", "f64[2,3,2]", "f64[2,2,2]"),
    C("i64[3,2]", "i64[2,3,2]", "i64[2,2,2]"),
)
op("torch.addmm", C("f32[2,2] special", "f32[2,3]", "f32[3,2]", beta=0))
op("torch.addmv", C("f32[3]", "f32[3,4]", "f32[4]"))
op("torch.addr", C("f32[3,2]", "f32[3]", "f32[2]"))
op("torch.addbmm", C("f32[2,4]", "f32[3,2,3]", "f32[3,3,4]"))
op(
    "torch.baddbmm",
    C("f32[b,2,4]", "f32[b,2,3]", "f32[b,3,4]"),
    C("f32[1]", "f32[2,2,3]", "f32[2,3,4]", beta=2, alpha=0.5),
)
op("torch.chain_matmul", C("f32[2,3]", "f32[3,4]", "f32[4,2]"))
op("torch.linalg.multi_dot", C(["f32[2,3]", "f32[3,4]", "f32[4,2]"]))
op(
    "torch.tensordot",
    C("f32[2,3,4]", "f32[4,3,5]", dims=([1, 2], [1, 0])),
    C("f32[n,3]", "f32[3,2]", dims=1),
)
op("torch.kron", C("f32[2,2]", "f32[1,3]"))
for equation in ("ij,jk->ik", "ij,kj->ik", "ij,ij->", "ij,ij->i", "ij,j->ji"):
    specs = {"jk": "f32[3,4]", "kj": "f32[4,3]", "ij": "f32[n,3]", "j": "f32[3]"}
    op("torch.einsum", C(equation, *(specs[part] for part in equation.split("->")[0].split(","))))
op(
    "torch.einsum",
    C("bij,bjk->bik", "f32[b,2,3]", "f32[b,3,4]"),
    C("ii->i", "f32[3,3]"),
    C("...ij->...ji", "f32[2,n,3]"),
)
op(
    "torch.einsum",
    C("bhqd,bhkd->bhqk", "f32[b,2,3,4]", "f32[b,2,5,4]"),
    C("i,j,k->ijk", "f32[2]", "f32[3]", "f32[2]"),
)
op("torch.trace", "f32[3,3]", "i64[2,3]")
op("torch.cross", C("f32[n,3]", "f32[n,3]", dim=1))
op("torch.linalg.cross", C("f32[2,3]", "f32[2,3]"))
op("torch.cdist", C("f32[2,3]", "f32[4,3]"), C("f32[2,3]", "f32[4,3]", p=1.0))
op("torch.linalg.matrix_power", C("f32[3,3]", 3), C("f32[3,3]", 0))
op("torch.linalg.matrix_norm", "f32[3,4]", C("f32[3,4]", 1))
op("torch.linalg.det", "f32[3,3]")
op("torch.linalg.inv", "f32[3,3]")
op("torch.linalg.solve", C("f32[3,3]", "f32[3,2]"))
op("torch.linalg.qr", "f32[3,2]")
op("torch.linalg.svdvals", "f32[3,2]")
op("torch.linalg.eigvalsh", "f32[2,2]")
op("torch.linalg.cholesky", "f32[1,1] positive")
op("torch.linalg.slogdet", "f32[3,3]")
op("torch.linalg.lstsq", C("f32[3,2]", "f32[3,1]"))
op("torch.triangular_solve", C("f32[3,2]", "f32[3,3] positive"))
op("torch.fft.fft", "f32[n,4]", "c64[5]", C("f32[4,3]", dim=0))
op("torch.fft.ifft", "c64[2,4]")
op("torch.fft.rfft", "f32[2,6]", C("f32[5]", norm="ortho"))
op("torch.fft.irfft", "c64[2,4]")
op("torch.fft.fft2", "f32[3,4]")
op("torch.fft.fftshift", "f32[5]")
op("x @ x.T", "f32[n,3]", "f64[2,2]", function=lambda x: x @ x.T)
op("x.T @ y", C("f32[3,n]", "f32[3,m]"), function=lambda x, y: x.T @ y)

# Loops over columns. Factors whose signs and phases are not determined are multiplied with each
# other.
LOOPS = Accuracy(16, "worst")


def _definite(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mH + torch.eye(x.shape[-1])


def _from_singular_vectors(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    u, values, v = torch.linalg.svd(x)
    size = values.shape[-1]
    return (u[..., :size] * values.unsqueeze(-2)) @ v[..., :size, :], values, (u @ u.mH).abs()


def _from_eigenvectors(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    values, v = torch.linalg.eigh(x)
    return (v * values.unsqueeze(-2)) @ v.mH, values


op("torch.linalg.lu_factor_ex", "f64[2,4,3]", "c64[3,3]", "f32[3,3] zero", accuracy=LOOPS)
op("torch.linalg.lu", "f32[b,3,4]", accuracy=LOOPS)
op(
    "lu_solve of lu_factor",
    C("f32[2,3,3]", "f32[2,4,3]"),
    function=lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False),
    accuracy=LOOPS,
)
op("torch.linalg.solve_ex", C("c64[2,3,3]", "c64[3,2]"), C("f32[b,3,3]", "f32[b,3,2]"))
op("torch.linalg.inv_ex", "f64[2,3,3]", "f32[0,0]", accuracy=LOOPS)
op("torch.linalg.det", "f32[b,4,4]", "c64[3,3]", "f32[2,0,0]", accuracy=LOOPS)
op(
    "torch.linalg.solve_triangular",
    C("f32[3,3] positive", "f32[2,3,2]", upper=True),
    C("f64[3,3] positive", "f64[2,3]", upper=False, left=False, unitriangular=True),
    accuracy=LOOPS,
)
op(
    "cholesky of x x^H + 1",
    *("f32[b,4,4]", "f64[3,3]", "c64[2,3,3]"),
    function=lambda x: torch.linalg.cholesky(_definite(x)),
    accuracy=LOOPS,
)
op("torch.linalg.cholesky_ex", "f32[3,3] zero", accuracy=LOOPS)
op("torch.cholesky_solve", C("f32[3,2]", "f32[3,3] positive"), accuracy=LOOPS)
op("torch.cholesky_inverse", "f32[3,3] positive", accuracy=LOOPS)
op(
    "torch.linalg.qr",
    *(C("f32[b,4,3]"), C("f64[3,4]"), C("c64[4,2]", mode="complete"), C("f32[4,2]", mode="r")),
    accuracy=LOOPS,
)
op("torch.geqrf", "f32[4,3]", accuracy=LOOPS)
op("torch.linalg.householder_product", C("f32[4,3]", "f32[2]"), accuracy=LOOPS)
op("torch.ormqr", C("f32[4,3]", "f32[3]", "f32[4,2]", transpose=True), accuracy=LOOPS)
op(
    "eigh, multiplied out",
    *("f32[b,4,4]", "f64[5,5]", "c64[3,3]", "f32[3,3] zero"),
    function=lambda x: _from_eigenvectors(x + x.mH),
    accuracy=LOOPS,
)
op(
    "svd, multiplied out",
    *("f32[b,4,3]", "f64[3,5]", "c64[3,3]", "f32[3,2] zero"),
    function=_from_singular_vectors,
    accuracy=LOOPS,
)
op("torch.linalg.pinv", "f32[2,4,3]", C("f32[3,3]", hermitian=True), accuracy=LOOPS)
op("torch.linalg.matrix_rank", "f32[2,3,4]", "f32[3,3] zero", accuracy=LOOPS)
op("torch.linalg.cond", "f32[3,3]", C("f32[3,3]", 1), accuracy=LOOPS)
op("torch.linalg.matrix_norm", C("f32[3,4]", "nuc"), C("f32[3,4]", -2), accuracy=LOOPS)
op("torch.linalg.matrix_exp", "f32[2,3,3]", "f32[3,3]", "c64[3,3]", accuracy=LOOPS)
op("torch.linalg.matrix_power", C("f32[3,3]", -2), accuracy=LOOPS)
op(
    "torch.linalg.lstsq",
    *(C("f32[4,3]", "f32[4,2]", driver=driver) for driver in ("gels", "gelsd")),
    C("f32[2,4]", "f32[2,3]", driver="gels"),
    accuracy=LOOPS,
)
op("torch.linalg.ldl_factor_ex", "f32[4,4]", C("c64[3,3]", hermitian=True), accuracy=LOOPS)
op(
    "ldl_solve of ldl_factor",
    C("f32[4,4]", "f32[4,2]"),
    function=lambda a, b: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a + a.mT), b),
    accuracy=LOOPS,
)
op(
    "torch.linalg.tensorsolve",
    C("f32[4,2,2]", "f32[4]"),
    function=torch.linalg.tensorsolve,
    accuracy=LOOPS,
)
