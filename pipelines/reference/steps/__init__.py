"""The steps that lower a program to LLVM, one file each. `pipeline` has their order."""
