"""Lists of rules: filtered, sorted, written out, and used as a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from frith import _markup as markup
from frith._cached import cached_property
from frith._csv import table
from frith.domain import Categorical, Value, spelling
from frith.forest.kinds import ValueKind, refuse_number
from frith.forest.nodes import HEADINGS, Nodes, Rule, printable
from frith.forest.voting import VotingTrees, find_speakers

FORMAT = "frith-rules/2"
SORTS = ("certainty", "confidence", "support", "tree")
_PRINTED = 20  # rules in `str()` of a list

# -- lists of rules ----------------------------------------------------------------------------


class RuleList(Sequence[Rule]):
    """Rules of one forest, in order; each is built when it is accessed."""

    def __init__(self, nodes: Nodes, chosen: NDArray[np.int64]):
        self.nodes, self.chosen = nodes, chosen

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleList: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        if isinstance(index, slice):
            return RuleList(self.nodes, self.chosen[index])
        return self.nodes.rule(int(self.chosen[index]))

    @property
    def headings(self) -> tuple[str, str]:
        """What the cells of its rules are called."""
        return HEADINGS[self.nodes.kind]

    @property
    def note(self) -> str:
        """What its figures mean, in a sentence."""
        return NOTES[self.nodes.kind]

    def classifier(self) -> RuleClassifier:
        """A classifier made of these rules and no others."""
        return RuleClassifier(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row for each rule."""
        import pandas as pd

        rules = list(self)
        return pd.DataFrame(
            {
                "rule": [rule.text for rule in rules],
                "label": [rule.label for rule in rules],
                **{name: values[self.chosen] for name, values in self.nodes.figures.items()},
                "is_leaf": self.nodes.forest.trees.attribute[self.chosen] < 0,
                "tree": self.nodes.tree[self.chosen],
                "node": self.chosen,
            }
        )

    def to_csv(self) -> str:
        """The same as a CSV file. A text that a spreadsheet would evaluate has an apostrophe before it."""
        return table(self.to_frame())

    def to_markdown(self) -> str:
        """A Markdown table with one row for each rule."""
        label = _cell(printable(self.nodes.forest.domain.label.name))
        lines = [f"| rule | {label} | {' | '.join(self.headings)} |", "|---|---|--:|--:|"]
        for rule in self:
            said = _cell(printable(spelling(rule.label)))
            lines.append(f"| {_cell(rule.text)} | {said} | {' | '.join(rule.cells)} |")
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the guarantee that covers it."""
        forest = self.nodes.forest
        return {
            "format": FORMAT,
            "kind": self.nodes.kind.value,
            "note": self.note,
            "label": forest.domain.label.to_json(),
            "guarantee": forest.guarantee.to_json(),
            "rules": [rule.to_json() for rule in self],
        }

    def __str__(self) -> str:
        more = len(self) - _PRINTED
        lines = [str(rule) for rule in self[:_PRINTED]]
        return "\n".join(lines + ([f"... and {more:,} more"] if more > 0 else [])) or "no rules"

    def _repr_html_(self) -> str:
        rows = [(r.text, printable(spelling(r.label)), *r.cells) for r in self[:_PRINTED]]
        head = ("if", f"then {printable(self.nodes.forest.domain.label.name)}", *self.headings)
        more = len(self) - _PRINTED
        rest = [f"{more:,} more; to_frame() has all"] if more > 0 else []
        shown = markup.table(head, rows, (2, 3)) if rows else markup.lines("no rules")
        return markup.card(f"{len(self):,} rules", shown, markup.lines(self.note, *rest))

    def __repr__(self) -> str:
        return f"<RuleList: {len(self):,} rules of {self.nodes.forest!r}>"


NOTES = {
    ValueKind.COUNTS: (
        "Counted in the table. Intervals are 95%: all of them hold at once in 95 of 100 such forests."
    ),
    ValueKind.SCORES: (
        "The model's opinion, not counted: each tree multiplies the odds of labels by such factors. "
        "Noise is the range of one standard deviation."
    ),
}


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def select_rules(
    forest: VotingTrees,
    *,
    min_confidence: float | None = None,
    min_support: float | None = None,
    label: Value | None = None,
    attribute: str | None = None,
    leaves_only: bool = False,
    sort: str = "certainty",
) -> RuleList:
    """The rules of a forest that pass every filter; see `Forest.rules`."""
    nodes, domain = Nodes(forest), forest.domain
    refuse_number(domain, "rules")
    if nodes.kind is ValueKind.SCORES:
        asked = {
            "min_confidence": min_confidence is not None,
            "min_support": min_support is not None,
        }
        asked |= {"sort": sort in ("confidence", "support")}
        _refuse([name for name, is_asked in asked.items() if is_asked])
    kept = (nodes.tree >= 0) & nodes.told
    if min_confidence is not None:
        kept &= nodes.confidence >= min_confidence
    if min_support is not None:
        kept &= nodes.support >= min_support
    if label is not None:
        assert isinstance(domain.label, Categorical)  # a number has no rules by label
        kept &= nodes.label == _find("label", spelling(label), domain.label.codes)
    if attribute is not None:
        places = {name: j for j, name in enumerate(domain.names)}
        kept &= nodes.asks(_find("attribute", attribute, places))
    if leaves_only:
        kept &= forest.trees.attribute < 0
    chosen = np.flatnonzero(kept)
    return RuleList(nodes, chosen[_order(nodes, chosen, sort)])


def _refuse(names: list[str]) -> None:
    if names:
        raise ValueError(
            f"{' and '.join(names)} asked for confidence or support, and this forest holds scores: no "
            "records were counted; filter by label or attribute, or have rules counted (measure_rules)"
        )


def _find(what: str, wanted: str, known: dict[str, int]) -> int:
    if wanted not in known:
        shown = ", ".join(map(repr, [*known][:12])) + (", ..." if len(known) > 12 else "")
        raise ValueError(f"the forest has no {what} {wanted!r}; it has {shown}")
    return known[wanted]


def _order(nodes: Nodes, chosen: NDArray[np.int64], sort: str) -> NDArray[np.intp]:
    """The best first; of equally good rules the larger first, then in the forest's order."""
    if sort not in SORTS:
        raise ValueError(f"rules are sorted by {', '.join(SORTS)}; not by {sort!r}")
    if sort == "tree":
        return np.argsort(nodes.tree[chosen], kind="stable")
    by = {"certainty": nodes.certainty} | nodes.figures
    size = nodes.figures.get("support", nodes.certainty)
    return np.lexsort((-size[chosen], -by[sort][chosen]))


# -- rules as a classifier ---------------------------------------------------------------------


class RuleClassifier:
    """Judges records by the rules that were kept; equals the forest where none was dropped.

    Each tree predicts from the deepest kept rule that covers a record and, of counts, has a positive
    one; a tree without one abstains. Trees then vote as the forest does:

    shares     those rules' label shares, summed over trees
    weighted   each of those rules' labels, weighted by its share
    confident  the kept rule of highest share that covers the record
    counts     the record's leaves' counts, summed; a leaf whose rule was dropped has its support
               divided by the shares of the sub-rule that it predicts from, since counts of nodes
               of different depth do not compare
    product    those rules' scores, summed over trees

    A record on which all trees abstain gets the label shares of the whole forest.
    """

    def __init__(self, rules: RuleList):
        self.rules = rules
        self.labels = rules.nodes.forest.domain.label_values
        self._judge = _judge(rules)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each record."""
        return self._judge.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The label probabilities of each record, one row each, in the order of `labels`."""
        return self._judge.predict_proba(X)

    def __repr__(self) -> str:
        return f"<RuleClassifier: {len(self.rules):,} rules>"


@dataclass(frozen=True, eq=False, repr=False)
class _Judge(VotingTrees):
    """A forest that knows only some of its nodes, and falls back on what the whole one knew."""

    fallback: NDArray[np.float64] = None  # type: ignore[assignment]

    @cached_property
    def label_weights(self) -> NDArray[np.float64]:
        return self.fallback


def _judge(rules: RuleList) -> _Judge:
    """Dropped nodes lose their counts, so that the vote falls back on the nodes above them."""
    forest = rules.nodes.forest
    kept = np.zeros(forest.trees.n_nodes, dtype=bool)
    kept[rules.chosen] = True
    values = np.where(kept[:, None], forest.values, 0).astype(np.float64)
    if forest.kind is ValueKind.SCORES:
        values = values[_deepest(forest, kept)]
    if forest.vote == "counts":
        above = replace(forest, values=values, vote="shares")
        leaves = forest.trees.leaves
        size = np.maximum(rules.nodes.support[leaves, None], 0)
        spoken = above.node_shares[above.speakers] * size
        values[leaves] = np.where(kept[leaves, None], values[leaves], spoken)
    return _Judge(
        forest.domain, forest.trees, values, forest.guarantee, forest.variance, forest.vote,
        fallback=forest.label_weights,
    )  # fmt: skip


def _deepest(forest: VotingTrees, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The deepest kept node on the path to each node, or its root."""
    trees, speaker = forest.trees, np.arange(forest.trees.n_nodes, dtype=np.int32)
    widths = trees.widths(forest.domain)
    find_speakers(trees.first_child, widths, kept.astype(np.float64), False, speaker)
    return speaker
