# Two commands do everything: `make demo` and `make test`. Set-up lives in .venv and is re-used.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SMALL := $(VENV)/.demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Without bytecode files every process compiles all that it imports again: seconds each, and tests start many.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests lint style types coverage pythons prove peers accuracy scoreboard compare attack bench docs setup java chromium clean

$(SMALL): pyproject.toml
	@echo "setting up $(VENV) for the demo (once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --no-compile --editable '.[data,plot]'
	@touch $(SMALL)

$(READY): $(SMALL)
	@echo "setting up $(VENV) for tests and everything else (once)"
	@$(PIP) --editable '.[dev]'
	@touch $(READY)

setup: $(READY)

demo: $(SMALL)  ## train private forests on a real table and draw accuracy against epsilon
	@$(BIN)/frith demo

java:  ## for the Spark tests; they are skipped by name where it is missing
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
		apt-get install -y -qq default-jre-headless; } || \
		echo "no Java: Spark tests are skipped; apt-get install default-jre-headless"

chromium:  ## for the browser tests; they are skipped by name where it is missing
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
		echo "no Chromium: browser tests are skipped; apt-get install chromium"

# mypy takes the time that tests leave. Loops are compiled once, not by every process that starts without them.
test: style java chromium  ## everything CI checks, in minutes
	@$(MAKE) --no-print-directory -j2 types tests

tests: $(READY)
	$(BIN)/frith warm
	$(BIN)/python -m pytest -n 3 --dist loadgroup --durations=10

lint: style types

style: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	nice -n 5 $(BIN)/mypy

coverage: $(READY)  ## the share of src/frith that tests run in their own processes
	$(BIN)/python -m pytest -n 3 --dist loadgroup --cov=frith --cov-report=term:skip-covered

pythons: $(READY)  ## a small test on each other Python that is claimed and can be found
	$(BIN)/python benchmarks/pythons.py

prove: peers  ## every claim at full size; resumes where it stopped, writes docs/measured.md
	$(BIN)/python benchmarks/prove.py

peers: $(READY)  ## other people's private learners, to measure against
	@$(PIP) --editable '.[bench]'

accuracy: $(READY)  ## the flagship against the peers; resumes, writes docs/results/accuracy.*
	$(BIN)/python benchmarks/accuracy.py

scoreboard: $(READY)  ## the flagship on every classification table; says how long, resumes, writes docs/results/scoreboard.*
	$(BIN)/python benchmarks/scoreboard.py

compare: peers  ## all our learners and other people's on the same folds; resumes, writes docs/results/peers.*
	$(BIN)/python benchmarks/peers.py

attack: $(READY)  ## other people's attacks on our forests and on others'; resumes, writes docs/results/attacks.*
	$(BIN)/python benchmarks/attacks.py

bench: $(READY)  ## speed against limits and peers
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/levels.py

docs: $(READY)  ## the guide as a site, in site/; its pictures are drawn from what was measured
	$(BIN)/python benchmarks/guide_figures.py
	$(BIN)/python benchmarks/draw_rooms.py
	$(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

clean:
	rm -rf $(VENV) $(VENV)-3.* .attacks .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output site
