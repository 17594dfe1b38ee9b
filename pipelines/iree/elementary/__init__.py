"""Elementary functions of f64 computed by arithmetic: IREE's runtime has no math library."""
