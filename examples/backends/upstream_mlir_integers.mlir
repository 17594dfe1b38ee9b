// Lowers the integer operations of math to LLVM, and leaves its other operations as they are.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.apply_conversion_patterns to %functions {
      transform.apply_conversion_patterns.dialect_to_llvm "math"
    } with type_converter {
      transform.apply_conversion_patterns.memref.memref_to_llvm_type_converter
    } {illegal_ops = ["math.absi", "math.ctlz", "math.ctpop", "math.cttz"],
       legal_dialects = ["math", "llvm", "builtin"], partial_conversion, preserve_handles}
        : !transform.any_op
    transform.yield
  }
}
