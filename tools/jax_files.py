"""Writes JAX programs, with inputs and results, to tests/e2e/jax_files.

    python -m venv /tmp/jax && /tmp/jax/bin/pip install jax flatbuffers
    /tmp/jax/bin/python tools/jax_files.py [NAME...] [--to FOLDER]

JAX is not part of the locked environment, so this needs a separate environment. NAME.mlir is
`jax.jit(f).lower(...).as_text()`, NAME.mlirbc is the portable artifact of `jax.export`, and
NAME.jax_export is `Exported.serialize()`. NAME.npz has the inputs and JAX's results.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import export, lax

FOLDER = Path(__file__).parents[1] / "tests/e2e/jax_files"
CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 20, -30]


@dataclass
class Program:
    """A function, its arguments, and their sizes in the syntax of `jax.export.symbolic_shape`."""

    function: Callable
    args: tuple
    sizes: tuple | None
    suffix: str


PROGRAMS: dict[str, Program] = {}
random_numbers = np.random.default_rng(0)


def floats(*shape):
    return random_numbers.standard_normal(shape).astype(np.float32)


def integers_between(low, high, *shape):
    return random_numbers.integers(low, high, shape).astype(np.int32)


def booleans(*shape):
    return integers_between(0, 2, *shape).astype(bool)


def bf16(array):
    return array.astype(ml_dtypes.bfloat16)


def program(*args, sizes=None, suffix=None):
    """Registers a function as a program. With dynamic sizes, the default suffix is `mlirbc`."""
    suffix = suffix or ("mlir" if sizes is None else "mlirbc")

    def add(function):
        PROGRAMS[function.__name__] = Program(function, args, sizes, suffix)
        return function

    return add


@program(floats(4, 8), floats(8, 16), floats(16), floats(16, 3), floats(3))
def mlp(x, w, b, v, c):
    return jax.nn.softmax(jnp.tanh(jax.nn.relu(x @ w + b)) @ v + c)


@program(floats(4, 8), floats(8, 16), floats(16), suffix="jax_export")
def exported_mlp(x, w, b):
    return {"hidden": jax.nn.relu(x @ w + b)}


@program(bf16(floats(4, 8)), bf16(floats(8, 16)), bf16(floats(16)))
def mlp_bf16(x, w, b):
    hidden = jax.nn.gelu(x @ w + b)
    return hidden, hidden.sum(0), hidden.astype(jnp.float32).mean()


@program(floats(2, 9, 9, 3), floats(3, 3, 3, 4), floats(4), floats(3, 3, 1, 8), floats(2, 2, 4, 5))
def convolution(x, kernel, scale, depthwise, transposed):
    y = lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=CHANNELS_LAST) * scale
    return (
        lax.conv_general_dilated(
            y, depthwise, (1, 1), "VALID", feature_group_count=4, dimension_numbers=CHANNELS_LAST
        ),
        lax.conv_transpose(y, transposed, (2, 2), "SAME", dimension_numbers=CHANNELS_LAST),
        lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
        lax.reduce_window(y, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME"),
    )


@program(floats(2, 3, 8), floats(4, 3, 3), floats(2, 3, 6, 6), floats(4, 3, 3, 3))
def convolution_nchw(x, kernel, y, other):
    line = lax.conv_general_dilated(
        x, kernel, (1,), [(2, 1)], dimension_numbers=("NCH", "OIH", "NCH")
    )
    return line, lax.conv(y, other, (1, 1), "SAME")


@program(floats(6, 3), floats(3, 4), floats(4, 4))
def scan(xs, w, u):
    def step(hidden, x):
        hidden = jnp.tanh(x @ w + hidden @ u)
        return hidden, hidden.sum()

    return lax.scan(step, jnp.zeros(4), xs)


@program(
    np.array(
        [[3, -0.0, np.nan, 0.0, -np.inf, 7, 2, -1], [1, 1, 2, -2, np.inf, -3, 0, 5]], np.float32
    ),
    integers_between(-5, 5, 9),
    booleans(7),
)
def sort(x, numbers, truths):
    return (
        jnp.sort(x),
        jnp.argsort(x, axis=0),
        lax.sort((numbers, jnp.arange(9)), num_keys=1),
        jnp.sort(truths),
        -jnp.sort(-numbers),
        jnp.sort(x.astype(jnp.bfloat16), axis=1),
        lax.top_k(x[1], 3),
        jnp.median(x[1]),
    )


@program(floats(2, 5, 8), floats(8, 8), floats(8, 8), floats(8, 8))
def attention(x, q, k, v):
    def heads(w):
        return (x @ w).reshape(2, 5, 2, 4)

    scores = jnp.einsum("bqhd,bkhd->bhqk", heads(q), heads(k)) / 2.0
    scores = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), heads(v)).reshape(2, 5, 8)


@program(floats(4), np.int32(7), np.int32(2))
def control_flow(x, count, which):
    return (
        lax.fori_loop(0, count, lambda k, y: y * 0.9 + k, x),
        lax.while_loop(
            lambda state: (state[1] < 10) & (jnp.sum(state[0]) < 100),
            lambda state: (state[0] * 2, state[1] + 1),
            (jnp.abs(x), 0),
        ),
        lax.cond(count > 5, lambda y: (y + 1, y.sum()), lambda y: (y - 1, y.max()), x),
        lax.switch(which, [jnp.sin, jnp.cos, jnp.exp], x),
    )


@program(
    floats(6, 4), np.array([0, 5, -1, 9, 2], np.int32), floats(5, 4), integers_between(0, 4, 6, 2)
)
def indexing(x, at, y, places):
    """Some indices in `at` are out of range. JAX drops, clips or fills them, depending on mode."""
    return (
        x[at],
        x.at[at].add(y),
        x.at[at].set(y, mode="drop"),
        x.at[at].max(y),
        x.at[:, 1].multiply(2.0),
        jnp.take(x, at, axis=0, mode="clip"),
        jnp.take_along_axis(x, places, axis=1),
        x[at, 1],
        x.at[at, places[:5, 0]].min(-3.0),
        lax.dynamic_slice(x, (at[3], at[0]), (2, 2)),
        lax.dynamic_update_slice(x, y[:2, :2], (at[2], at[1])),
        jnp.zeros(7, jnp.int32).at[places.ravel()].add(1),
        jax.ops.segment_sum(y, jnp.abs(at) % 3, 3),
        jax.vmap(lambda row, column: row.at[column].add(1.0))(x, places),
    )


@program(floats(3, 4, 5), integers_between(-50, 50, 3, 4), booleans(3, 4), bf16(floats(3, 4)))
def reductions(x, numbers, truths, half):
    return (
        (x.sum((0, 2)), x.prod(1), x.max(), x.min(0), jnp.argmax(x, 1), jnp.argmin(numbers, 0)),
        (truths.any(0), truths.all(), truths.sum(), numbers.sum(), numbers.max(1)),
        (half.max(0), jax.nn.logsumexp(x, 2), x.std(0), jnp.nanmax(x), jnp.linalg.norm(x[0])),
    )


@program(floats(3, 7), integers_between(1, 4, 6))
def cumulative(x, numbers):
    def combine(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    return (
        jnp.cumsum(x, 1),
        jnp.cumprod(x, 0),
        lax.cummax(x, axis=1, reverse=True),
        jnp.cumsum(numbers),
        lax.cumlogsumexp(x, axis=1),
        lax.associative_scan(combine, (x, x), axis=1),
    )


@program(
    np.array([7, -7, 0, -(2**31), 5, -3, 2**31 - 1], np.int32),
    np.array([2, 2, 0, -1, -3, 40, 3], np.int32),
    np.array([1.5, -2.5, np.nan, 1e20, -1e20, np.inf, -0.0], np.float32),
    np.array([0, 1, 255, 200, 3, 8, 9], np.uint8),
)
def integers(a, b, x, small):
    """Division by 0, shifts by more than the width, and floats out of the range of integers."""
    return (
        jnp.stack([a // b, a % b, lax.div(a, b), lax.rem(a, b), a << b, a >> b, a & b, a | b]),
        jnp.stack([a ^ b, ~a, lax.shift_right_logical(a, b), lax.population_count(a), lax.clz(a)]),
        jnp.stack([abs(a), jnp.sign(a), -a, a * b, a**2, jnp.minimum(a, b), jnp.clip(a, -3, 3)]),
        (x.astype(jnp.int32), x.astype(jnp.int8), x.astype(jnp.uint8), x.astype(bool)),
        (small + small, small >> 1, small // b.astype(jnp.uint8), small.astype(jnp.float32)),
        (small.astype(jnp.int32), small > 3, small.max(), small.sum(), small.astype(jnp.int8)),
        (lax.bitcast_convert_type(x, jnp.int32), jnp.round(x)),
    )


@program(np.concatenate([floats(9), np.array(SPECIAL, np.float32)]), floats(19))
def functions(x, y):
    unit = jnp.clip(x, -0.99, 0.99)
    results = [
        *(lax.erf(x), lax.erfc(x), lax.erf_inv(unit), lax.lgamma(x), lax.digamma(jnp.abs(x) + 0.5)),
        *(jnp.tan(unit), jnp.arctan2(x, y), lax.expm1(x), lax.log1p(jnp.abs(x)), jnp.sinh(unit)),
        *(jnp.arcsin(unit), jnp.arccos(unit), jnp.arctan(x), jnp.arcsinh(x), jnp.arctanh(unit)),
        *(jnp.cbrt(x), lax.rsqrt(jnp.abs(x)), jnp.sign(x), jnp.floor(x), jnp.ceil(x), lax.round(x)),
        *(jnp.round(x), jnp.power(jnp.abs(x), y), jnp.mod(x, y), jax.nn.sigmoid(x), jnp.sqrt(x)),
        *(jax.nn.softplus(x), jax.nn.gelu(x, approximate=False), jnp.maximum(x, y), jnp.cos(unit)),
        *(jnp.minimum(y, x), jnp.exp2(x), jnp.log(jnp.abs(x)), jnp.nextafter(x, y), jnp.sin(unit)),
        *(jnp.clip(x, -1, 1), lax.reduce_precision(x, 5, 10), jnp.logaddexp(x, y)),
    ]
    return jnp.stack(results), jnp.stack([jnp.isfinite(x), jnp.isnan(x), x == y, x < y])


@program(np.array([0, 42], np.uint32), suffix="mlirbc")
def random(key):
    first, second = jax.random.split(jax.random.wrap_key_data(key))
    return jax.random.normal(first, (5,)), jax.random.randint(second, (4,), 0, 10)


@program(integers_between(0, 11, 2, 6), floats(11, 8), floats(8), floats(8, 32), floats(32, 8))
def transformer(tokens, words, scale, up, down):
    x = words[tokens]
    y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale
    y = x + jax.nn.silu(y @ up) @ down
    return y @ words.T, jax.nn.one_hot(tokens, 11), jnp.argmax(y @ words.T, -1)


@program(floats(2, 6, 6, 2), floats(3, 3, 2, 3), floats(12, 4), integers_between(0, 4, 2))
def gradient(x, kernel, weight, target):
    """One training step, with max pooling."""

    def loss(parameters):
        kernel, weight = parameters
        y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=CHANNELS_LAST)
        y = lax.reduce_window(
            jax.nn.relu(y), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 3, 3, 1), "VALID"
        )
        scores = jax.nn.log_softmax(y.reshape(2, -1) @ weight)
        return -scores[jnp.arange(2), target].mean()

    value, gradients = jax.value_and_grad(loss)((kernel, weight))
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, (kernel, weight), gradients)


@program(floats(3, 8), floats(8, 4), floats(4), sizes=("b, 8", None, None), suffix="jax_export")
def dynamic_mlp(x, w, b):
    y = jax.nn.relu(x @ w + b)
    return (
        jax.nn.softmax(y),
        y.mean(0),
        y.reshape(-1),
        jnp.concatenate([y, y]),
        jnp.broadcast_to(b, y.shape),
    )


@program(floats(2, 5, 8), floats(8, 24), sizes=("b, s, 8", None))
def dynamic_attention(x, w):
    batch, steps, _ = x.shape
    parts = jnp.split((x @ w).reshape(batch, steps, 3, 2, 4), 3, axis=2)
    q, k, v = (part[:, :, 0] for part in parts)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
    scores = jnp.where(jnp.arange(steps)[:, None] >= jnp.arange(steps), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, steps, 8)


@program(floats(5, 3), floats(5), integers_between(0, 5, 4), sizes=("n, 3", "n", "m"))
def dynamic_indexing(x, y, at):
    def step(total, row):
        return total + row, total

    return (
        x[at],
        lax.scan(step, jnp.zeros(3), x),
        (jnp.pad(y, (1, 2)), x[::2], y[1:], x[::-1]),
        (jnp.argmax(y), jnp.arange(x.shape[0])),
    )


@program(floats(5, 3), floats(5, 3), integers_between(0, 7, 4), sizes=("n, 3", "n, 3", "m"))
def dynamic_sort(x, y, at):
    return jnp.sort(y, axis=0), jnp.argsort(y[:, 0]), x.at[at].add(1.0), x.at[0].set(2.0)


def write(name: str, each: Program, folder: Path) -> None:
    """Writes the files of one program."""
    function, specs = jax.jit(each.function), each.args
    if each.sizes is not None:
        scope = export.SymbolicScope()
        specs = [
            array
            if sizes is None
            else jax.ShapeDtypeStruct(export.symbolic_shape(sizes, scope=scope), array.dtype)
            for array, sizes in zip(each.args, each.sizes, strict=True)
        ]
    file = folder / f"{name}.{each.suffix}"
    if each.suffix == "mlir":
        file.write_text(function.lower(*specs).as_text())
    else:
        exported = export.export(function, platforms=["cpu"])(*specs)
        whole = each.suffix == "jax_export"
        file.write_bytes(exported.serialize() if whole else exported.mlir_module_serialized)
    results = jax.tree.leaves(function(*each.args))
    arrays = {f"arg{index}": array for index, array in enumerate(each.args)}
    arrays |= {f"result{index}": array for index, array in enumerate(results)}
    np.savez_compressed(folder / f"{name}.npz", **dict(_plain(*each) for each in arrays.items()))


def _plain(name: str, array) -> tuple[str, np.ndarray]:
    """Returns bfloat16 arrays as uint16 bits named `NAME.bf16`: `.npz` files have no bfloat16."""
    array = np.asarray(array)
    is_bf16 = array.dtype == ml_dtypes.bfloat16
    return (f"{name}.bf16", array.view(np.uint16)) if is_bf16 else (name, array)


def main() -> None:
    """Writes the programs named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *PROGRAMS])
    parser.add_argument("--to", type=Path, default=FOLDER)
    options = parser.parse_args()
    # Strip local folders from the source locations in the files.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    options.to.mkdir(parents=True, exist_ok=True)
    for name in options.names or PROGRAMS:
        write(name, PROGRAMS[name], options.to)
        print(name)


if __name__ == "__main__":
    main()
