// RUN: not unmess-opt --pipeline linalg --insert-pass start=%S/Inputs/user_pass.py:fail %s 2>&1 | filecheck %s --check-prefix RAISES
// RUN: not unmess-opt --pipeline linalg --insert-pass start=%S/Inputs/user_pass.py:spoil %s 2>&1 | filecheck %s --check-prefix INVALID
// RUN: not unmess-opt --pipeline linalg --insert-pass start=%S/Inputs/user_pass.py:relu_to_tan %s 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not unmess-opt --pipeline linalg --insert-pass start=%S/Inputs/own_pas.py:relu %s 2>&1 | filecheck %s --check-prefix FILE

// The error for an exception in a user's function names the line in that function.
// RAISES:      linalg: ValueError: not today (step fail)
// RAISES-NEXT:   at: {{.*}}user_pass.py:44
// RAISES-NEXT:   hint:
// RAISES-NEXT:   repro:
// RAISES-NOT:  Traceback

// INVALID:      linalg: type of return operand 0 {{.*}} (step spoil)
// INVALID:        repro:

// MISSING:      usage: {{.*}}user_pass.py has no function relu_to_tan
// MISSING-NEXT:   hint: did you mean relu_to_tanh?

// FILE:         usage: no file {{.*}}own_pas.py
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  return %x : !torch.vtensor<[2],f32>
}
