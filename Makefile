# Every target does its own set-up: `make demo` and `make test` work in a fresh clone.
# PYTHON chooses the interpreter (3.11 or later); VENV the folder of the environment.
PYTHON ?= python3
VENV ?= .venv
# The newest interpreter that the package is declared for, if there is one.
WHEEL_PYTHON ?= $(firstword $(shell python3.13 -c 'import sys; print(sys.executable)' 2>/dev/null) $(wildcard $(HOME)/.pyenv/versions/3.13*/bin/python) $(PYTHON))
BIN := $(VENV)/bin
CONSTRAINTS = $(shell $(PYTHON) -c 'import sys; print("constraints/python3.11.txt" if sys.version_info < (3, 12) else "constraints/python3.12.txt")')
PIP_INSTALL = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)
PYTEST = $(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder
QUICK := tests/evaluate tests/distributions tests/draws tests/posterior tests/test_specs.py tests/test_trees.py tests/test_registered.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rooms test-level test-quick lint types docs wheel bench constraints clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.core: pyproject.toml $(wildcard constraints/*.txt)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "symbayes needs Python 3.11 or later; set PYTHON=...")'
	@echo "setting up $(VENV) (once; about a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the development tools into $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	@$(PIP_INSTALL) --editable '.[bench]'
	@touch $@

setup: $(VENV)/.dev  ## make the environment with the development tools

demo: $(VENV)/.core  ## draw from a real posterior on the embedded digits and write a page
	@$(BIN)/symbayes demo

test: $(VENV)/.dev test-rooms test-level  ## run all tests

test-rooms: $(VENV)/.dev  ## run the tests of every room
	@$(PYTEST) -m 'not level'

test-level: $(VENV)/.dev  ## run what a compiler could break, compiled as users compile it
	@SYMBAYES_COMPILER=default $(PYTEST) -m level tests/conformance tests/engine tests/posterior/numerics

test-quick: $(VENV)/.dev  ## run the quickest tests, in less than two minutes
	@$(PYTEST) $(QUICK)

lint: $(VENV)/.dev  ## style, formatting, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo

types: $(VENV)/.dev  ## static types
	@$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.docs  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel:  ## build a wheel, and use it from a new environment (WHEEL_PYTHON chooses the interpreter)
	@PYTHON=$(WHEEL_PYTHON) docs/examples/new_environment.sh

bench: $(VENV)/.bench  ## side-by-side speed, as ratios measured in one run
	@$(BIN)/python -m benchmarks

constraints:  ## choose the exact versions anew (needs uv)
	@./constraints/update

clean:  ## remove environments and caches
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .import_linter_cache .jax_cache site
