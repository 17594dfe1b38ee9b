"""The first lines of IR on a recipe page."""

from unmess.recipe_page.work import excerpt

IR = """\
#map = affine_map<(d0) -> (d0)>
module {
  func.func private @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
    return %a : tensor<2xf32>
  }
  func.func @main_2(%a: tensor<2xf32>) {
    return
  }
  func.func @main(%x: tensor<2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {
    %c0 = arith.constant 0 : index
    %cst = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
    %0 = arith.addf %x, dense<"0x0000803F00000040"> : tensor<2xf32>
    %1 = arith.addf %0, dense<[1.0, 2.0]> : tensor<2xf32>
    scf.if %b {
      %2 = arith.mulf %1, %w : tensor<2xf32>
    }
    return %1 : tensor<2xf32>
  }
  func.func @other() {
    return
  }
}
"""


def test_starts_at_the_entry_function_and_ends_with_it():
    assert excerpt(IR, "main").splitlines() == [
        "func.func @main(%x: tensor<2xf32>, %w: tensor<2xf32>) -> tensor<2xf32> {",
        "  %0 = arith.addf %x, dense<…> : tensor<2xf32>",
        "  %1 = arith.addf %0, dense<[1.0, 2.0]> : tensor<2xf32>",
        "  scf.if %b {",
        "    %2 = arith.mulf %1, %w : tensor<2xf32>",
        "  }",
        "  return %1 : tensor<2xf32>",
        "}",
    ]


def test_long_functions_and_lines_are_cut():
    first, second, last = excerpt(IR, "main", lines=1, width=30).splitlines()
    assert first == "func.func @main(%x: tensor<2x…"
    assert len(first) == len(second) == 30
    assert last == "  …"


def test_constants_of_every_dialect_are_left_out():
    constants = [
        "%0 = torch.constant.int 1",
        "%1 = torch.vtensor.literal(dense<1> : tensor<si64>) : !torch.vtensor<[],si64>",
        "%2 = tosa.const_shape  {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>",
        '%3 = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>',
        "%4 = stablehlo.constant dense<0> : tensor<i8>",
        "%5 = arith.constant 1 : i32",
    ]
    lines = ["func.func @main() {", *(f"  {line}" for line in constants), "  return", "}"]
    assert excerpt("\n".join(lines), "main") == "func.func @main() {\n  return\n}"


def test_text_without_the_function_is_shown_from_its_start():
    assert excerpt("module {\n}", "main") == "module {\n}"
    assert excerpt("", "main") == ""
