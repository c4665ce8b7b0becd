"""The model: trees that vote, read, drawn, saved and taken elsewhere.

The strict reader of forests from outside is in `voting.py` and `trees.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from frith._documents import read_file, write_file
from frith.domain import Value
from frith.forest.notebook import forest_html
from frith.forest.origin import Origin
from frith.forest.voting import VotingTrees

if TYPE_CHECKING:
    from onnx import ModelProto

    from frith.forest.effects import Effects
    from frith.forest.rules import RuleList
    from frith.forest.svg import Svg


@dataclass(frozen=True, eq=False, repr=False)
class Forest(VotingTrees):
    """What was learned: trees, released values, a vote, and the guarantee that covers all of it.

    Everything below reads releases only, so none of it costs budget. `origin` says who learned it, how
    and when; forests that differ in nothing else are equal.
    """

    measured: Forest | None = None
    origin: Origin | None = None

    def predict(self, table: Any, threads: int | None = None) -> NDArray[Any]:
        """The most probable label of each record, the first in domain order where labels tie.

        If the label is a number, that number, within its declared bounds. On a log scale the trees add up
        to its logarithm, and this is the exponential: close to a geometric mean or a median, and below the
        mean where targets spread.
        """
        predicted = super().predict(table, threads)
        return self.domain.from_target(predicted) if self.domain.has_target else predicted

    def _label_words(self) -> str:
        log = "; its trees add up to the logarithm" if self.domain.has_log_target else ""
        return super()._label_words() + log

    # -- updates -------------------------------------------------------------------------------

    def plus(self, other: Forest, *, disjoint: bool = False) -> Forest:
        """Algorithm 5 of Private-RDT: the same trees with both forests' values added."""
        if self.domain != other.domain or self.trees != other.trees or self.vote != other.vote:
            raise ValueError("only forests of one structure and one domain can be added")
        return replace(
            self,
            values=self.values + other.values,
            guarantee=self.guarantee.then(other.guarantee, disjoint=disjoint),
            variance=self.variance + other.variance,
            candidates=max(self.candidates, other.candidates),
        )

    # -- reading it ----------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        return forest_html(self)

    def rules(
        self,
        *,
        min_confidence: float | None = None,
        min_support: float | None = None,
        label: Value | None = None,
        attribute: str | None = None,
        leaves_only: bool = False,
        sort: str = "certainty",
    ) -> RuleList:
        """Every rule (root to leaf) and sub-rule (root to node), read from the releases alone.

        In a forest of counts, rules state what was counted, with intervals; in a forest of scores, by
        how much each tree moves the odds of a label. Rules that were counted beside a forest of
        scores are in `measured.rules()`.

        Parameters
        ----------
        min_confidence : float or None, default=None
            For counts, the least share of a rule's label.
        min_support : float or None, default=None
            For counts, the least number of records.
        label : value or None, default=None
            Return only rules that predict this label.
        attribute : str or None, default=None
            Return only rules that test this attribute.
        leaves_only : bool, default=False
            Whether to leave out sub-rules.
        sort : {"certainty", "confidence", "support", "tree"}, default="certainty"
            The order. "certainty" is the least confidence that the noise allows, because noise makes
            small rules look sure, or the least effect; "tree" is the forest's own order.
        """
        from frith.forest.rules import select_rules

        return select_rules(
            self,
            min_confidence=min_confidence,
            min_support=min_support,
            label=label,
            attribute=attribute,
            leaves_only=leaves_only,
            sort=sort,
        )

    def draw(
        self, path: str | Path | None = None, *, tree: int | None = 0, max_depth: int | None = None
    ) -> Svg:
        """A tree as SVG, or with `tree=None` all trees at a glance; written to an .svg or .png.

        By default a tree is drawn as deep as stays readable; `max_depth` counts splits.
        """
        from frith.forest.draw import draw, draw_forest, write

        if path is not None:
            return write(self, path, tree, max_depth)
        return draw_forest(self) if tree is None else draw(self, tree, max_depth)

    def importances(self, *, errors: bool = False) -> Any:
        """What each attribute's splits tell, as shares of their sum; only attributes that are asked.

        Of counts, the mean decrease of Gini impurity, negative counts as zero; of scores, the squares
        of how far splits move them apart, every leaf weighing the same. A pandas Series in the domain's
        order, from releases alone; all zeros where no split gains anything. Noise looks like gain, so
        attributes that many nodes split on look more important. With `errors`, a DataFrame with a
        rough standard error from the noise, which treats the splits and the sum as fixed and claims
        no coverage, and whether the importance is over it.
        """
        from frith.forest.importance import importances

        return importances(self, errors=errors)

    def effects(self) -> Effects:
        """What all trees add up to, attribute by attribute and value by value; for scores only.

        Curves and heat maps (`draw`), or data frames (`to_frame`, `pairs_to_frame`), centered and
        weighted by public weights: each value counts alike. So they cost no budget. Their
        bands state the noise and claim no coverage, since scores have no true value.
        """
        from frith.forest.effects import Effects

        return Effects(self)

    def explain(self, X: Any, label: Value | None = None) -> Any:
        """What each attribute adds to each record's prediction; for forests of scores only.

        A pandas DataFrame with a row for each record: a column `(base)` and one for each attribute.
        A row adds up to the logarithm of the odds of `label` by `predict_proba`, by default those
        of the second of two labels. For more labels it adds up to the logarithm of a label's probability
        less the mean of these logarithms; without a `label` columns have two levels, label first.
        If the label is a number, a row adds up to that number before it is clipped, or, on a log
        scale, to its natural logarithm: the exponential of a contribution is a factor.

        What several attributes add together is split evenly between them: Shapley values under
        public weights, by which every value of a category and every interval of a number counts alike.

        Exact numbers about X: the guarantee covers the forest, and not a private X. A table of
        contributions is as private as the records it explains.
        """
        from frith.forest.explaining import explain

        return explain(self, X, label)

    # -- files and words -----------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | ({"origin": self.origin.to_json()} if self.origin else {})

    @classmethod
    def from_json(cls, data: Any) -> Self:
        forest = super().from_json(data)
        origin = data.get("origin")
        return forest if origin is None else replace(forest, origin=Origin.from_json(origin))

    def save(self, path: str | Path) -> None:
        """Write one JSON file."""
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        return cls.from_json(read_file(path))

    def to_onnx(self) -> ModelProto:
        """The forest as an ONNX model. Needs the `onnx` extra.

        Each attribute is an input [N, 1] of its own name (with "_" added where the name is
        that of an output): text as string, whole numbers and booleans (0 and 1) as int64, other
        numbers as double. A missing value is "" in text, NaN in doubles and -2**63 in integers,
        unless that is a declared value. Its outputs are `label` [N], and `probabilities` [N, K] in
        domain order; a label that no ONNX number holds is spelled as text. If the label is a number,
        the one output is `label` [N], that number as double, in the label's own unit.

        A runtime that computes in double precision gives the labels of `predict` and the
        probabilities of `predict_proba`. It needs memory for records times trees, so large tables
        go in batches. The metadata hold the guarantee and the domain's fingerprint.
        """
        from frith.forest.onnx.model import onnx_model

        return onnx_model(self)

    def export_text(self, tree: int | None = None, max_depth: int | None = None) -> str:
        """One tree (from 0) or all as indented text: conditions, and what was counted or is scored.

        Support is the sum of a leaf's label counts, ± a margin that holds for all nodes in 95 of 100
        forests. A leaf whose label comes "from above" predicts from a node on its path, as the vote
        defines. A score moves the odds of a label by a factor, and noise is one standard deviation.
        Branches deeper than `max_depth` are shown as one line.
        """
        from frith.forest.text import forest_text

        return forest_text(self, tree, max_depth)
