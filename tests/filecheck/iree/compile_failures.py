# RUN: %python %s | filecheck %s

# Errors of IREE's compiler, each with its cause: hardware names, options, invalid IR, libraries.

from pipelines.iree.compiler import compile_text
from pipelines.iree.targets import target
from unmess import Error, TargetOptions

SUM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
LOGARITHM = SUM.replace("arith.addf %x, %x", "math.log10 %x")


def show(text, options):
    try:
        compile_text(text, options, "broken")
    except Error as error:
        print(error)


# CHECK:      usage: IREE's compiler does not know the target 'znver33'
# CHECK-NEXT:   hint: pass a CPU as host, generic or an LLVM name
show(SUM, target("iree-cpu", TargetOptions(cpu="znver33")).options)

# CHECK-NEXT: usage: IREE's compiler does not know the target 'sm_999'
# CHECK-NEXT:   hint:
show(SUM, target("iree-cuda", TargetOptions(cuda="sm_999")).options)

# CHECK-NEXT: usage: IREE's compiler rejects its options: option not found: iree-nowhere
# CHECK-NEXT:   hint: run `iree-compile --help` to list the options
show(SUM, ["--iree-nowhere"])

# CHECK-NEXT: compile: IREE does not compile the module: {{.*}}undeclared SSA value
# CHECK:        repro: {{.*}}broken-iree{{.*}}.mlir
show(SUM.replace("%x, %x", "%x, %y"), target("iree-cpu").options)

# IREE links no C library.
# CHECK:      compile: {{.*}}IREE's runtime lacks log10f, which the compiled code calls
# CHECK:        hint:
show(LOGARITHM, target("iree-cpu").options)
