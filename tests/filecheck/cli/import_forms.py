# RUN: unmess import %s:model --generic | filecheck %s
# RUN: unmess import %s:model --bytecode -o %t.ir --json | filecheck %s --check-prefix FILES
# RUN: not unmess import %s:model --bytecode 2>&1 | filecheck %s --check-prefix STDOUT
# RUN: not unmess import %s:model --bytecode --generic -o %t.ir 2>&1 | filecheck %s --check-prefix GENERIC
# RUN: not unmess import %s:model --locations --strip-locations 2>&1 | filecheck %s --check-prefix BOTH

# The output forms of IR, and options that exclude each other.

import torch

# CHECK:      "func.func"() <{
# CHECK:      "linalg.generic"
# FILES:      "files": [
# FILES-NEXT:   "{{.*}}.ir",
# FILES-NEXT:   "{{.*}}.ir.json",
# FILES-NEXT:   "{{.*}}.ir.example.safetensors"
# FILES-NEXT: ]
# STDOUT:      usage: cannot write bytecode to stdout
# STDOUT-NEXT:   hint: pass a file with -o
# GENERIC:     usage: bytecode has no generic form
# BOTH:        usage: --locations and --strip-locations exclude each other


def model():
    return torch.tanh, (torch.randn(2),)
