# One face for every job. A machine needs Python 3.11+, pip and make; all else lands in .venv.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rest test-all kills cases browser-tools spark-tools lint types check bench scale figures cuts peers docs clean

PYTHON ?= python3
BIN := .venv/bin

help:      ## show this list
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  make %-13s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## make .venv and install everything for development

# uv is several times faster where it exists; plain venv and pip do the same.
.venv/ready: pyproject.toml
	@echo "Setting up .venv (once, about a minute) ..."
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv -q --allow-existing --python "$(PYTHON)" .venv && uv pip install -q --python $(BIN)/python -e ".[dev]"; \
	else \
	  $(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]"; \
	fi
	@touch $@

demo: .venv/ready  ## mask a sample of census records and show what came out
	@$(BIN)/python examples/demo.py

test: .venv/ready  ## fast tests and doctests
	@$(BIN)/python -m pytest -q -n 2

test-rest: .venv/ready  ## the other tests: slow ones, real data, processes
	@$(BIN)/python -m pytest -q -n 2 -m "slow or data or net"

test-all: .venv/ready  ## every test
	@$(BIN)/python -m pytest -q -n 2 -m ""

kills: .venv/ready  ## owners and sites killed at a hundred moments, and in every window of the end
	@RETICENT_KILLS=100 $(BIN)/python -m pytest -q -n 2 -m "" tests/joint/test_kills.py tests/joint/test_windows.py tests/sites/test_sites_at_work.py -k "any_moment or window"

cases: .venv/ready  ## rewrite what tests/cases expect by what happens now, for review
	@RETICENT_REWRITE_CASES=1 $(BIN)/python -m pytest -q -n 2 tests/test_cases.py

browser-tools: .venv/ready  ## fetch what tests of report pages need besides Chromium (npm)
	@npm install --silent --no-save --no-audit --no-fund --prefix .venv/browser axe-core@4

spark-tools: .venv/ready  ## install what tests of Spark need besides Java (490 MB)
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install -q --python $(BIN)/python -e ".[spark]"; \
	else \
	  $(BIN)/python -m pip install -q --disable-pip-version-check -e ".[spark]"; \
	fi

lint: .venv/ready  ## style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: .venv/ready  ## static types
	@$(BIN)/mypy

check: lint types test-all  ## all that CI checks, besides the demo

bench: .venv/ready  ## speed and memory beside the floor of reading and writing the file
	@$(BIN)/python benchmarks/release_speed.py

figures: .venv/ready  ## the papers' experiments beside the papers' numbers; needs their data sets
	@$(BIN)/python benchmarks/figures/every.py

scale: .venv/ready  ## tables of up to 100 million rows beside copying them; 5 GB of disk
	@$(BIN)/python benchmarks/scale.py

cuts: .venv/ready  ## the searches beside each other, by the cuts that they find; needs the data sets
	@$(BIN)/python benchmarks/cuts.py

peers: .venv/ready .venv-peers/ready  ## the same job with other tools, side by side (benchmarks/peers)
	@$(BIN)/python benchmarks/peers/compare.py

# The peers pin versions of their own, so they get an environment of their own.
.venv-peers/ready: benchmarks/peers/requirements.txt
	@echo "Setting up .venv-peers (once) ..."
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install -q --disable-pip-version-check -r benchmarks/peers/requirements.txt
	@touch $@

docs: .venv/ready  ## rewrite the pages that are made from the commands' own help
	@$(BIN)/python docs/reference/make_commands.py

clean:     ## remove the virtual environment and caches
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis
