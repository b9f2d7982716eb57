# Each target makes what it needs; nothing has to be installed first but Python 3.10 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

.PHONY: help reproduce test lint format clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-11s %s\n", $$1, $$2}'

reproduce: $(STAMP) ## Train both arms on the embedded corpus; print BLEU by length, draw the figure
	$(BIN)/python scripts/reproduce.py

test: $(STAMP) ## Run the tests
	$(BIN)/python -m pytest -n auto

lint: $(STAMP) ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## Mend what style checks can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and caches; keeps data/ and outputs/
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Stamped with a file, so that a second call does not reinstall.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)
