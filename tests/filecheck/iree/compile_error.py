# RUN: %python %s | filecheck %s

# IREE's diagnostics become one error with a reproducer that names the command.

from pathlib import Path

from pipelines.iree.compiler import compile_text
from pipelines.iree.targets import target
from unmess import Error

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.softmax dimension(3) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32> loc("user.py":7:0)
  return %0 : tensor<4xf32>
}
"""

try:
    compile_text(TEXT, target("iree-cpu").options, "broken")
except Error as error:
    print(error)
    print(Path(error.repro).read_text())

# CHECK:      compile: IREE does not compile the module: 'linalg.softmax' op incorrect dimension specified
# CHECK-NEXT:   at: user.py:7
# CHECK-NEXT:   hint:
# CHECK-NEXT:   repro: {{.*}}broken-iree{{.*}}.mlir
# CHECK-NEXT: // iree-compile {{.*}}--iree-hal-local-target-device-backends=llvm-cpu
