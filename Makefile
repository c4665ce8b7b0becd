# Two commands do everything: `make demo` and `make test`. Set-up lives in .venv and is re-used.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint prove bench setup clean

$(READY): pyproject.toml
	@echo "setting up $(VENV) (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

setup: $(READY)

demo: $(READY)  ## train private forests on a real table and draw accuracy against epsilon
	@$(BIN)/frith demo

test: lint  ## everything CI checks, in minutes
	$(BIN)/python -m pytest -n 2 --durations=5

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

prove: $(READY)  ## every claim at full size; resumes where it stopped, writes docs/proof.md
	$(BIN)/python benchmarks/prove.py

bench: $(READY)  ## speed against limits and peers
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/levels.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .prove demo-output
