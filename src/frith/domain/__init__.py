"""What is public about a table, and how its records become codes."""

from frith.domain.domain import (
    MAX_VALUES,
    Attribute,
    Categorical,
    Domain,
    Numeric,
    Person,
    Value,
    class_array,
    spelling,
)

__all__ = [
    "MAX_VALUES",
    "Attribute",
    "Categorical",
    "Domain",
    "Numeric",
    "Person",
    "Value",
    "class_array",
    "spelling",
]
