"""The catalogue of decompositions, with one file for each kind of operator.

If an operator has several entries, the last one is tried first.
"""

from importers.decompositions.catalogue.arithmetic import ARITHMETIC
from importers.decompositions.catalogue.comparison import COMPARISON
from importers.decompositions.catalogue.indexing import INDEXING
from importers.decompositions.catalogue.layers import LAYERS
from importers.decompositions.catalogue.linear_algebra import LINEAR_ALGEBRA
from importers.decompositions.catalogue.memory import MEMORY
from importers.decompositions.catalogue.random import RANDOM
from importers.decompositions.catalogue.special import SPECIAL
from importers.decompositions.catalogue.statistics import STATISTICS
from importers.decompositions.catalogue.views import VIEWS

DECOMPOSITIONS = (
    *INDEXING,
    *MEMORY,
    *ARITHMETIC,
    *LAYERS,
    *LINEAR_ALGEBRA,
    *COMPARISON,
    *RANDOM,
    *SPECIAL,
    *STATISTICS,
    *VIEWS,
)
