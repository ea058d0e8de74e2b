# Every target sets up what it needs; python3 (3.11 or later) and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test quick coverage docs lint verify bench wheels clean

help: ## Show the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 16

# The kernels are compiled by the installation, and again when their sources change.
KERNELS := src/oddarm/kernels
LIBRARY := $(KERNELS)/_native.so

$(LIBRARY): $(wildcard $(KERNELS)/*.c $(KERNELS)/*.h) tools/compile_kernels.py | $(STAMP)
	@$(BIN)/python tools/compile_kernels.py

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("oddarm needs Python 3.11 or later, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (once; about a minute)"
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

# What builds wheels for other systems is large, and nothing else needs it.
WHEEL_TOOLS := $(VENV)/.wheel-tools

$(WHEEL_TOOLS): constraints.txt | $(STAMP)
	@$(PIP) install --quiet --constraint constraints.txt hatchling ziglang auditwheel
	@touch $@

demo: $(LIBRARY) ## Find the routes that are late unlike the rest, in real flights, and draw the answer.
	@mkdir -p out
	@$(BIN)/oddarm find flights --plot out/demo.html
	@echo "Next, a table: $(BIN)/oddarm scan examples/requests.csv --arm host --reward timed_out --min-gap 0.15"

lint: $(LIBRARY) ## ruff, mypy --strict, clang-format, and which way imports point.
	@$(BIN)/ruff check src tests reproduction verification benchmarks examples tools hatch_build.py
	@$(BIN)/ruff format --check src tests reproduction verification benchmarks examples tools hatch_build.py
	@$(BIN)/clang-format --dry-run --Werror $(KERNELS)/*.c $(KERNELS)/*.h benchmarks/*.c
	@$(BIN)/mypy
	@$(BIN)/mypy tests/typing
	@said=$$($(BIN)/lint-imports --no-cache) || { echo "$$said"; exit 1; }

test: lint $(WHEEL_TOOLS) ## Everything that must hold: lint, tests, doctests of code and documentation.
	@sh tools/install_postgres.sh
	@sh tools/install_chromium.sh
	@sh tools/install_axe.sh
	@$(BIN)/python -m pytest -q -n auto --doctest-modules src reproduction tests README.md docs

quick: $(LIBRARY) ## The tests without servers and without those that take long.
	@$(BIN)/python -m pytest -q -n auto -m "not slow and not server" tests

# Without our own plugin: pytest would load it, and oddarm, before lines are counted.
coverage: $(LIBRARY) ## The tests once more, with a look at which lines they reach.
	@$(BIN)/python -m pytest -q -n auto -p no:oddarm.integrations.pytest_flaky --cov --cov-report=term:skip-covered --doctest-modules src reproduction tests

docs: $(LIBRARY) ## The documentation site into out/site, with the notebooks run and every link checked.
	@$(BIN)/python -m tools.build_docs

verify: $(LIBRARY) ## Statistical verification: error rates over many runs (slower).
	@$(BIN)/python -m verification

bench: $(LIBRARY) ## Speed, as ratios measured side by side.
	@$(BIN)/python -m benchmarks

wheels: $(WHEEL_TOOLS) ## Wheels for Linux, macOS and Windows into dist/, each checked.
	@$(BIN)/python tools/build_wheels.py

clean: ## Remove the environment and everything made.
	rm -rf $(LIBRARY) $(VENV) .cache .coverage out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
