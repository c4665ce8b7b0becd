"""An estimator in a notebook: its parameters, and what it released once it is fitted."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any

from frith._markup import Html, card, lines, table
from frith.forest.notebook import forest_body
from frith.privacy.budget import Budget
from frith.privacy.promise import amounts


def estimator_html(model: Any) -> str:
    """The parameters that were set; then the price of a fit, or the forest that came of one."""
    name = type(model).__name__
    forest = getattr(model, "forest_", None)
    if forest is None:
        return card(f"{name}, not fitted", _parameters(model), lines(_price(model)))
    receipt = () if model.receipt_ is None else (lines(model.receipt_),)
    return card(f"{name}, fitted", _parameters(model), forest_body(forest), *receipt)


def _parameters(model: Any) -> Html:
    defaults = inspect.signature(type(model)).parameters
    rows = [
        (name, _short(value))
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults[name].default)
    ]
    return table(("parameter", "value"), rows) if rows else lines("all parameters are the defaults")


def _short(value: Any) -> str:
    shorten = reprlib.Repr()
    shorten.maxother = 120  # a domain's own text
    return shorten.repr(value)


def _price(model: Any) -> str:
    try:
        budget = Budget.of(model.epsilon, model.delta)
    except (TypeError, ValueError):
        return "epsilon and delta are not legal; fit will say why"
    if budget.is_exact:
        return "a fit gives exact counts, and no guarantee"
    return f"a fit costs {amounts(budget.epsilon, budget.delta)}"
