"""A domain in a notebook: every declared fact, escaped, and what to look at."""

import pandas as pd

from frith import Categorical, Date, Domain, Numeric, Ordered, Person, draft_domain

DOMAIN = Domain(
    [
        Categorical("<b>ward</b>", ("north", "a & b", "other"), other="other", missing="north"),
        Numeric("income", 0, 1e6, scale="log", missing=True),
        Date("seen", "2020-01-01", "2024-12-31"),
        Ordered("school", ("none", "primary", "secondary")),
        Categorical("place", tuple(f"p{i}" for i in range(60))),
    ],
    Categorical("outcome", ("well", "ill")),
    records=12_960,
    person=Person("patient", 3),
    learned=True,
)


def test_a_notebook_shows_what_is_declared():
    html = DOMAIN._repr_html_()
    for said in (
        "0 to 1e+06, log scale", "2020-01-01 to 2024-12-31", "none &lt; primary &lt; secondary",
        "&lt;b&gt;ward", "a &amp; b", "p11 and 48 more", "over 50 values", "12,960", "at most 3 records",
        "a code of its own", "drafted from the records",
    ):  # fmt: skip
        assert said in html
    assert "<b>" not in html


def test_a_draft_shows_its_hints_and_what_it_left_out():
    table = pd.DataFrame({"n": range(30), "size": [1.5, 2.5, 9.25] * 10, "y": ["a", "b", "c"] * 10})
    html = draft_domain(table, "y")._repr_html_()
    assert "bounds are from the data, rounded" in html
    assert "left out: &#x27;n&#x27;, looks like an identifier" in html
