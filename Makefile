# Each target makes what it needs; nothing has to be installed first but Python 3.10 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
DEV := $(VENV)/installed-dev
DOCS := $(VENV)/installed-docs
# compat: a path entry, so that a clone called seq2seq is found from the folder above it, too.
# Modules are compiled when they are first imported, also where the environment forbids it: fewer
# megabytes, and a faster installation.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat
# On Linux, PyPI has PyTorch with gigabytes of CUDA; without an NVIDIA GPU, the index of PyTorch is
# asked first for the one without. TORCH_INDEX= takes that of PyPI, or gives another index.
TORCH_INDEX ?= $(shell test "$$(uname)" = Linux && ! command -v nvidia-smi > /dev/null && echo https://download.pytorch.org/whl/cpu)

COMPARE := $(BIN)/python scripts/compare.py
FIGURE2_CPU := outputs/figure2-cpu/*/seed-1/evaluations
LIMITS := outputs/figure2-cpu/no-attention-*/seed-1/evaluations

.PHONY: help install dev reproduce study docs test lint format clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-11s %s\n", $$1, $$2}'

install: $(STAMP) ## Make the environment in .venv: source .venv/bin/activate

dev: $(DEV) ## Add what tests and style checks need

reproduce: $(STAMP) ## Train both systems on the embedded corpus; print BLEU by length, draw the figure
	$(BIN)/python scripts/reproduce.py

study: $(STAMP) ## Train what docs/study.md reports, hours of it, and write its results; needs FIGURE2="corpus.directory=..."
	@test -n '$(FIGURE2)' || { echo 'error: make study needs the text, as docs/study.md says: make study FIGURE2="corpus.directory=europarl test_texts.newstest2014=newstest/newstest2014"'; exit 1; }
	$(BIN)/python scripts/reproduce.py experiment=figure2 scale=cpu $(FIGURE2)
	for set in test test_all newstest2014; do \
	  $(COMPARE) "evaluations=[$(FIGURE2_CPU)/$$set-beam5]" baseline=no-attention-50 'baselines={attention-30:no-attention-30}' output=docs/results/figure2-cpu-$$set-beam5 || exit 1; done
	for set in test test_all; do \
	  $(COMPARE) "evaluations=[$(LIMITS)/$$set-beam5]" baseline=no-attention-50 output=docs/results/figure2-cpu-$$set-beam5-limits || exit 1; done
	$(BIN)/python scripts/reproduce.py experiment=bottleneck_width
	$(COMPARE) 'evaluations=[outputs/bottleneck_width/*/seed-*/evaluations/test-beam5]' baseline=width-64 'baselines={with-attention-256:width-256,width-256:width-64}' output=docs/results/bottleneck_width-test-beam5
	$(BIN)/python scripts/reproduce.py experiment=controls $(CONTROLS)
	for set in test_2016_flickr test_2017_flickr; do \
	  $(COMPARE) "evaluations=[outputs/controls/*/seed-1/evaluations/$$set-beam5]" baseline=fixed 'baselines={attention-forward:fixed-forward,fixed-forward:fixed,init-only-forward:fixed-forward,init-only-backward:init-only-forward}' output=docs/results/controls-$$set-beam5 || exit 1; done

docs: $(DOCS) ## Build the pages of docs/ into site/, and check their links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

test: $(DEV) ## Run the tests
	$(BIN)/python -m pytest -n auto

lint: $(DEV) ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV) ## Fix what the style checks can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and caches; keeps data/ and outputs/
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Stamped with files, so that a second call does not reinstall.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(PIP) --no-deps --retries 1 --timeout 15 --index-url $(TORCH_INDEX) torch || echo 'Installing the PyTorch of PyPI instead.')
	$(PIP) -e .
	touch $(STAMP)

$(DEV): $(STAMP)
	$(PIP) -e '.[dev]'
	touch $(DEV)

$(DOCS): $(STAMP)
	$(PIP) -e '.[docs]'
	touch $(DOCS)
