"""A forest in a notebook. All of it is released, so saving it leaks nothing."""

from __future__ import annotations

from frith._markup import Html, card, join, lines
from frith.forest.voting import VotingTrees
from frith.privacy.notebook import guarantee_body


def forest_html(forest: VotingTrees) -> str:
    return card("Forest", forest_body(forest))


def forest_body(forest: VotingTrees) -> Html:
    """What it is, what it promises, and where the budget went."""
    return join([lines(forest.summary), guarantee_body(forest.guarantee)])
