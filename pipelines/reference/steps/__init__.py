"""The steps that lower a program to LLVM, one file each. `order` has their order."""
