"""How many positions the key-value cache of a decoder has, known before PyTorch is loaded."""

# Tokens of the prompt that a decoder is captured with, and how many positions there are at least:
# one more, for the token that `decode` adds in the example.
PROMPT = 8
FEWEST = PROMPT + 1
# Where no number is asked for: prompts of different lengths are one compiled program.
DEFAULT = 256
