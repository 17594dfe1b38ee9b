"""The regularized incomplete gamma functions."""

from __future__ import annotations

import math

import torch
from torch._higher_order_ops.while_loop import while_loop_op

from importers.decompositions.special.error_function import erfc_of_f64
from importers.decompositions.special.evaluation import in_f64, polynomial
from importers.decompositions.special.gamma import log_gamma

# Boost's Lanczos approximation of Γ, scaled by e^g: numerator and denominator, highest power first.
_LANCZOS_G = 6.024680040776729583740234375
_LANCZOS = (
    (
        *(0.006061842346248906525783753964555936883222, 0.5098416655656676188125178644804694509993),
        *(19.51992788247617482847860966235652136208, 449.9445569063168119446858607650988409623),
        *(6955.999602515376140356310115515198987526, 75999.29304014542649875303443598909137092),
        *(601859.6171681098786670226533699352302507, 3481712.15498064590882071018964774556468),
        *(14605578.08768506808414169982791359218571, 43338889.32467613834773723740590533316085),
        *(86363131.28813859145546927288977868422342, 103794043.1163445451906271053616070238554),
        56906521.91347156388090791033559122686859,
    ),
    (
        *(1.0, 66.0, 1925.0, 32670.0, 357423.0, 2637558.0, 13339535.0, 45995730.0, 105258076.0),
        *(150917976.0, 120543840.0, 39916800.0, 0.0),
    ),
)
# Temme's expansion for large a (DLMF 8.12.7). The rows are for a^0, a^-1, …; each has coefficients
# of powers of η, highest power first. They suffice for a from 200 on and x within 30 % of a.
_TEMME = (
    (
        9.14769958223679e-10,
        -4.382036018453353e-09,
        1.0261809784240309e-08,
        6.707853543401498e-09,
        -1.7665952736826078e-07,
        8.296711340953087e-07,
        -1.85406221071516e-06,
        -2.1854485106799924e-06,
        3.919263178522438e-05,
        -0.0001787551440329218,
        0.0003527336860670194,
        0.0011574074074074073,
        -0.014814814814814815,
        0.08333333333333333,
        -0.3333333333333333,
    ),
    (
        -1.0091543710600413e-09,
        -1.7543241719747647e-11,
        1.1951628599778148e-08,
        -5.752545603517705e-08,
        1.378633446915721e-07,
        4.647127802807434e-09,
        -1.6120900894563446e-06,
        7.64916091608111e-06,
        -1.8098550334489977e-05,
        -4.018775720164609e-07,
        0.00020576131687242798,
        -0.0009902263374485596,
        0.0026455026455026454,
        -0.003472222222222222,
        -0.001851851851851852,
    ),
    (
        -1.3670488396617112e-09,
        6.228974084922022e-09,
        -1.409252991086752e-08,
        -2.0477098421990866e-10,
        1.4280614206064242e-07,
        -6.298992138380055e-07,
        1.3721957309062932e-06,
        3.423578734096138e-08,
        -1.2760635188618728e-05,
        5.2923448829120125e-05,
        -0.00010736653226365161,
        2.0093878600823047e-06,
        0.0007716049382716049,
        -0.0026813271604938273,
        0.004133597883597883,
    ),
    (
        2.0620131815488797e-09,
        2.3928620439808118e-12,
        -1.9111168485973655e-08,
        8.099464905388083e-08,
        -1.6958404091930278e-07,
        -2.7861080291528143e-11,
        1.4230900732435883e-06,
        -5.6749528269915965e-06,
        1.1082654115347302e-05,
        -2.396505113867297e-07,
        -7.561801671883977e-05,
        0.00026772063206283885,
        -0.0004691894943952557,
        0.00022947209362139917,
        0.0006494341563786008,
    ),
    (
        3.4463580499464896e-09,
        -1.4189739437803219e-08,
        2.8865829742708783e-08,
        2.956794137544049e-11,
        -2.292934834000805e-07,
        8.907507532205309e-07,
        -1.6954149536558305e-06,
        2.507497226237533e-10,
        1.1375726970678419e-05,
        -3.968365047179435e-05,
        6.641498215465122e-05,
        -1.4638452578843418e-06,
        -0.0002990724803031902,
        0.0007840392217200666,
        -0.0008618882909167117,
    ),
    (
        -6.306194500013523e-09,
        -1.7989466721743514e-14,
        4.8240967037894184e-08,
        -1.8447187191171344e-07,
        3.4652846491085265e-07,
        -3.252473551298454e-10,
        -2.291481176508095e-06,
        8.018470256334202e-06,
        -1.3594048189768693e-05,
        1.419062920643967e-07,
        6.797780477937208e-05,
        -0.00019932570516188847,
        0.0002772753244959392,
        -6.972813758365858e-05,
        -0.00033679855336635813,
    ),
)
_LARGE, _NEAR = 200.0, 0.3
_PRECISION = 2.0**-53
_STEPS = 2000


def _igamma(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    lower, _ = _lower_and_upper(a, x)
    return lower


def _igammac(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    _, upper = _lower_and_upper(a, x)
    return upper


def _lower_and_upper(a: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns P(a, x) and Q(a, x), by the series or fraction that converges, as in Cephes."""
    a, x = torch.broadcast_tensors(a, x)
    a_finite, x_finite = a < torch.inf, x < torch.inf
    inside = torch.logical_and(torch.gt(a, 0), torch.gt(x, 0))
    inside = torch.logical_and(inside, torch.logical_and(a_finite, x_finite))
    large = torch.logical_and(a > _LARGE, (x - a).abs() < _NEAR * a)
    small = torch.logical_and(x <= 1.1, ~_is_below(a, x))
    fraction = torch.logical_and(torch.logical_and(x > 1.1, x >= a), ~large)
    series = ~torch.logical_or(torch.logical_or(small, fraction), large)
    lower = _series(*_where_used(torch.logical_and(series, inside), a, x))
    of_fraction = _fraction(*_where_used(torch.logical_and(fraction, inside), a, x))
    of_small = _upper_of_small(*_where_used(torch.logical_and(small, inside), a, x))
    upper = torch.where(fraction, of_fraction, of_small)
    upper = torch.where(series, 1 - lower, upper)
    lower = torch.where(series, lower, 1 - upper)
    expanded = _where_used(torch.logical_and(large, inside), a, x)
    no_number = torch.logical_or(torch.isnan(a), torch.isnan(x))
    lower = torch.where(no_number, torch.nan, torch.where(large, _expansion(*expanded, -1), lower))
    upper = torch.where(no_number, torch.nan, torch.where(large, _expansion(*expanded, 1), upper))
    return _at_ends(a, x, lower, 0.0, 1.0), _at_ends(a, x, upper, 1.0, 0.0)


def _at_ends(
    a: torch.Tensor, x: torch.Tensor, value: torch.Tensor, none: float, full: float
) -> torch.Tensor:
    """Returns `value`, but eager's result where a or x is 0, infinite or negative.

    This holds even if the other one is NaN.
    """
    value = torch.where(torch.eq(x, torch.inf), full, value)
    value = torch.where(torch.eq(a, torch.inf), none, value)
    value = torch.where(torch.logical_and(torch.isinf(a), torch.isinf(x)), torch.nan, value)
    value = torch.where(torch.eq(x, 0), none, value)
    value = torch.where(torch.eq(a, 0), torch.where(x > 0, full, torch.nan), value)
    return torch.where(torch.logical_or(a < 0, x < 0), torch.nan, value)


def _where_used(
    used: torch.Tensor, a: torch.Tensor, x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Replaces a and x by 1 where the result is not used. 1 takes few steps."""
    return torch.where(used, a, 1.0), torch.where(used, x, 1.0)


def _is_below(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns whether x, at most 1.1, is so small relative to a that the series is exact."""
    return torch.where(x <= 0.5, -0.4 / torch.log(x) < a, x * 1.1 < a)


def _factor(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns x^a e^-x / Γ(a)."""
    apart = torch.exp(a * torch.log(x) - x - log_gamma(a))
    base = a + (_LANCZOS_G - 0.5)
    inverse = 1 / a
    above, below = (
        torch.where(a > 1, polynomial(each[::-1], inverse), polynomial(each, a))
        for each in _LANCZOS
    )
    scale = torch.sqrt(base / math.e) * below / above
    share = (x - base) / base
    exponent = a * _log1p_less(share) + x * (0.5 - _LANCZOS_G) / base
    return torch.where((a - x).abs() > 0.4 * a, apart, scale * torch.exp(exponent))


def _log1p_less(x: torch.Tensor) -> torch.Tensor:
    """Returns log(1 + x) - x without cancellation."""
    ratio = x / (2 + x)
    square = ratio * ratio
    series = polynomial([1 / power for power in range(25, 1, -2)], square)
    near = ratio * (2 * square * series - x)
    return torch.where(x.abs() < 0.3, near, torch.log1p(x) - x)


def _series(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns P by DLMF 8.11.4."""

    def more(step, _bottom, term, total, _x):
        return torch.logical_and(step < _STEPS, (term > _PRECISION * total).any())

    def advance(step, bottom, term, total, x):
        bottom = bottom + 1
        term = term * x / bottom
        return step + 1, bottom, term, total + term

    one = torch.ones_like(x)
    _, _, _, total = while_loop_op(more, advance, (_start(), a, one, one + 0.0), (x,))
    return total * _factor(a, x) / a


def _fraction(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns Q by the continued fraction of DLMF 8.9.2, with Lentz's algorithm."""

    def is_moving(change):
        return (change - 1).abs() > 4 * _PRECISION

    def more(step, _c, _d, _value, change, _a, _x):
        return torch.logical_and(step < _STEPS, is_moving(change).any())

    def advance(step, c, d, value, change, a, x):
        count = step.to(torch.float64)
        above = count * (a - count)
        below = x - a + (2 * count + 1)
        d = 1 / (below + above * d)
        c = below + above / c
        # Keep elements that have converged: more factors add rounding errors.
        change = torch.where(is_moving(change), c * d, 1.0)
        return step + 1, c, d, value * change, change

    below = x - a + 1
    start = (_start() + 1, torch.full_like(x, 1e300), 1 / below, 1 / below, torch.zeros_like(x))
    value = while_loop_op(more, advance, start, (a, x))[3]
    return value * _factor(a, x)


def _upper_of_small(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns Q for small x, by DLMF 8.7.3."""

    def more(step, _power, term, total, _a, _x):
        return torch.logical_and(step < _STEPS, (term.abs() > _PRECISION * total.abs()).any())

    def advance(step, power, _term, total, a, x):
        count = (step + 1).to(torch.float64)
        power = -power * x / count
        term = power / (a + count)
        return step + 1, power, term, total + term

    one = torch.ones_like(x)
    start = (_start(), one, one + 0.0, torch.zeros_like(x))
    _, _, _, total = while_loop_op(more, advance, start, (a, x))
    power = a * torch.log(x)
    return -torch.expm1(power - log_gamma(1 + a)) - torch.exp(power - log_gamma(a)) * total


def _expansion(a: torch.Tensor, x: torch.Tensor, sign: int) -> torch.Tensor:
    """Returns Q, or P if `sign` is -1, for large a and x close to it, by DLMF 8.12.3."""
    half_square = -_log1p_less((x - a) / a)
    eta = torch.sqrt(2 * half_square)
    eta = torch.where(x < a, -eta, eta)
    total, inverse = torch.zeros_like(x), 1 / a
    for row in reversed(_TEMME):
        total = total * inverse + polynomial(row, eta)
    rest = torch.exp(-a * half_square) * total / torch.sqrt(2 * math.pi * a)
    return 0.5 * erfc_of_f64(sign * eta * torch.sqrt(a / 2)) + sign * rest


def _start() -> torch.Tensor:
    return torch.zeros((), dtype=torch.int64)


igamma, igammac = in_f64(_igamma), in_f64(_igammac)
