"""Sizes of a decoder's key-value cache, in positions. Importing this does not load PyTorch."""

# Number of tokens in the prompt that a decoder is captured with, and the minimum number of
# positions: one more, for the token that `decode` adds in the example.
PROMPT = 8
FEWEST = PROMPT + 1
# Used if the user gives no number. Prompts of different lengths share one compiled program.
DEFAULT = 256
