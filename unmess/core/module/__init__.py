"""IR with its signature and weights, and the files that hold them."""
