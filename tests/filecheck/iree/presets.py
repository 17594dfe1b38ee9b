# RUN: %python %s | filecheck %s

# The operations of a program determine the preset. Dynamic sizes rule out data tiling.

from types import SimpleNamespace

from pipelines.iree.presets import check_preset, preset_for
from unmess.core.errors.error import Error
from unmess.core.ir.parsing import parse

CONVOLUTION = (
    "linalg.conv_1d ins(%a, %b : tensor<{0}xf32>, tensor<2xf32>) outs(%b : tensor<2xf32>)"
    " -> tensor<2xf32>"
)
IMAGES = (
    "linalg.conv_2d_nchw_fchw ins(%d, %e : tensor<?x2x3x{0}xf32>, tensor<2x2x1x1xf32>)"
    " outs(%d : tensor<?x2x3x{0}xf32>) -> tensor<?x2x3x{0}xf32>"
)
PRODUCT = (
    "linalg.matmul ins(%c, %c : tensor<2x2xf32>, tensor<2x2xf32>) outs(%c : tensor<2x2xf32>)"
    " -> tensor<2x2xf32>"
)
SUM = "arith.addf %a, %a : tensor<{0}xf32>"

# CHECK:      convolution and product: channels-last-data-tiling
# CHECK-NEXT: product: data-tiling
# CHECK-NEXT: sum: plain
# CHECK-NEXT: dynamic sum and product: dynamic-tiles
# CHECK-NEXT: dynamic number of images: dynamic-tiles
# CHECK-NEXT: images of dynamic width: dynamic-tiles
for name, operations, size in (
    ("convolution and product", (CONVOLUTION, PRODUCT), "3"),
    ("product", (PRODUCT, SUM), "3"),
    ("sum", (SUM,), "3"),
    ("dynamic sum and product", (SUM, PRODUCT), "?"),
    ("dynamic number of images", (IMAGES,), "3"),
    ("images of dynamic width", (IMAGES,), "?"),
):
    lines = "\n".join(f"%{i} = {text.format(size)}" for i, text in enumerate(operations))
    text = (
        f"func.func @main(%a: tensor<{size}xf32>, %b: tensor<2xf32>, %c: tensor<2x2xf32>, "
        f"%d: tensor<?x2x3x{size}xf32>, %e: tensor<2x2x1x1xf32>) {{\n"
        f"{lines}\nreturn\n}}"
    )
    print(f"{name}: {preset_for(SimpleNamespace(ir=parse(text, name)))}")

# CHECK-NEXT: usage: unknown preset 'chanels-last'
# CHECK-NEXT:   hint: use one of plain, channels-last, dynamic-tiles, data-tiling, channels-last-data-tiling
try:
    check_preset("chanels-last")
except Error as error:
    print(error)
