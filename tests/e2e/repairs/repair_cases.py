"""Programs that need one repair or decomposition each, and the errors without it."""

import dataclasses
import math

import torch
import torch.nn.functional as F


@dataclasses.dataclass
class Case:
    """A function that needs the repair `repair`, and the error if that repair is removed.

    `without` is a regular expression for the error. It is None if torch-mlir would read
    uninitialized memory, or if only some ways to decompose a program need the repair.
    """

    repair: str
    function: object
    args: tuple
    without: str | None = "no lowering for"

    def __str__(self):
        return self.function.__name__


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(0))


def average_of_windows(x):
    return torch.ops.aten.avg_pool2d(x, (2, 2), (), (0,))


def limited_embeddings(indices, table):
    return F.embedding(indices, table * 2, max_norm=1.0)


def route(logits):
    """Counts the tokens of each expert, as mixture-of-experts layers do."""
    experts = logits.topk(2, dim=-1).indices.reshape(-1)
    counts = torch.histc(experts.float(), bins=4, min=0, max=3)
    return counts, torch.cumsum(counts, 0, dtype=torch.int32)


def histogram_of_the_datas_own_range(x):
    return torch.histc(x, bins=5)


def grouped_rows(x, weights, ends):
    return torch._grouped_mm(x, weights, offs=ends)


def range_of_halves(x):
    return torch.arange(2857, dtype=x.dtype) + x


def heads_that_share_keys(q, k):
    return q @ k.repeat_interleave(3, 1).mT


def sorted_booleans(x):
    return torch.sort(x)[0]


def order_of_equal_elements(x):
    order = torch.argsort(x, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(x.numel())
    return order, place, torch.sort(x, stable=True, descending=True)


def elements_along_selected(x, places):
    return torch.take_along_dim(x[x > 0], places, -1)


def sequences_in_groups(x, weight, depthwise):
    joined = F.conv1d(x, weight, None, stride=2, padding=1, dilation=2, groups=2)
    return joined, F.conv1d(x, depthwise, groups=4)


def pairs_of_rows(x, y, weight):
    return F.bilinear(x, y, weight, weight[:, 0, 0]), F.bilinear(x[0, 0], y[0, 0], weight)


def overlapping_blocks(x, fewer):
    shifted = F.fold(x, (5, 6), 3)
    # Blocks with gaps, and with an overlap at the border of the image.
    return shifted, F.fold(fewer, (9, 6), (3, 3), dilation=(2, 1), padding=(1, 0), stride=(3, 3))


def best_two(x):
    # Eager does not define the order, so the result is a set.
    return torch.zeros_like(x).scatter(1, torch.topk(x, 2, sorted=False).indices, 1.0)


def quotients_of_literals(x):
    numbers = torch.tensor([-7, 7, 8])
    negative = torch.full((3,), -7, dtype=torch.int32)
    return (
        numbers // 2 + x,
        numbers // torch.tensor([2, -2, 3]),
        torch.div(numbers, -3, rounding_mode="trunc"),
        torch.tensor(-7) // 2,
        negative // 2,
        torch.tensor([7, 8]) // -2,
        torch.arange(-3, 3) // torch.tensor(2),
    )


def zeros_of_a_layout(x):
    return torch.empty_strided((3, 2), (1, 3)).zero_() + x


def asserted(z):
    # Pairs of floats replace complex numbers, and their dtype is not complex64.
    torch.ops.aten._assert_tensor_metadata.default(z, dtype=torch.complex64)
    return z + 1


def depthwise_3d(x, weight, bias):
    return F.conv3d(x, weight, bias, padding=(1, 0, 1), stride=(2, 1, 1), groups=6)


def depthwise_transposed(x, weight, bias):
    flat = F.conv_transpose1d(x, weight, bias, stride=3, padding=1, output_padding=2, groups=4)
    plane = F.conv_transpose2d(
        x.unsqueeze(-1), weight.unsqueeze(-1), stride=(1, 2), padding=(4, 0), dilation=2, groups=4
    )
    return flat, plane


def empty_caches(x, y):
    nothing = torch.cat([x[:, :0], y[:, :0]], dim=1)
    return nothing, torch.cat([nothing, x], dim=1)


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


def mix_tokens(x):
    return torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real


def filter_in_frequency(x):
    spectrum = torch.fft.rfft(x, norm="ortho")
    return torch.fft.irfft(spectrum * spectrum.abs(), n=9, norm="ortho"), spectrum


def spectrogram(x):
    return torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs()


def rotary(x, angles):
    turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    turned = turned * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(2)


def complex_arguments(z, x):
    return z * x + 1j, z.exp().conj() / z, z[1:].abs(), torch.chunk(z, 2)


def shift_by_one(x):
    """Shifts each token to the next place, as RWKV does."""
    return F.pad(x, (0, 0, 1, -1))


def padded_and_cut(x):
    return F.pad(x, (-1, 2, -2, 0), value=1.5), F.pad(x, (-1, -1))


def largest_of_bags(table, indices):
    offsets = torch.tensor([0, 2, 2], dtype=torch.int32)
    return (
        F.embedding_bag(indices, table, offsets, mode="max"),
        F.embedding_bag(indices, table, offsets, mode="sum"),
    )


def cut(x):
    kernel = torch.ones(4, 2, 1, 1)
    options = {"stride": 3, "padding": 1, "output_padding": 2, "dilation": 2, "groups": 2}
    return F.conv_transpose2d(x, kernel, torch.arange(4.0), **options)


def signs_and_lengths(x, y):
    return (
        torch.hypot(x, y),
        torch.hypot(x.double() * 1e200, y.double() * 1e200),
        torch.copysign(x, y),
        torch.copysign(x, -0.0),
        torch.signbit(torch.copysign(x, y)),
        torch.signbit(y),
    )


def assertion(x):
    torch._assert_async(x[0] > 0, "not positive")
    return x + 1


def flags_below_numbers(flags, numbers):
    return flags < numbers, flags == numbers, torch.where(flags > numbers, flags, numbers)


def threshold_gradient(gradient, x):
    return torch.ops.aten.threshold_backward(gradient, x, 0.5)


def instances(x):
    return F.instance_norm(x)


def places_that_are_no_numbers(x, places):
    return (
        F.grid_sample(x, places, align_corners=False),
        F.grid_sample(x, places, padding_mode="border", align_corners=False),
        F.grid_sample(x, places, "nearest", padding_mode="reflection", align_corners=True),
    )


def classes(x):
    return F.one_hot(x, 3)


def certain(weights):
    """Draws with only one possible result."""
    order = torch.randperm(7)
    none = torch.normal(weights, torch.zeros(3))
    return torch.multinomial(weights, 1), torch.multinomial(weights, 4, True), order.sort()[0], none


def weighted_bags(table, indices, weights):
    return F.embedding_bag(indices, table, per_sample_weights=weights, mode="sum")


def averaged_bags(table, indices, offsets):
    return (
        F.embedding_bag(indices, table, offsets, mode="mean", padding_idx=3),
        F.embedding_bag(indices, table, offsets, mode="sum", include_last_offset=True),
        F.embedding_bag(indices, table, offsets, mode="mean", include_last_offset=True),
    )


LSTM = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)


def recurrent(x):
    return LSTM(x)


def lstm_of_onednn(x, input_weight, hidden_weight, bias, state):
    weights = (input_weight, hidden_weight, bias, bias)
    options = (True, False, False, False)
    return torch.mkldnn_rnn_layer(x, *weights, state, state, True, [], 2, 4, 1, *options)[:3]


def branch_on_a_flag(x, mask):
    """Branches on whether any token attends to all others, as Longformer does."""
    if (mask > 0).any().item():
        return x + 1
    return x * 2


def integer_powers(x):
    return x**0, x**1, x**2, x**5


def rows_from_a_number(x, i):
    return x[i.item() :]


def row_at_a_number(x, i):
    return x.select_scatter(x[0], 0, i.item())


def selected(x):
    return x[x > 0]


def masks(x, v):
    first, second, third = x.clone(), x.clone(), x.clone()
    first[x > 0] = 0
    second[x[:, 0] > 0] = v
    third[:, torch.tensor([2, 0], dtype=torch.int32)] = v[:2]
    return x[x > 0], x[:, v > 0], first, second, third


def rows_of_a_mask(x, chosen):
    """Computes the rows of each part separately, as X-MOD does for each language."""
    y = torch.zeros_like(x)
    y[chosen] = x[chosen] * 2
    y[~chosen] = x[~chosen] + 1
    return y


def several_dimensions_of_a_mask(x, v):
    chosen = torch.tensor([[True, False, True, True], [False, True, False, False]])
    y = x.clone()
    y[chosen] = v
    return y, x[chosen], x.unsqueeze(0)[:, chosen]


def unsigned_arithmetic(a, b):
    return a + b, a - b, a * b, a // b, a % b, a >> 1, a << 1, ~a, -a, a**2, a / b, a + 1.5


def unsigned_order(a, b):
    return a < b, a >= b, a.max(), torch.minimum(a, b), a.clamp(5, 200), a.sort(), a.argmax()


def unsigned_sums(a, b):
    return a.sum(), a.cumsum(0), a.sum(dtype=torch.uint8), a.float() * b, a.to(torch.int8), a.prod()


def large_unsigned(a):
    return a == a[0], a.long(), (a.long() + 1).to(torch.uint32), a.double()


U8 = (
    torch.tensor([250, 3, 255], dtype=torch.uint8),
    torch.tensor([10, 7, 2], dtype=torch.uint8),
)
U32 = torch.tensor([4_000_000_000, 3, 4_294_967_295], dtype=torch.uint32)

SPECIAL = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -1.5, 2.0])


def limits(x):
    return x.clamp(-1, 1), x.clamp(max=1), x.clamp(2, 1), F.normalize(x, p=1, dim=0)


def bytes_and_numbers(x):
    return x == -1, x < 300, x.to(torch.int32) >= 2**40


def part_of_a_selection(x, mask):
    return x[mask].narrow(-1, 2, 0), x[mask] * 2


def limits_of_each(x, low, high):
    return x.clamp(low, high), x.clamp(min=low), x.clamp(max=high)


def extremes(x, y):
    return torch.maximum(x, y), torch.minimum(x, y)


def between_a_row_and_a_column(x, y):
    return torch.lerp(x, y, 0.3)


def negated_view(x):
    return torch._neg_view(x) + 1


def powers_of_integers(x, y):
    return x**y, x.to(torch.int16) ** y, 3**y, 0.5**y


def the_same_twice(condition, x):
    return torch.where(condition, x, x)


def less_a_filled_one(x):
    filled = x.clone()
    filled.view(-1).fill_(2)
    return torch.add(filled, filled, alpha=-3)


def tenth_less(x):
    return 0.1 - x, torch.linspace(0.1, 0.7, 3, dtype=torch.float64)


def times_the_logarithm_of_a_number(x):
    return torch.xlogy(x, 0.5)


def equal_to_itself(x):
    return x == x


def larger_number(x, y):
    return torch.fmax(x, y), torch.fmin(x, y)


def floor_divided(x):
    return torch.div(x, 0.1, rounding_mode="floor")


def remainder_of_seven(x):
    return torch.fmod(x * 9, 7)


def signs(x):
    return x + torch.sgn(torch.ones(())), torch.sign(x)


def flags_and_numbers(x):
    return x <= -1, x < 0.5, x == 2


def long_sums(x):
    return x.sum(1), x.mean(), x.cumsum(1), x.norm(dim=1), F.avg_pool1d(x[None], 3000)


def long_norm(x):
    return F.rms_norm(x, (3000,)), F.rms_norm(x, (3000,), x[0] * 2, 1e-3)


def exact_rest(x):
    return torch.fmod(x, torch.full_like(x, 0.1))


def rolled(x):
    return x.roll(3)


def rolled_far(x):
    return x.roll((-7, 9), (0, 1))


def filled_columns(x):
    return x.index_fill(-1, torch.tensor([2, 0]), 1.5)


def running_extremes(x):
    return torch.cummax(x, 0), torch.cummin(x.nan_to_num().int(), 0)


def all_of_one(x):
    return torch.all(x, 0)


def all_rows(x):
    return torch.all(x, dim=(0, 2)), torch.any(x, dim=(-1, 0), keepdim=True)


def folded(x):
    return x + torch.full((), 1.5) * -1, torch.where(torch.full((), 7.0) != 0, x, x + 1)


def samples_of_a_constant(x):
    """Takes at least one sample, as RoIAlign does."""
    samples = torch.full_like(x, 2.0)
    return torch.where(samples < 1, 1.0, samples)


def next_to_zero(x):
    return F.elu(x), F.selu(x)


def one_of_nothing(x, y):
    return (
        torch.softmax(x, 0),
        torch.log_softmax(x, 0),
        torch.softmax(y.half(), -1, dtype=torch.float32),
    )


def rows_without_a_score(scores, query):
    """Softmax of rows with -inf only, with NaN, with inf; and attention with a masked row."""
    dtypes = (torch.float16, torch.bfloat16, torch.float64)
    return (
        *(torch._safe_softmax(scores.to(dtype), -1) for dtype in dtypes),
        torch._safe_softmax(scores.half(), 0, torch.float32),
        F.scaled_dot_product_attention(query, query, query, scores),
    )


def places_in_order(ordered, values):
    options = ({}, {"right": True}, {"side": "right", "out_int32": True})
    return [torch.searchsorted(ordered, values, **option) for option in options]


def one_picture(x):
    return F.max_pool2d(x, 2, padding=1)


def sign_of_zero(x):
    return 1 / torch.trunc(x)


def shifted_by_all_bits(x, count):
    return x << 64, x >> 64, x >> -1, x << count, x << 3


def bits(x):
    return x | 5, torch.bitwise_left_shift(x, 3), torch.bitwise_right_shift(x, 1), x ^ 6


CASES = [
    Case("ELU by expm1", next_to_zero, (torch.tensor([-1e-8, -3e-8]),), "differs"),
    Case("isclose", torch.isclose, (SPECIAL, SPECIAL), "differ"),
    Case(
        "logarithm of a sum of two exponentials",
        torch.logaddexp,
        (SPECIAL, SPECIAL.roll(-1)),
        "NaN",
    ),
    Case("search in a sorted sequence", places_in_order, (SPECIAL[1:].sort().values, SPECIAL)),
    Case(
        "take_along_dim of sizes that depend on data",
        elements_along_selected,
        (torch.tensor([[1.0, -1.0, 2.0]]), torch.tensor([1, 0])),
        None,
    ),
    Case("offsets in memory", rows_from_a_number, (random(2, 3), torch.tensor(-1))),
    Case(
        "select_scatter at an index that depends on data",
        row_at_a_number,
        (random(2, 3), torch.tensor(-1)),
        "data-dependent",
    ),
    Case("masked_select", torch.masked_select, (random(2, 3), random(3) > 0)),
    Case("pooling without a batch", one_picture, (random(2, 4, 5),)),
    Case(
        "pooling with the default stride",
        average_of_windows,
        (random(1, 2, 4, 5),),
        # torch-mlir reads past the end of the lists. The stride is then any number, so the message
        # varies.
        ".",
    ),
    Case(
        "embeddings of limited norm",
        limited_embeddings,
        (torch.tensor([0, 2, 2]), random(3, 4)),
        "embedding_renorm",
    ),
    Case("rounding toward zero", sign_of_zero, (torch.tensor([-0.0, -0.5]),), "infinity"),
    Case("distance", torch.dist, (random(3), random(2, 1))),
    Case("bitwise operators with a number", bits, (torch.tensor([9, -3], dtype=torch.int8),)),
    Case(
        "shifts by any count", shifted_by_all_bits, (torch.tensor([1, -2]), torch.tensor(64)), None
    ),
    Case("power of integers", torch.pow, (torch.tensor([2, 3]), 0.5), "must be signless"),
    Case("histogram", route, (random(10, 4),)),
    Case("histogram", histogram_of_the_datas_own_range, (random(20),)),
    Case(
        "grouped matrix product",
        grouped_rows,
        (
            random(9, 8, dtype=torch.bfloat16),
            random(4, 8, 16, dtype=torch.bfloat16),
            torch.tensor([2, 5, 5, 9], dtype=torch.int32),
        ),
    ),
    Case("stable sort", order_of_equal_elements, (torch.arange(12) % 3,)),
    Case(
        "ranges of floats",
        range_of_halves,
        (torch.ones(2857, dtype=torch.bfloat16),),
        "shape's dimension",
    ),
    Case("sort of integers", sorted_booleans, (torch.arange(12) % 3 == 0,), "differ from eager's"),
    Case("unsorted top-k", best_two, (random(4, 5),)),
    Case("empty tensor with strides", zeros_of_a_layout, (random(3, 2),)),
    Case("assertion of dtype and layout", asserted, (random(3, dtype=torch.complex64),), ""),
    Case(
        "grouped 3-d convolution",
        depthwise_3d,
        (random(1, 6, 4, 5, 5), random(6, 1, 3, 3, 3), random(6)),
    ),
    Case("negative padding", shift_by_one, (random(1, 5, 4),), "differs"),
    Case("negative padding", padded_and_cut, (random(1, 5, 4),), "non-negative"),
    Case(
        "embedding bag",
        weighted_bags,
        (random(10, 4), torch.tensor([[1, 2], [3, 3], [4, 0]]), random(3, 2)),
        "differs",
    ),
    Case(
        "embedding bag",
        averaged_bags,
        (random(10, 4), torch.tensor([1, 2, 3, 3, 4, 0]), torch.tensor([0, 1, 1, 6])),
        "no lowering for",
    ),
    Case(
        "embedding bag",
        largest_of_bags,
        (random(10, 4, dtype=torch.bfloat16), torch.tensor([1, 2, 3, 3, 0], dtype=torch.int32)),
    ),
    Case("transposed convolution with large padding", cut, (random(1, 4, 3, 1),), "out-of-bounds"),
    Case("special function in f64", torch.erfc, (torch.linspace(-6, 26, 99).double(),)),
    Case(
        "magnitudes, signs and bits of floats",
        signs_and_lengths,
        (SPECIAL, SPECIAL.flip(0)[:, None]),
    ),
    Case(
        "products with repeated matrices",
        heads_that_share_keys,
        (random(2, 6, 5, 4), random(2, 2, 7, 4)),
        None,
    ),
    Case(
        "softmax of masked rows",
        rows_without_a_score,
        (
            torch.tensor(
                [[-torch.inf] * 3, [-torch.inf, torch.nan, -torch.inf], [-torch.inf, 1, 2]]
            ),
            random(2, 3, 4),
        ),
        None,
    ),
    Case(
        "grouped 1-d convolution",
        sequences_in_groups,
        (random(2, 4, 9), random(6, 2, 3), random(4, 1, 2)),
        None,
    ),
    Case("bilinear form", pairs_of_rows, (random(2, 3, 4), random(2, 3, 5), random(6, 4, 5)), None),
    Case("fold", overlapping_blocks, (random(2, 18, 12), random(2, 18, 6)), None),
    Case("assertions about tensors", assertion, (random(3).abs() + 1,), None),
    Case(
        "booleans compared with integers",
        flags_below_numbers,
        (torch.tensor([False, True, False]), torch.tensor([-2, 1, 0])),
        "differ",
    ),
    Case(
        "operands in the common dtype",
        threshold_gradient,
        (torch.tensor([1, 2, 3]), random(3)),
        "",
    ),
    Case(
        "operands of different dtypes",
        F.huber_loss,
        (random(3), random(3, dtype=torch.float64)),
        "dtype|float64",
    ),
    Case(
        "reductions in f16 and bf16",
        instances,
        (torch.linspace(100, 200, 2 * 40_000).reshape(1, 2, 200, 200).half(),),
        "differ|NaN|nan",
    ),
    Case(
        "grid sample at NaN",
        places_that_are_no_numbers,
        (random(1, 1, 3, 3), torch.tensor([math.nan, 0.5, math.inf, 1.0]).reshape(1, 2, 1, 2)),
        "differ|NaN|nan",
    ),
    Case("checked classes of one_hot", classes, (torch.tensor([0, 2]),), None),
    Case(
        "samples computed from uniform samples",
        certain,
        (torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]),),
    ),
    Case("recurrent layers", recurrent, (random(5, 2, 3),), None),
    Case(
        "LSTM layer of oneDNN",
        lstm_of_onednn,
        (random(5, 2, 3), random(16, 3), random(16, 4), random(16), random(1, 2, 4)),
    ),
    Case(
        "depthwise transposed convolution",
        depthwise_transposed,
        (random(2, 4, 6), random(4, 1, 4), random(4)),
        "reassociation",
    ),
    Case("clamp", limits, (SPECIAL,), "NaN"),
    Case("tensors compared with numbers", bytes_and_numbers, (U8[0],), "differ"),
    Case("tensors compared with numbers", lambda x: x == 0.1, (torch.tensor([0.1]),), "differ"),
    Case(
        "operands in the common dtype",
        lambda x: (x * 7e4, torch.div(x, 0.1, rounding_mode="trunc")),
        (torch.tensor([0.1], dtype=torch.float16),),
        "NaN or infinity",
    ),
    Case(
        "membership in eager's dtype",
        torch.isin,
        (torch.tensor(300), torch.tensor([44, 1], dtype=torch.uint8)),
        "differ",
    ),
    Case(
        "membership in eager's dtype",
        lambda x: torch.isin(0.1, x),
        (torch.full((12,), 0.1),),
        "differ",
    ),
    Case("integers divided by a number", lambda x: x / 0.1, (torch.tensor([0, 1]),), ""),
    Case(
        "leaky ReLU by its definition",
        lambda x: torch.nn.functional.leaky_relu(x, 7e4),
        (torch.tensor([0.0, -0.1], dtype=torch.float16),),
        "NaN",
    ),
    Case(
        "numbers in the dtype of the tensor",
        lambda x: torch.xlogy(x, 1e-8),
        (torch.tensor([0.1], dtype=torch.float16),),
        "NaN or infinity",
    ),
    Case(
        "symbolic numbers as tensors",
        branch_on_a_flag,
        (random(3), torch.tensor([0, 1])),
        "has no form in the torch dialect",
    ),
    Case(
        "symbolic numbers as tensors",
        part_of_a_selection,
        (random(5), random(5) > -1),
        "has no form in the torch dialect",
    ),
    Case("clamp", F.relu6, (SPECIAL,), "NaN"),
    Case("clamp", limits_of_each, (SPECIAL, SPECIAL.roll(1), SPECIAL.roll(2)), "NaN"),
    Case("copy with strides", between_a_row_and_a_column, (random(3, 3, 1).mT, random(1, 1, 3))),
    Case("negation as a view", negated_view, (random(3),)),
    Case(
        "powers",
        powers_of_integers,
        (torch.tensor([3, -3, 2, 0, 1, -1, -1]), torch.tensor([2**40 + 7, 7, 62, 0, -2, -3, -2])),
        "",
    ),
    Case("powers", torch.pow, U8, "non-floating"),
    Case(
        "powers",
        torch.pow,
        (torch.tensor([-127, -1]).to(torch.int8), torch.tensor([-2, -2]).to(torch.int8)),
        "non-floating",
    ),
    Case(
        "where of a tensor and itself",
        the_same_twice,
        (random(3) > 0, torch.tensor(1.5)),
        "type",
    ),
    Case("special function in f64", torch.lgamma, (SPECIAL,)),
    Case("number before a tensor", tenth_less, (random(3, dtype=torch.float64),), "differs"),
    Case("number as a tensor", times_the_logarithm_of_a_number, (random(3).abs(),)),
    Case("integers beside floating-point constants", less_a_filled_one, (random(3),), "differ"),
    Case("NaN in comparisons", extremes, (SPECIAL, SPECIAL.flip(0)), "NaN"),
    Case("NaN in comparisons", equal_to_itself, (SPECIAL,), "differ"),
    Case("fmax and fmin with broadcasting", larger_number, (random(3), random(2, 1)), "cast"),
    Case("isfinite", torch.isfinite, (SPECIAL,)),
    Case("rounded division", floor_divided, (torch.tensor([1.0, 6, -7]),), "differs"),
    Case(
        "remainder with the sign of the dividend",
        exact_rest,
        (torch.tensor([9999.0, -777.0]),),
        "differs",
    ),
    Case("remainder with the sign of the dividend", remainder_of_seven, (random(3),)),
    Case("negation of integers", torch.neg, (torch.tensor([16_777_217, -5]),), "differ"),
    Case("reductions in f16 and bf16", long_norm, (torch.full((4, 3000), 0.25).half(),), "differs"),
    Case("signs", signs, (random(3),), None),
    Case("booleans compared with numbers", flags_and_numbers, (random(3) > 0,), "differ"),
    Case(
        "reductions in f16 and bf16",
        long_sums,
        (torch.full((4, 3000), 0.25).bfloat16(),),
        "differs",
    ),
    Case("roll", rolled, (random(3, 4),)),
    Case("roll", rolled_far, (random(3, 4),), "differs"),
    Case("argmax and argmin without dimensions", torch.argmax, (torch.tensor(2.0),)),
    Case(
        "take at row-major indices",
        torch.take,
        (random(2, 3), torch.tensor(1)),
        "specialized integer",
    ),
    Case("copy with strides", filled_columns, (random(3, 4).mT,)),
    Case("running maximum or minimum", running_extremes, (SPECIAL,)),
    Case("any or all over several dimensions", all_rows, (random(2, 3, 4) > 0,)),
    Case("any or all of a tensor without dimensions", all_of_one, (torch.tensor(2.0),)),
    Case("integers beside floating-point constants", folded, (random(3),), "differ"),
    Case("quotients of constant integers", quotients_of_literals, (random(3),), "differ"),
    Case("power of integers", integer_powers, (torch.tensor([2, -3]),), "non-floating"),
    Case("index lists of i64", selected, (random(8),), ""),
    Case(
        "operands in the common dtype",
        torch.lt,
        (U8[0], torch.tensor(-2, dtype=torch.int8)),
        "differ",
    ),
    Case(
        "product with a power of 2",
        torch.ldexp,
        (torch.tensor([1, 2, 3]), torch.tensor(0.3, dtype=torch.float16)),
        "float16",
    ),
    Case("buckets", torch.bucketize, (torch.tensor([True]), torch.tensor([-3, 0, 1])), "differ"),
    Case("narrow integers in wider ones", unsigned_arithmetic, U8, ""),
    Case("narrow integers in wider ones", unsigned_sums, U8, ""),
    Case("GELU by tanh or in f32", tanh_gelu, (torch.linspace(-3, 2, 50),), "differs"),
    Case("reciprocal as a quotient", torch.reciprocal, (torch.tensor([0.0, 2.0]),), "zero element"),
    Case("complex numbers as pairs", mix_tokens, (random(2, 6, 8),)),
    Case("complex numbers as pairs", filter_in_frequency, (random(2, 8),)),
    Case("complex numbers as pairs", spectrogram, (random(2, 48),)),
    Case(
        "complex numbers as pairs",
        complex_arguments,
        (random(4, dtype=torch.complex64), random(4)),
        "",
    ),
]
