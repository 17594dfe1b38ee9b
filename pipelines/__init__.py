"""From the torch dialect to exits and runners."""
