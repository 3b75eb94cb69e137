# What a developer and CI run. PYTHON chooses the interpreter of the virtual environment: make test PYTHON=python3.13
PYTHON ?= python3

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUN := .venv/.run.stamp
PACKAGE := .venv/.package.stamp
DEV := .venv/.dev.stamp
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(UPGRADE)

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench bench-recall faults test-llm lock clean

help:    ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 16

ifeq ($(DB),postgres)
demo: $(DEV)
	$(BIN)/python -m tests.demo_postgres
else
demo: $(PACKAGE)    ## see memory at work; no key, no network. DB=postgres: on a PostgreSQL of its own
	$(BIN)/perdure demo
endif

test: $(DEV)    ## every test but the long ones
	$(BIN)/pytest -n 2

check: $(DEV)    ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(DEV)    ## format the code and apply the safe fixes
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(DEV)    ## measure, and write benchmarks/results.json and the chart
	$(BIN)/python -m benchmarks

bench-recall: $(DEV)    ## measure what searches find; LOCOMO=locomo10.json: also in a copy of that data set
	LOCOMO="$(LOCOMO)" $(BIN)/python -m benchmarks --only recall --only locomo

faults: $(DEV)    ## the long runs of killed processes, full disks and cancellations
	$(BIN)/pytest tests/faults -m long

test-llm: $(DEV)    ## memory with a real model, fetched at first (1.1 GB); skipped where it can't be had
	$(BIN)/python -m tests.llm.provision
	$(BIN)/pytest tests/llm -m llm -rs

lock: $(DEV)    ## renew requirements/*.txt from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --group build --group test --group check --group bench --group lock -o requirements/dev.txt
	$(COMPILE) pyproject.toml --group build --constraint requirements/dev.txt -o requirements/run.txt
	echo xllamacpp | $(COMPILE) - -o requirements/llm.txt

clean:    ## remove what make made
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .postgres build dist

$(BIN)/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

# Each stamp is renewed only when its own file changes; the order is run.txt, the package itself, dev.txt.
$(RUN): requirements/run.txt | $(BIN)/python
	$(PIP) install --require-hashes -r $<
	@touch $@

$(PACKAGE): pyproject.toml | $(RUN)
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements/dev.txt | $(PACKAGE)
	$(PIP) install --require-hashes -r $<
	@touch $@
