"""What is public about a table, and how its records become codes."""

from frith.domain.attributes import (
    MAX_VALUES,
    Attribute,
    Categorical,
    Date,
    Numeric,
    Ordered,
    Value,
    spelling,
)
from frith.domain.domain import Csv, Domain, Person, class_array

__all__ = [
    "MAX_VALUES",
    "Attribute",
    "Categorical",
    "Csv",
    "Date",
    "Domain",
    "Numeric",
    "Ordered",
    "Person",
    "Value",
    "class_array",
    "spelling",
]
