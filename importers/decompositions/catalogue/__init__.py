"""The operators that are taken apart, by what they do: one file for each kind.

Of two entries for one operator, the later one is tried first.
"""

from importers.decompositions.catalogue.arithmetic import ARITHMETIC
from importers.decompositions.catalogue.comparison import COMPARISON
from importers.decompositions.catalogue.indexing import INDEXING
from importers.decompositions.catalogue.layers import LAYERS
from importers.decompositions.catalogue.memory import MEMORY
from importers.decompositions.catalogue.random import RANDOM

DECOMPOSITIONS = (*INDEXING, *MEMORY, *ARITHMETIC, *LAYERS, *COMPARISON, *RANDOM)
