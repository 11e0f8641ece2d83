# Every target makes .venv by itself. More options go through ARGS: make chaos ARGS="--seconds 120 --server redis-7.0"
# Written for GNU make 3.81, which macOS ships.

PYTHON ?=
ARGS ?=
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help venv demo up test lint format bench chaos corpus-report schemas docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## Make .venv, or bring it up to date after pyproject.toml changed

$(STAMP): pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" sh tools/venv.sh
	@touch $@

demo: $(STAMP) ## Watch streams go through, one of them broken, and an enforcer being killed
	$(BIN)/runwire demo $(ARGS)

up: $(STAMP) ## Run Valkey and every node on this machine until Ctrl-C
	$(BIN)/runwire up $(ARGS)

test: $(STAMP) ## Run all tests on every server this machine can have
	$(BIN)/python tools/servers.py
	$(BIN)/python tools/node.py
	$(BIN)/python -m pytest $(ARGS)

lint: $(STAMP) ## Check style, types, import rules and that generated files are current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/sizes.py
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python tools/generate.py --check

format: $(STAMP) ## Format, and fix what can be fixed without thinking
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Measure against the floor and against FastStream's own pipeline
	$(BIN)/runwire bench $(ARGS)

chaos: $(STAMP) ## Kill, pause and cut everything at random, then count what was lost
	$(BIN)/runwire chaos $(ARGS)

corpus-report: $(STAMP) ## Show what the recorded streams prove of every adapter; ARGS=--write puts it into docs/
	$(BIN)/python tools/corpus_report.py $(ARGS)

schemas: $(STAMP) ## Write schemas/json and the generated parts of docs/
	$(BIN)/python tools/generate.py

docs: schemas ## The same: the pages of docs/ are Markdown, only their tables are generated

clean: ## Remove .venv, caches and builds
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
