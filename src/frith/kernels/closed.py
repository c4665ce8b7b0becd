"""The closed set of questions: exact types, made of exact types. The curator answers no other."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from frith.domain import Domain
from frith.errors import QuestionError, TooManyCells
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.kernels.base import MAX_CELLS, Kernel
from frith.kernels.choices import (
    AttributeChoice,
    CorrectChoice,
    LabelChoice,
    NodeSplits,
    SignsChoice,
    StepChoice,
)
from frith.kernels.conformity import StrangeCounts, StrangeQuantile
from frith.kernels.counts import ConfusionCounts, CorrectCounts, LeafCounts, RecordCount
from frith.kernels.criteria import EntropyMass, GiniMass, MaxMass
from frith.kernels.errors import ErrorSums
from frith.kernels.forests import ForestChoice, RightCounts
from frith.kernels.gradients import CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import LabelCells, LabelGradients
from frith.kernels.layout import Layout
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
from frith.kernels.splits import BinarySplits
from frith.kernels.strengths import StrengthChoice, StrengthCounts

KERNELS = (
    RecordCount, LeafCounts, SplitCounts, CorrectCounts, ConfusionCounts,
    GradientSums, CellSums, LabelGradients, LabelCells, StrengthCounts,
    TargetCounts, ResidualSums, ResidualCells, CodeCounts, DistanceCounts, ScoreCounts, BinCounts,
    ErrorSums,
    RightCounts, StrangeCounts,
)  # fmt: skip
VIEWS = (SplitTables, NodeCounts, NodeSizes)
CHOICES = (
    AttributeChoice, CorrectChoice, LabelChoice, NamedSplits, NodeSplits, Partitions, SignsChoice,
    StepChoice, StrengthChoice, IntervalChoice, ResidualChoice, QuantileChoice,
    DistanceQuantile, ForestChoice, StrangeQuantile,
)  # fmt: skip
_CRITERIA = (GiniMass, EntropyMass, MaxMass)
_SUMMED = {
    SplitTables: SplitCounts,
    NodeCounts: SplitCounts,
    NodeSizes: SplitCounts,
    AttributeChoice: SplitCounts,
    CorrectChoice: CorrectCounts,
    LabelChoice: LeafCounts,
    NamedSplits: SplitCounts,
    NodeSplits: SplitCounts,
    Partitions: LeafCounts,
    SignsChoice: LabelGradients,
    StepChoice: GradientSums,
    StrengthChoice: StrengthCounts,
    IntervalChoice: TargetCounts,
    ResidualChoice: ResidualSums,
    QuantileChoice: CodeCounts,
    DistanceQuantile: DistanceCounts,
    ForestChoice: RightCounts,
    StrangeQuantile: StrangeCounts,
}
"""The one kernel that each view is of, or that each choice is scored by."""
_WHOLE = (Trees, Domain, Forest, ScoreColumn, np.ndarray, int, float, tuple, type(None))

Choice = (
    AttributeChoice
    | CorrectChoice
    | ForestChoice
    | IntervalChoice
    | LabelChoice
    | QuantileChoice
    | StepChoice
    | StrengthChoice
)
"""A list from which one candidate is chosen."""
Question = Kernel | View
"""What can be counted: a kernel, or a view of a level's sums."""


def base_of(question: Question) -> Kernel:
    """The kernel whose sums a question is about."""
    return question.base if isinstance(question, View) else question


def check_question(question: object, domain: Domain, purpose: str) -> None:
    """Raise, before anything is charged, unless this is one of frith's own questions on a domain.

    Exact types, all the way down: a subclass may have other sums than it has sensitivities.
    """
    if type(question) not in KERNELS + VIEWS + CHOICES:
        raise QuestionError(
            f"{purpose}: {type(question).__name__} is none of frith's questions; "
            f"ask one of {', '.join(t.__name__ for t in KERNELS + VIEWS + CHOICES)}"
        )
    _check_parts(question, purpose)
    kernel = base_of(_counted(question))
    if type(kernel) is not _SUMMED.get(type(question), type(kernel)):
        raise QuestionError(
            f"{purpose}: {type(question).__name__} is no question about {type(kernel).__name__}"
        )
    asked = getattr(kernel, "domain", None)
    if asked is not None and not asked.same_codes(domain):
        raise QuestionError(f"{purpose}: the question is about another domain than the table's")
    _check_size(_counted(question), purpose)
    if isinstance(question, CHOICES):
        check_cells(question.n_scores, purpose)


def _check_parts(part: object, purpose: str) -> None:
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        if type(value) in (*KERNELS, Layout, BinarySplits):
            _check_parts(value, purpose)
        elif type(value) is Forest:
            _check_forest(value, purpose)
        elif type(value) is tuple:
            for each in value:
                if isinstance(each, Forest):
                    _check_forest(each, purpose)
        elif type(value) not in _WHOLE + _CRITERIA:
            raise QuestionError(
                f"{purpose}: {type(part).__name__}.{field.name} is a {type(value).__name__}, which is "
                "no part of frith's questions"
            )


def _check_forest(forest: Forest, purpose: str) -> None:
    """A domain of one's own could say that it has the table's codes, and have others."""
    if type(forest) is not Forest or type(forest.trees) is not Trees:
        raise QuestionError(f"{purpose}: the forest's trees are not frith's own")
    if type(forest.domain) is not Domain or type(forest.values) is not np.ndarray:
        raise QuestionError(f"{purpose}: the forest's domain or values are not frith's own")


def _counted(question: object) -> Kernel | View:
    """What is summed up: the question itself, or the kernel that scores its candidates."""
    return question.kernel if isinstance(question, CHOICES) else question  # type: ignore[return-value]


def check_cells(cells: int, purpose: str) -> None:
    """Raise where a question has, or its candidates are scored by, more than the public cap."""
    if cells > MAX_CELLS:
        raise TooManyCells(
            f"{purpose}: {cells:,} cells, and at most {MAX_CELLS:,} can be asked at once; "
            "use fewer or lower trees, or group the values of large attributes"
        )


def _check_size(question: Question, purpose: str) -> None:
    check_cells(math.prod(base_of(question).shape), purpose)
    if math.prod(question.shape) < 1 or question.l1 < 1:
        raise QuestionError(
            f"{purpose}: the question has nothing in it; name what is to be counted"
        )
