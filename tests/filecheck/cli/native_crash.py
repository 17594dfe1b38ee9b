# RUN: not unmess import %s --insert-pass canonicalize=%S/Inputs/user_pass.py:crash 2>&1 | filecheck %s
# RUN: not unmess import %s --json -q --insert-pass canonicalize=%S/Inputs/user_pass.py:crash 2> %t | filecheck %s --check-prefix JSON

# A crash in native code is reported as an error, with the input of the pass as the reproducer.

import torch

# CHECK:       torch: crashed with SIGSEGV (pass crash)
# CHECK-NEXT:    hint: report the reproducer
# CHECK-NEXT:    repro: {{.*}}.mlir

# JSON:        "ok": false
# JSON-NEXT:   "stage": "torch"
# JSON-NEXT:   "error": "crashed with SIGSEGV (pass crash)"
# JSON:        "repro": "{{.*}}.mlir"


def model():
    return torch.nn.ReLU(), (torch.randn(2),)
