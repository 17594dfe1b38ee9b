"""Sizes of a decoder's key-value cache, in positions. Importing this does not load PyTorch."""

# The number of tokens in the prompt that a decoder is captured with.
PROMPT = 8
# The minimum number of positions: the prompt, and the token that `decode` adds in the example.
FEWEST = PROMPT + 1
# Used if the user gives no number. Prompts of different lengths share one compiled program.
DEFAULT = 256
