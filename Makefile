# Everything installs itself into .venv; each target says in a line what it does.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-dev
WARM := $(VENV)/.rules-compiled

.PHONY: help lab test check bench yardstick docs clean

help:  ## what there is to make
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

lab: $(WARM)  ## the lab: a commented bargaining episode in the terminal
	@echo "edgeworth: one bargaining episode, played and explained."
	@$(BIN)/edgeworth demo

test: $(WARM) check  ## lint, types and the whole quick test suite
	@echo "edgeworth: running the tests."
	@$(BIN)/python -m pytest -q -m "not slow"

check: $(STAMP)  ## lint, format and types
	@echo "edgeworth: checking style and types."
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(WARM)  ## speed against the plain environment, NumPy and OpenSpiel; writes results/bench_env.json
	@echo "edgeworth: measuring the environments; this takes some minutes."
	@$(BIN)/edgeworth bench env --seed 0 --repeats 7 --out results/bench_env.json

yardstick: $(WARM)  ## the reference table; writes results/yardstick_bargaining.json and .png
	@echo "edgeworth: computing the yardsticks."
	@$(BIN)/edgeworth yardstick --seed 0 --out results/yardstick_bargaining.json --figure results/yardstick_bargaining.png

docs: $(STAMP)  ## regenerate docs/cli.md from --help, and the tables from results/
	@echo "edgeworth: writing docs/cli.md and the tables of README and docs/speed.md."
	@$(BIN)/python docs/write_cli.py
	@$(BIN)/python docs/write_tables.py

clean:  ## remove the environment, caches and compiled rules
	@echo "edgeworth: removing .venv, caches and compiled rules."
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@echo "edgeworth: setting up $(VENV) (first time: about a minute)."
	@$(PYTHON) -c 'import sys; sys.exit("edgeworth: Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(WARM): $(STAMP) $(shell find src -name '*.py')
	@echo "edgeworth: compiling the rules (kept for next time)."
	@$(BIN)/python -m edgeworth.games.bargaining.warm_up
	@$(BIN)/python -m edgeworth.games.auction.warm_up
	@touch $@
