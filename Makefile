# One .venv serves every target; it is made once and remade only when pyproject.toml or constraints.txt change.
.POSIX:

PYTHON = python3
BIN = .venv/bin
READY = .venv/.ready

.PHONY: help setup demo test test-slow lint docs clean

help:
	@echo "make demo       pull the local model, index a small corpus, compile a program, ask two questions (minutes)"
	@echo "make test       every test but the slow one; pulls the small model for the end-to-end test"
	@echo "make test-slow  the test that runs the 1.5B model"
	@echo "make lint       ruff, import-linter, pyright"
	@echo "make docs       write docs/cli.md again from the commands' own --help"
	@echo "make clean      remove .venv, caches and the demo's index (never programs/ or runs/)"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "disco-dspy needs Python 3.11 or newer; say which one to use: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[local,dev]"
	@touch $(READY)

demo: $(READY)
	PATH="$$PWD/$(BIN):$$PATH" sh data/demo/run.sh

test: $(READY)
	$(BIN)/disco models pull embedded-small minilm
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(READY)
	$(BIN)/disco models pull embedded minilm
	$(BIN)/python -m pytest -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

docs: $(READY)
	$(BIN)/python -m disco_dspy.cli.docs docs/cli.md

clean:
	rm -rf .venv .disco/demo build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find signatures disco_dspy optimize tests -name __pycache__ -type d -prune -exec rm -rf {} +
