"""Functions of f64 in terms of arithmetic: IREE's runtime has no library that computes them."""
