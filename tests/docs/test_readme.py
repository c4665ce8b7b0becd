"""The README's code runs as it stands."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
DOMAINS = (Path(__file__).parents[2] / "docs" / "domains.md").read_text()


def test_python_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert len(blocks) >= 2
    said = capsys.readouterr()
    assert "epsilon=1" in said.out
    assert "about your records" not in said.err  # a new user would look for a mistake
    assert (tmp_path / "forest.json").exists()
    assert names["Ledger"]("budget.db").remaining == names["left"].remaining == 0


def test_the_documented_domain_is_legal():
    from frith import Domain

    (text,) = re.findall(r"```toml\n(.*?)```", DOMAINS, flags=re.DOTALL)
    domain = Domain.from_toml(text)
    assert domain.names == ("ward", "age", "income", "admitted", "pain")
    assert domain.person.records == 3


@pytest.mark.parametrize("page", re.findall(r"\]\((docs/[^)]+|[A-Z]+\.md)\)", README))
def test_links_lead_somewhere(page):
    assert (Path(__file__).parents[2] / page).exists()
