"""Decompositions of special functions."""

from importers.decompositions.decomposition import entries
from importers.decompositions.special import bessel, modified_bessel
from importers.decompositions.special.airy import airy_ai
from importers.decompositions.special.error_function import erfc, erfcx, erfinv, ndtri
from importers.decompositions.special.gamma import digamma, lgamma, polygamma, zeta
from importers.decompositions.special.incomplete_gamma import igamma, igammac
from importers.decompositions.special.orthogonal_polynomials import POLYNOMIALS
from importers.decompositions.windows import WINDOWS

_OPERATORS = {
    "erfc.default": erfc,
    "erfinv.default": erfinv,
    "special_erfcx.default": erfcx,
    "special_ndtri.default": ndtri,
    "lgamma.default": lgamma,
    "digamma.default": digamma,
    "polygamma.default": polygamma,
    "special_zeta.default": zeta,
    "special_zeta.other_scalar": zeta,
    "special_zeta.self_scalar": zeta,
    "igamma.default": igamma,
    "igammac.default": igammac,
    "i0.default": modified_bessel.i0,
    "special_i0e.default": modified_bessel.scaled_i0,
    "special_i1.default": modified_bessel.i1,
    "special_i1e.default": modified_bessel.scaled_i1,
    "special_modified_bessel_i0.default": modified_bessel.i0,
    "special_modified_bessel_i1.default": modified_bessel.i1,
    "special_modified_bessel_k0.default": modified_bessel.k0,
    "special_modified_bessel_k1.default": modified_bessel.k1,
    "special_scaled_modified_bessel_k0.default": modified_bessel.scaled_k0,
    "special_scaled_modified_bessel_k1.default": modified_bessel.scaled_k1,
    "special_bessel_j0.default": bessel.j0,
    "special_bessel_j1.default": bessel.j1,
    "special_bessel_y0.default": bessel.y0,
    "special_bessel_y1.default": bessel.y1,
    "special_spherical_bessel_j0.default": bessel.spherical_j0,
    "special_airy_ai.default": airy_ai,
    **{
        f"special_{name}.{overload}": function
        for name, function in POLYNOMIALS.items()
        for overload in ("default", "x_scalar", "n_scalar")
    },
}

SPECIAL = (
    *entries(
        "special function in f64",
        "torch",
        "the torch dialect does not have the operator, or torch-mlir does not lower it",
        _OPERATORS,
    ),
    *entries(
        "window function",
        "torch",
        "the torch dialect has no window functions but Hann's",
        WINDOWS,
    ),
)
