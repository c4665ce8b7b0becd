"""The model: trees, released values, rules, pictures and exports. Reads releases only."""

from frith.forest.forest import Forest
from frith.forest.trees import Trees

__all__ = ["Forest", "Trees"]
