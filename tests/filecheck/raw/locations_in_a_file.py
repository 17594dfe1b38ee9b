# RUN: unmess import %s:model --to torch -o %t.mlir
# RUN: filecheck %s < %t.mlir
# RUN: unmess import %s:model --to torch -o %t.stripped.mlir --strip-locations
# RUN: filecheck %s --check-prefix STRIPPED < %t.stripped.mlir
# RUN: unmess import %t.mlir --to linalg --locations | filecheck %s --check-prefix AGAIN

# A file keeps source lines, and so does IR that is lowered from it.

import torch

# CHECK:     torch.aten.tanh
# CHECK:     loc("{{.*}}locations_in_a_file.py":20:
# STRIPPED:     torch.aten.tanh
# STRIPPED-NOT: loc(
# AGAIN:     loc("{{.*}}locations_in_a_file.py":20:
# AGAIN:     math.tanh


def model():
    return (lambda x: torch.tanh(x)), (torch.randn(2),)
