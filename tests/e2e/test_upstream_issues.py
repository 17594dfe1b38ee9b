"""Tests that issues of other projects that require workarounds are still open.

If a test fails, another project has solved the issue. Then remove the program from
`upstream_issues.yaml`, and the workarounds that `affects` names, unless something else needs them.
"""

import re

import pytest
import torch
from torch_mlir import ir
from torch_mlir.passmanager import PassManager
from upstream_programs import problem, run_by_iree

import unmess
from importers.repair_list import recorded_repairs
from pipelines.output_dialects.strict_sizes import NOTED
from unmess.core.ir.dialects import context_of_all
from unmess.core.processes.workers import each_in_workers
from unmess.isolated import shared_parent
from unmess.upstream_issues import upstream_issues

ISSUES = upstream_issues()
PROGRAMS = [
    (name, number, program)
    for name, issue in ISSUES.items()
    for number, program in enumerate(issue.programs)
]


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    """The problem of each program, or None. One worker runs them until a program crashes it."""
    items = [(ISSUES[name].through, program) for name, _, program in PROGRAMS]
    folder = tmp_path_factory.mktemp("programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        found = list(each_in_workers(shared_parent(), items, problem, timeout=60))
    return {(name, number): each for (name, number, _), each in zip(PROGRAMS, found, strict=True)}


@pytest.mark.parametrize(("name", "number"), [(name, number) for name, number, _ in PROGRAMS])
def test_the_program_still_fails(name, number, problems):
    assert problems[name, number] is not None, f"{name}: right: {ISSUES[name].programs[number]}"


def test_missing_operators_are_still_missing():
    """The operators that the reason of a decomposition calls missing are not in the dialect."""
    with context_of_all() as context:
        missing = [
            each.mends
            for each in recorded_repairs()
            if each.kind == "decomposition"
            and each.name in ISSUES["missing-operators"].affects
            and each.reason.startswith(("the torch dialect has no ", "the torch dialect lacks "))
        ]
        assert missing
        found = [each for each in missing if context.is_registered_operation(_in_dialect(each))]
    assert not found


def _in_dialect(operator: str) -> str:
    namespace, name = operator.split("::")
    return f"torch.{namespace}.{name.removesuffix('.default')}"


def test_iree_does_not_keep_the_order_of_equal_elements():
    run = run_by_iree("""
    func.func @main(%x: tensor<40xi32>, %i: tensor<40xi32>) -> tensor<40xi32> {
      %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<40xi32>, tensor<40xi32>) -> (tensor<40xi32>, tensor<40xi32>)
      return %0#1 : tensor<40xi32>
    }""")
    positions = torch.arange(40, dtype=torch.int32)
    (order,) = run(positions % 2, positions)
    assert not torch.equal(order, torch.sort(positions % 2, stable=True).indices.int())


def test_iree_does_not_compile_a_loop_that_passes_on_fewer_tensors():
    with pytest.raises(Exception, match="region branch point has 2 operands"):
        run_by_iree("""
        func.func @main(%x: tensor<3xf32>, %go: tensor<i1>) -> tensor<3xf32> {
          %0 = scf.while (%a = %x, %c = %go) : (tensor<3xf32>, tensor<i1>) -> tensor<3xf32> {
            %1 = tensor.extract %c[] : tensor<i1>
            scf.condition(%1) %a : tensor<3xf32>
          } do {
          ^bb0(%a: tensor<3xf32>):
            %1 = math.exp %a : tensor<3xf32>
            %zero = arith.constant 0 : index
            %2 = tensor.extract %1[%zero] : tensor<3xf32>
            %ten = arith.constant 10.0 : f32
            %3 = arith.cmpf olt, %2, %ten : f32
            %4 = tensor.from_elements %3 : tensor<i1>
            scf.yield %1, %4 : tensor<3xf32>, tensor<i1>
          }
          return %0 : tensor<3xf32>
        }""")


def test_iree_does_not_compile_a_scatter_of_a_number():
    with pytest.raises(Exception, match="exceeded stack allocation limit"):
        run_by_iree("""
        func.func @main(%x: tensor<9xi64>, %i: tensor<9999x1xi64>) -> tensor<9xi64> {
          %one = arith.constant 1 : i64
          %empty = tensor.empty() : tensor<9999xi64>
          %0 = linalg.fill ins(%one : i64) outs(%empty : tensor<9999xi64>) -> tensor<9999xi64>
          %1 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
              ins(%0, %i : tensor<9999xi64>, tensor<9999x1xi64>) outs(%x : tensor<9xi64>) {
          ^bb0(%new: i64, %old: i64):
            %2 = arith.addi %old, %new : i64
            tm_tensor.yield %2 : i64
          } -> tensor<9xi64>
          return %1 : tensor<9xi64>
        }""")


def test_iree_stops_branches_on_sizes():
    sizes = ({0: torch.export.Dim("n")},)
    program = unmess.capture(lambda x: x.round(), (torch.ones(3, 3),), dynamic_shapes=sizes)
    module = unmess.lower(program, to="tosa")
    (main,) = module.ir.body.operations
    del main.attributes[NOTED]
    run = unmess.load(module, on="iree-cpu")
    with pytest.raises(unmess.Error, match="transient buffer"):
        run(torch.ones(5, 3))


def test_mlir_starts_extremes_of_tosa_at_finite_numbers():
    program = unmess.capture(lambda x: x.amax(0), (torch.ones(3),))
    module = unmess.lower(program, to="tosa")
    with module.ir.context:
        passes = "builtin.module(func.func(tosa-to-linalg))"
        PassManager.parse(passes).run(module.ir.operation)
    assert "-3.40282347E+38" in module.text()


def test_torch_mlir_continues_slices_to_zero():
    rows = ["x.0=rows:1..9"]
    program = unmess.capture(lambda x: x.roll(1, 0), (torch.ones(3, 2),), dynamic_shapes=rows)
    module = unmess.lower(program, to="torch")
    with module.ir.context:
        passes = "builtin.module(func.func(convert-torch-to-stablehlo))"
        PassManager.parse(passes).run(module.ir.operation)
    text = module.text()
    comparisons = re.findall(r"(%\S+) = arith.cmpi eq, %\S+, %c0_i64", text)
    assert any(f"arith.select {each}, " in text for each in comparisons)


def test_iree_does_not_clamp_indices_of_gathers():
    run = run_by_iree("""
    func.func @main(%x: tensor<4xf32>, %i: tensor<1x1xi32>) -> tensor<1xf32> {
      %0 = "stablehlo.gather"(%x, %i) <{
        dimension_numbers = #stablehlo.gather<
          collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        slice_sizes = array<i64: 1>}> : (tensor<4xf32>, tensor<1x1xi32>) -> tensor<1xf32>
      return %0 : tensor<1xf32>
    }""")
    (element,) = run(torch.arange(1.0, 5.0), torch.tensor([[5]], dtype=torch.int32))
    assert element != 4


def test_iree_multiplies_unsigned_integers_as_signed():
    run = run_by_iree("""
    func.func @main(%x: tensor<2x2xui8>, %y: tensor<2x2xi8>) -> tensor<2x2xi32> {
      %0 = stablehlo.convert %x : (tensor<2x2xui8>) -> tensor<2x2xi32>
      %1 = stablehlo.convert %y : (tensor<2x2xi8>) -> tensor<2x2xi32>
      %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]
          : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
      return %2 : tensor<2x2xi32>
    }""")
    x = torch.tensor([[3, 200], [255, 128]], dtype=torch.uint8)
    y = torch.tensor([[1, -2], [3, 4]], dtype=torch.int8)
    (product,) = run(x, y)
    assert not torch.equal(product, x.int() @ y.int())


def test_iree_does_not_load_unsigned_globals():
    with pytest.raises(Exception, match=r"failed to legalize operation 'util\.global\.load'"):
        run_by_iree("""
        util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2xui8>
        func.func @main() -> tensor<2xi32> {
          %0 = util.global.load @w : tensor<2xui8>
          %1 = stablehlo.convert %0 : (tensor<2xui8>) -> tensor<2xi32>
          return %1 : tensor<2xi32>
        }""")


def test_iree_does_not_compile_a_global_tensor_below_its_function():
    with pytest.raises(Exception, match=r"failed to legalize operation 'util\.global\.store'"):
        run_by_iree("""
        func.func @main(%x: tensor<i64>) -> tensor<i64> {
          %before = ml_program.global_load @seed : tensor<i64>
          ml_program.global_store @seed = %x : tensor<i64>
          return %before : tensor<i64>
        }
        ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>""")


def test_iree_converts_no_integer_to_bf16_without_instructions():
    text = """
    func.func @main(%x: i64) -> bf16 {
      %0 = tensor.empty() : tensor<8xbf16>
      %1 = linalg.map outs(%0 : tensor<8xbf16>) (%_: bf16) {
        %2 = arith.sitofp %x : i64 to bf16
        linalg.yield %2 : bf16
      }
      %c0 = arith.constant 0 : index
      %3 = tensor.extract %1[%c0] : tensor<8xbf16>
      return %3 : bf16
    }"""
    with pytest.raises(Exception, match="undefined symbol: __truncsfbf2"):
        run_by_iree(text, cpu="generic")


def test_iree_does_not_compile_a_loop_with_a_computed_boolean():
    with pytest.raises(Exception, match=r"target materialization from \('i1'\)"):
        run_by_iree("""
    #map = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %empty = tensor.empty() : tensor<3xf32>
      %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
          ins(%x : tensor<3xf32>) outs(%empty : tensor<3xf32>) {
      ^bb0(%a: f32, %o: f32):
        %s = arith.addf %a, %a : f32
        linalg.yield %s : f32
      } -> tensor<3xf32>
      %element = tensor.extract %y[%c0] : tensor<3xf32>
      %first = arith.cmpf ogt, %element, %zero : f32
      %result = scf.while (%flag = %first, %z = %y) : (i1, tensor<3xf32>) -> tensor<3xf32> {
        scf.condition(%flag) %z : tensor<3xf32>
      } do {
      ^bb0(%z: tensor<3xf32>):
        %new = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
            ins(%z : tensor<3xf32>) outs(%empty : tensor<3xf32>) {
        ^bb0(%a: f32, %o: f32):
          %one = arith.constant 1.0 : f32
          %s = arith.subf %a, %one : f32
          linalg.yield %s : f32
        } -> tensor<3xf32>
        %new_element = tensor.extract %new[%c0] : tensor<3xf32>
        %more = arith.cmpf ogt, %new_element, %zero : f32
        scf.yield %more, %new : i1, tensor<3xf32>
      }
      return %result : tensor<3xf32>
    }""")


def test_iree_stops_a_loop_from_one_tensor():
    run = run_by_iree("""
    #scalar = affine_map<() -> ()>
    #row = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>) {
      %n = arith.constant dense<0> : tensor<i64>
      %one = arith.constant 1 : i64
      %three = arith.constant 3 : i64
      %go = arith.constant 1 : i1
      cf.br ^head(%go, %n, %x, %x : i1, tensor<i64>, tensor<40xf32>, tensor<40xf32>)
    ^head(%c: i1, %i: tensor<i64>, %a: tensor<40xf32>, %b: tensor<40xf32>):
      cf.cond_br %c, ^body, ^end
    ^body:
      %e = tensor.empty() : tensor<40xf32>
      %doubled = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
          ins(%a : tensor<40xf32>) outs(%e : tensor<40xf32>) {
      ^bb0(%y: f32, %o: f32):
        %z = arith.addf %y, %y : f32
        linalg.yield %z : f32
      } -> tensor<40xf32>
      %squared = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
          ins(%b : tensor<40xf32>) outs(%e : tensor<40xf32>) {
      ^bb0(%y: f32, %o: f32):
        %z = arith.mulf %y, %y : f32
        linalg.yield %z : f32
      } -> tensor<40xf32>
      %e0 = tensor.empty() : tensor<i64>
      %next = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
          ins(%i : tensor<i64>) outs(%e0 : tensor<i64>) {
      ^bb0(%y: i64, %o: i64):
        %z = arith.addi %y, %one : i64
        linalg.yield %z : i64
      } -> tensor<i64>
      %number = tensor.extract %next[] : tensor<i64>
      %more = arith.cmpi slt, %number, %three : i64
      cf.br ^head(%more, %next, %doubled, %squared
          : i1, tensor<i64>, tensor<40xf32>, tensor<40xf32>)
    ^end:
      %used = util.optimization_barrier %x : tensor<40xf32>
      return %a, %b : tensor<40xf32>, tensor<40xf32>
    }""")
    with pytest.raises(Exception, match="out range of the declared binding capacity"):
        run(torch.ones(40))


def test_iree_reads_updated_elements_in_a_loop():
    run = run_by_iree("""
    #scalar = affine_map<() -> ()>
    #none = affine_map<(d0) -> ()>
    #row = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
      %n = arith.constant dense<0> : tensor<i64>
      %one = arith.constant 1 : i64
      %three = arith.constant 3 : i64
      %five = arith.constant dense<5.0> : tensor<2xf32>
      %start = arith.constant dense<0.0> : tensor<f32>
      %e = tensor.empty() : tensor<4xf32>
      %e0 = tensor.empty() : tensor<i64>
      %doubled = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%y: f32, %o: f32):
        %z = arith.addf %y, %y : f32
        linalg.yield %z : f32
      } -> tensor<4xf32>
      %go = arith.constant true
      cf.br ^head(%go, %n, %start, %doubled : i1, tensor<i64>, tensor<f32>, tensor<4xf32>)
    ^head(%c: i1, %i: tensor<i64>, %total: tensor<f32>, %b: tensor<4xf32>):
      cf.cond_br %c, ^body, ^end
    ^body:
      %sum = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]}
          ins(%b : tensor<4xf32>) outs(%total : tensor<f32>) {
      ^bb0(%y: f32, %o: f32):
        %z = arith.addf %y, %o : f32
        linalg.yield %z : f32
      } -> tensor<f32>
      %updated = tensor.insert_slice %five into %b[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
      %next = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
          ins(%i : tensor<i64>) outs(%e0 : tensor<i64>) {
      ^bb0(%y: i64, %o: i64):
        %z = arith.addi %y, %one : i64
        linalg.yield %z : i64
      } -> tensor<i64>
      %number = tensor.extract %next[] : tensor<i64>
      %more = arith.cmpi slt, %number, %three : i64
      cf.br ^head(%more, %next, %sum, %updated : i1, tensor<i64>, tensor<f32>, tensor<4xf32>)
    ^end:
      return %total : tensor<f32>
    }""")
    (total,) = run(torch.ones(4))
    assert total != 8 + 14 + 14


def test_iree_overwrites_numbers_of_branches(tmp_path):
    text = """
    func.func @main(%n: tensor<i32>, %a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>)
        -> (tensor<i32>, tensor<i32>, tensor<i64>) {
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %steps = tensor.extract %n[] : tensor<i32>
      %a0 = tensor.extract %a[] : tensor<i32>
      %b0 = tensor.extract %b[] : tensor<i32>
      %c0 = tensor.extract %c[] : tensor<i64>
      cf.br ^head(%a0, %b0, %c0, %steps : i32, i32, i64, i32)
    ^head(%a1: i32, %b1: i32, %c1: i64, %left: i32):
      %more = arith.cmpi sgt, %left, %zero : i32
      cf.cond_br %more, ^body, ^end
    ^body:
      %less = arith.subi %left, %one : i32
      cf.br ^head(%a1, %b1, %c1, %less : i32, i32, i64, i32)
    ^end:
      %a2 = tensor.from_elements %a1 : tensor<i32>
      %b2 = tensor.from_elements %b1 : tensor<i32>
      %c2 = tensor.from_elements %c1 : tensor<i64>
      return %a2, %b2, %c2 : tensor<i32>, tensor<i32>, tensor<i64>
    }"""
    arguments = (*torch.tensor([0, 3, 5], dtype=torch.int32), torch.tensor(7))
    results = list(arguments[1:])
    assert run_by_iree(text)(*arguments) != results
    file = tmp_path / "branches.mlir"
    file.write_text(text)
    assert list(unmess.load(str(file), on="iree-cpu")(*arguments)) == results


def lowered(passes: str, text: str) -> str:
    """Runs passes on a module, and returns it."""
    with context_of_all():
        module = ir.Module.parse(text)
        PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return str(module)


def test_counts_of_shifts_are_not_compared_with_the_bits():
    """The result of such a shift is undefined, so it may happen to be right."""
    text = lowered(
        "func.func(convert-torch-to-linalg)",
        """
    func.func @main(%x: !torch.vtensor<[2],si64>, %y: !torch.vtensor<[2],si64>)
        -> !torch.vtensor<[2],si64> {
      %0 = torch.aten.bitwise_left_shift.Tensor %x, %y :
        !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64> -> !torch.vtensor<[2],si64>
      return %0 : !torch.vtensor<[2],si64>
    }""",
    )
    (_, body) = text.split("linalg.generic")
    assert "arith.shli" in body and "arith.cmpi" not in body


def test_floats_are_cast_to_narrow_integers_directly():
    """The result for numbers out of range is undefined. On some CPUs it is right."""
    text = lowered(
        "func.func(convert-torch-to-linalg)",
        """
    func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],ui8> {
      %ui8 = torch.constant.int 0
      %false = torch.constant.bool false
      %none = torch.constant.none
      %0 = torch.aten.to.dtype %x, %ui8, %false, %false, %none : !torch.vtensor<[2],f32>,
        !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],ui8>
      return %0 : !torch.vtensor<[2],ui8>
    }""",
    )
    assert re.search(r"arith\.fpto[su]i %\w+ : f32 to i8", text)


def test_casts_of_concatenated_tensors_are_not_folded():
    text = lowered(
        "func.func(canonicalize)",
        """
    func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<?xf32> {
      %0 = tensor.cast %x : tensor<2xf32> to tensor<?xf32>
      %1 = tensor.concat dim(0) %0, %y : (tensor<?xf32>, tensor<3xf32>) -> tensor<?xf32>
      return %1 : tensor<?xf32>
    }""",
    )
    assert "tensor<5xf32>" not in text


def test_forms_that_stablehlo_does_not_lower_well():
    text = lowered(
        "stablehlo-legalize-to-linalg",
        """
    func.func @main(%x: tensor<?xf32>, %n: tensor<2xi32>, %image: tensor<1x2x4x4xf32>,
                    %filter: tensor<2x2x3x3xf32>, %some: tensor<?x4x6xf32>,
                    %grouped: tensor<3x2x3xf32>, %number: tensor<f32>)
        -> (tensor<?x?xf32>, tensor<1x2x2x2xf32>, tensor<?x2x3xf32>, tensor<?x4x5xf32>, tensor<f32>,
            tensor<4xcomplex<f32>>) {
      %0 = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
      %1 = stablehlo.convolution(%image, %filter)
        dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
        window = {stride = [1, 1], pad = [[0, 0], [0, 0]]}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x2x2xf32>
      %2 = stablehlo.convolution(%some, %grouped)
        dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
        {batch_group_count = 1 : i64, feature_group_count = 3 : i64}
        : (tensor<?x4x6xf32>, tensor<3x2x3xf32>) -> tensor<?x2x3xf32>
      %3 = "stablehlo.reduce_window"(%some, %number) <{
          window_dimensions = array<i64: 1, 1, 2>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %7 = stablehlo.maximum %a, %b : tensor<f32>
        stablehlo.return %7 : tensor<f32>
      }) : (tensor<?x4x6xf32>, tensor<f32>) -> tensor<?x4x5xf32>
      %4 = stablehlo.reduce(%number init: %number) applies stablehlo.add across dimensions = []
        : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %5 = stablehlo.constant dense<(1.0, 2.0)> : tensor<4xcomplex<f32>>
      %6 = stablehlo.fft %5, type = FFT, length = [4]
        : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
      return %0, %1, %2, %3, %4, %6 : tensor<?x?xf32>, tensor<1x2x2x2xf32>, tensor<?x2x3xf32>,
        tensor<?x4x5xf32>, tensor<f32>, tensor<4xcomplex<f32>>
    }""",
    )
    for name in ("dynamic_reshape", "convolution", "reduce_window", "reduce", "fft"):
        assert re.search(rf"stablehlo\.{name}\b", text), name
    assert "linalg.conv" not in text
