"""What happens to a program on its way to LLVM, a file for each idea; `lowering` has the order."""
