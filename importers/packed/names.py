"""The names of packed weights among those of a program. Importing this loads no format."""


def is_packed(name: str) -> bool:
    """Returns whether a tensor of this name is the integers of a packed weight."""
    return name.endswith("weight.integers")
