"""Special functions."""

from unmess.conformance.operators.case import EACH, Accuracy, C, Table

TABLE = Table("Special functions", EACH)
op = TABLE.op

for name in ("erfinv", "digamma", "i0"):
    op(f"torch.{name}", "f32[n,3] unit", "f32[13] special", "i64[4]")
for name in ("erfcx", "i0e", "i1", "i1e", "log_ndtr", "spherical_bessel_j0"):
    op(f"torch.special.{name}", "f32[n,3]", "f32[13] special")
for kind in ("j0", "j1", "y0", "y1"):
    op(f"torch.special.bessel_{kind}", "f32[n,3] positive", "f32[9]")
for kind in ("i0", "i1", "k0", "k1"):
    op(f"torch.special.modified_bessel_{kind}", "f32[n,3]")
for kind in ("k0", "k1"):
    op(f"torch.special.scaled_modified_bessel_{kind}", "f32[9] positive")
op("torch.special.airy_ai", "f32[n,3]", "f64[9]", accuracy=Accuracy(16, "worst"))
op("torch.special.ndtri", "f32[n,3] unit", "f64[5] unit")
for order in (0, 1, 2, 4):
    op("torch.polygamma", C(order, "f32[n,3] positive"), C(order, "f32[5]"))
op("torch.mvlgamma", C("f32[4] positive", 1))
op("torch.special.zeta", C("f32[n,3] positive", "f32[n,3]"), C(3.0, "f32[]"))

# Loops whose length depends on data. Their results in f64 are closer to the truth than eager's.
op("torch.igamma", C("f32[n,3] positive", "f32[n,3] positive"), C("f32[13] special", "f32[]"))
op("torch.igammac", C("f32[n,3] positive", "f32[n,3] positive"))
for name in (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *(f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
):
    op(f"torch.special.{name}", C("f32[4,3] unit", "i64[4,3] <9"), accuracy=Accuracy(16, "worst"))
op(
    "torch.special.legendre_polynomial_p",
    C("f32[]", 3),
    C("f32[n,3] unit", "i64[n,3] <9"),
    C(0.5, "i64[4] <9"),
)

# Adjacent numbers.
op("torch.nextafter", C("f32[13] special", "f32[13,1] special"), C("f64[5]", "f64[5]"))
