"""The closed set of questions about records: exact integer sums, each with its sensitivity.

A question is frozen data of one of the types here. It names the attributes it reads, the public
shape of its answer, and how far one record can move that answer in each norm; the curator computes
the charge from those. A choice adds public candidates, scores and their range.
"""

from frith.kernels.base import MAX_CELLS, MAX_RECORDS, ColumnKernel, Kernel, add_batch
from frith.kernels.choices import (
    AttributeChoice,
    CorrectChoice,
    LabelChoice,
    NodeSplits,
    SignsChoice,
    StepChoice,
)
from frith.kernels.closed import (
    CHOICES,
    KERNELS,
    VIEWS,
    Choice,
    Question,
    base_of,
    check_question,
)
from frith.kernels.conformity import StrangeCounts, StrangeQuantile
from frith.kernels.counts import ConfusionCounts, CorrectCounts, LeafCounts, RecordCount
from frith.kernels.errors import ErrorSums
from frith.kernels.forests import ForestChoice, RightCounts
from frith.kernels.levels import NodeCounts, NodeSizes, SplitCounts, SplitTables, View
from frith.kernels.naming import NamedSplits
from frith.kernels.partitions import Partitions
from frith.kernels.quantiles import (
    CodeCounts,
    DistanceCounts,
    DistanceQuantile,
    QuantileChoice,
)
from frith.kernels.residuals import (
    IntervalChoice,
    ResidualCells,
    ResidualChoice,
    ResidualSums,
    TargetCounts,
)
from frith.kernels.scores import BinCounts, ScoreCounts
from frith.kernels.strengths import StrengthChoice, StrengthCounts

__all__ = [
    "CHOICES",
    "KERNELS",
    "MAX_CELLS",
    "MAX_RECORDS",
    "VIEWS",
    "AttributeChoice",
    "BinCounts",
    "Choice",
    "CodeCounts",
    "ColumnKernel",
    "ConfusionCounts",
    "CorrectChoice",
    "CorrectCounts",
    "DistanceCounts",
    "DistanceQuantile",
    "ErrorSums",
    "ForestChoice",
    "IntervalChoice",
    "Kernel",
    "LabelChoice",
    "LeafCounts",
    "NamedSplits",
    "NodeCounts",
    "NodeSizes",
    "NodeSplits",
    "Partitions",
    "QuantileChoice",
    "Question",
    "RecordCount",
    "ResidualCells",
    "ResidualChoice",
    "ResidualSums",
    "RightCounts",
    "ScoreCounts",
    "SignsChoice",
    "SplitCounts",
    "SplitTables",
    "StepChoice",
    "StrangeCounts",
    "StrangeQuantile",
    "StrengthChoice",
    "StrengthCounts",
    "TargetCounts",
    "View",
    "add_batch",
    "base_of",
    "check_question",
]
