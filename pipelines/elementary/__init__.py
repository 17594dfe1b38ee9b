"""Elementary functions computed by arithmetic in f64, for both CPU runners."""
