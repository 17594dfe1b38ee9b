"""Special functions, computed in f64 from published coefficients."""
