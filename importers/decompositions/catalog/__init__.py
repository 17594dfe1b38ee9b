"""The catalog of decompositions, with one file for each kind of operator.

If an operator has several entries, the last one is tried first.
"""

from importers.decompositions.catalog.arithmetic import ARITHMETIC
from importers.decompositions.catalog.comparison import COMPARISON
from importers.decompositions.catalog.indexing import INDEXING
from importers.decompositions.catalog.layers import LAYERS
from importers.decompositions.catalog.linear_algebra import LINEAR_ALGEBRA
from importers.decompositions.catalog.memory import MEMORY
from importers.decompositions.catalog.random import RANDOM
from importers.decompositions.catalog.recurrent import RECURRENT
from importers.decompositions.catalog.special import SPECIAL
from importers.decompositions.catalog.statistics import STATISTICS
from importers.decompositions.catalog.views import VIEWS

DECOMPOSITIONS = (
    *INDEXING,
    *MEMORY,
    *ARITHMETIC,
    *LAYERS,
    *RECURRENT,
    *LINEAR_ALGEBRA,
    *COMPARISON,
    *RANDOM,
    *SPECIAL,
    *STATISTICS,
    *VIEWS,
)
