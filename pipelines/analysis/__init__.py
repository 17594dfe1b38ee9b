"""What a module is made of and what it costs: counted on the IR, nothing is run."""
