# Targets install what they need into .venv. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-dev
PEERS := $(VENV)/.installed-bench
WARM := $(VENV)/.rules-compiled
PORT ?= 8765
PROCESSES ?= 2

.PHONY: help lab demo test slow check bench soak yardstick sensitivity robustness hints hint-study pocket negotiators experts memory dropout tournament self-play policy-designer designer-evaluation designers scales docs notebooks clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

lab: $(WARM)  ## serve both games on http://127.0.0.1:8765 and open a browser, until Ctrl-C (PORT=…, FLAGS=--no-browser)
	@echo "edgeworth: starting the server; sessions are kept in runs/sessions.sqlite."
	@$(BIN)/edgeworth serve --port $(PORT) --warm llm --quiet --browser $(FLAGS)

demo: $(WARM)  ## play a commented bargaining episode and one step of a market
	@echo "edgeworth: one bargaining episode, played and explained."
	@$(BIN)/edgeworth demo
	@echo
	@echo "edgeworth: one step of a market: five sales with all types of bidders."
	@$(BIN)/edgeworth market --stage 4 --steps 1

test: $(WARM) check  ## lint, type checks and the quick test suite
	@echo "edgeworth: running the tests in $(PROCESSES) processes (PROCESSES=… for another number); eight to twelve minutes."
	@$(BIN)/python -m pytest -q -m "not slow" -n $(PROCESSES) --dist loadfile --durations 10

slow: $(WARM)  ## the slow tests: whole learning runs, a million mechanisms, long runs of every partner
	@echo "edgeworth: running the slow tests in $(PROCESSES) processes; up to half an hour."
	@$(BIN)/python -m pytest -v -m slow -n $(PROCESSES) --durations 10

check: $(STAMP)  ## lint, format and type checks
	@echo "edgeworth: checking style and types."
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(WARM) $(PEERS)  ## measure the speed of games, training, language model, server and page; writes results/bench_*.json
	@echo "edgeworth: measuring the environments, the trainers, the language model and the server; this takes about half an hour."
	@$(BIN)/python -m benchmarks.env --seed 0 --repeats 7 --out results/bench_env.json
	@$(BIN)/python -m benchmarks.market --seed 0 --repeats 7 --out results/bench_market.json
	@$(BIN)/python -m benchmarks.train --seed 0 --out results/bench_train.json
	@$(BIN)/python -m benchmarks.exact --out results/bench_exact.json
	@$(BIN)/python -m benchmarks.llm --seed 0 --repeats 5 --out results/bench_llm.json
	@$(BIN)/python -m benchmarks.grpo --seed 0 --steps 3 --out results/bench_grpo.json
	@$(BIN)/python -m benchmarks.server --seed 0 --repeats 5 --out results/bench_server.json
	@$(BIN)/python -m benchmarks.sweep --seed 0 --out results/bench_sweep.json
	@$(BIN)/python -m benchmarks.scaling --out results/scaling.json
	@command -v chromium >/dev/null && $(BIN)/python -m benchmarks.page --repeats 7 --out results/bench_page.json || echo "edgeworth: Chromium is missing; the page is not measured."

soak: $(WARM)  ## run sessions for 25 minutes amid kills, restarts, outages and hostile clients; writes results/soak*.json
	@echo "edgeworth: testing three workers on SQLite and on PostgreSQL, ten minutes each, then one worker for five."
	@$(BIN)/python -m benchmarks.soak --seed 0 --minutes 10 --out results/soak.json
	@$(BIN)/python -m benchmarks.soak --seed 0 --minutes 10 --store postgresql --out results/soak_postgresql.json
	@$(BIN)/python -m benchmarks.soak --seed 0 --minutes 5 --kills 40 --restarts 8 --outages 8 --workers 1 --out results/soak_alone.json

yardstick: $(WARM)  ## compute the reference scores of both games; writes results/yardstick_*.json and .png
	@echo "edgeworth: computing the reference scores; this takes about half an hour."
	@$(BIN)/edgeworth yardstick --exact --out results/yardstick_bargaining.json --figure results/yardstick_bargaining.png
	@$(BIN)/edgeworth yardstick --game auction --seed 0 --out results/yardstick_auction.json --figure results/yardstick_auction.png --model-episodes 60

sensitivity: $(WARM)  ## measure how each field of a mechanism changes the score; writes results/sensitivity_auction.json and .png
	@echo "edgeworth: varying each field of a mechanism; this takes some minutes."
	@$(BIN)/edgeworth sensitivity --seed 0 --out results/sensitivity_auction.json --figure results/sensitivity_auction.png

robustness: $(WARM)  ## test which conclusions hold under other market constants; writes results/robustness_auction.json and .png
	@echo "edgeworth: halving and doubling the market's constants; this takes about twenty minutes."
	@$(BIN)/edgeworth robustness --seed 0 --out results/robustness_auction.json --figure results/robustness_auction.png

hints: $(WARM)  ## measure the hints of every provider; writes results/hints_measure.json and .png
	@echo "edgeworth: measuring hints; this takes some minutes."
	@$(BIN)/edgeworth hints measure --seed 0 --out results/hints_measure.json --figure results/hints_measure.png

pocket: $(WARM)  ## measure the bundled language model on unseen contexts; writes results/pocket.json and its card
	@echo "edgeworth: measuring the pocket model; this takes some minutes."
	@$(BIN)/edgeworth pocket evaluate --negotiations 700 --markets 60 --onto-card --out results/pocket.json

hint-study: $(WARM)  ## train agents with every kind of hint and with none; writes results/hint_study.json and .png
	@echo "edgeworth: collecting the pocket model's hints, then training 270 agents; this takes about three hours on two cores, most of it for the language model."
	@for scenario in lewis one_shot classic; do $(BIN)/edgeworth hints fill --scenario $$scenario --cache runs/hint_replies.sqlite || exit 1; done
	@$(BIN)/edgeworth study hints --out results/hint_study.json --figure results/hint_study.png

negotiators: $(WARM)  ## train and compare negotiators, five seeds each; writes results/negotiators.json and .png
	@echo "edgeworth: training negotiators; this takes about half an hour on two cores."
	@$(BIN)/edgeworth study negotiators --out results/negotiators.json --figure results/negotiators.png

experts: $(WARM)  ## train the bundled experts, one per scenario; writes results/experts.json
	@echo "edgeworth: training the bundled experts; this takes about ten minutes on two cores."
	@$(BIN)/edgeworth study experts --bundle src/edgeworth/checkpoints/experts --out results/experts.json

memory: $(WARM)  ## train agents that remember, and the bundled generalist; writes results/memory.json and .png
	@echo "edgeworth: training agents that remember; this takes somewhat more than an hour on two cores."
	@$(BIN)/edgeworth study memory --bundle src/edgeworth/checkpoints/experts --out results/memory.json --figure results/memory.png

dropout: $(WARM)  ## train agents with hints that stop; writes results/dropout.json
	@echo "edgeworth: training agents with and without dropout of hints; this takes about two minutes."
	@$(BIN)/edgeworth study dropout --out results/dropout.json

tournament: $(WARM)  ## play every negotiator against every other, with networks of three training seeds; writes results/tournament.json and .png
	@echo "edgeworth: training the networks with two further seeds, about half an hour on one core, then playing for about five minutes."
	@$(BIN)/edgeworth study learners
	@$(BIN)/edgeworth tournament --seed 0 --episodes 2000 --trained runs/learners --out results/tournament.json --figure results/tournament.png

self-play: $(WARM)  ## train self-play agents and best responses to them; writes results/self_play.json and .png
	@echo "edgeworth: training self-play agents with and without a pool of past selves, and best responses; this takes about half an hour."
	@$(BIN)/edgeworth self-play --out results/self_play.json --figure results/self_play.png --bundle src/edgeworth/checkpoints/self_play

policy-designer: $(WARM)  ## train the policy designer on one core, some 15 minutes; writes checkpoints/policy and results/policy_designer.json
	@$(BIN)/edgeworth designer policy --out runs/policy --bundle src/edgeworth/checkpoints/policy --result results/policy_designer.json

designer-evaluation: $(WARM)  ## measure trained designers against their targets; writes results/designers.json and .png; hours for language models (FLAGS="--before … --after …")
	@$(BIN)/edgeworth designer evaluate $(FLAGS) --out results/designers.json --figure results/designers.png

designers: $(WARM)  ## compute every bundled mechanism, schedule, forecast and the library of compositions; more than an hour
	@echo "edgeworth: searching for the best constants and schedules, fitting the adaptive designer, building the library of compositions."
	@$(BIN)/edgeworth designer bundle --seed 1

scales: $(WARM)  ## measure the constants that standardise market features; needed after a change of the rules
	@echo "edgeworth: measuring scores and proxies under random mechanisms."
	@$(BIN)/python -m edgeworth.envs.daedalus_features

docs: $(STAMP)  ## regenerate docs/cli.md, the tables and the list of modules, and build the documentation site into site/
	@echo "edgeworth: writing docs/cli.md, the tables of README and docs, and docs/architecture."
	@$(BIN)/python docs/write_cli.py
	@$(BIN)/python docs/write_tables.py
	@$(BIN)/python docs/write_architecture.py
	@echo "edgeworth: building the site; every link is checked. To read it: python -m http.server -d site"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

notebooks: $(STAMP)  ## turn every example into a notebook beside it
	@for example in examples/*.py; do $(BIN)/jupytext --quiet --to ipynb --output $${example%.py}.ipynb $$example || exit 1; done
	@echo "edgeworth: wrote examples/*.ipynb."

clean:  ## remove the environment, caches and compiled rules
	@echo "edgeworth: removing .venv, caches and compiled rules."
	@rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@echo "edgeworth: setting up $(VENV) (first time: some minutes)."
	@$(PYTHON) -c 'import sys; sys.exit("edgeworth: Python 3.11 to 3.13 is needed, this is " + sys.version.split()[0]) if not (3, 11) <= sys.version_info < (3, 14) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(PEERS): $(STAMP)
	@echo "edgeworth: installing the libraries that training is compared with."
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[dev,bench]'
	@touch $@

$(WARM): $(STAMP) $(shell find src -name '*.py')
	@echo "edgeworth: compiling the rules (cached for the next run)."
	@$(BIN)/python -m edgeworth.games.bargaining.warm_up
	@$(BIN)/python -m edgeworth.games.auction.warm_up
	@$(BIN)/python -m edgeworth.training.fused.warm_up
	@touch $@
