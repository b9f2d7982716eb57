# Each target makes what it needs; nothing has to be installed first but Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TORCH := $(VENV)/installed-torch
STAMP := $(VENV)/installed
DEV := $(VENV)/installed-dev
# With --no-compile, modules are compiled when they are first imported: the installation is smaller
# and faster. The empty variable allows this, even if the environment forbids it.
export PYTHONDONTWRITEBYTECODE :=
# With editable_mode=compat, the clone is an entry of Python's path. So the package is found even
# from the folder above a clone that is called seq2seq.
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat
# On Linux, the PyTorch of PyPI comes with gigabytes of CUDA. Without an NVIDIA GPU, PyTorch's own
# index is asked first for a build without CUDA. TORCH_INDEX=URL asks another index, and an empty
# TORCH_INDEX= takes the PyTorch of PyPI.
TORCH_INDEX ?= $(shell test "$$(uname)" = Linux && ! command -v nvidia-smi > /dev/null && echo https://download.pytorch.org/whl/cpu)
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup

EUROPARL := outputs/figure2
SAMPLE := data/europarl-study
TEXT := corpus.directory=$(SAMPLE)
GRAMMAR := outputs/quickstart

.PHONY: help install scoring dev reproduce attention no-attention answers study docs test test-all test-fast lint format clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-11s %s\n", $$1, $$2}'

install: $(STAMP) ## Make the environment in .venv: source .venv/bin/activate

scoring: ## Make a small environment in .venv, which scores and compares translations without PyTorch
	$(PYTHON) -m venv $(VENV)
	$(PIP) sacrebleu matplotlib jinja2 hydra-core pydantic jaxtyping tqdm filelock
	$(PIP) --no-deps -e .

dev: $(DEV) ## Add what tests and style checks need

reproduce: $(STAMP) ## Train both translators (about 15 minutes) and compare them by sentence length
	$(BIN)/python scripts/prepare.py
	$(MAKE) --jobs=2 attention no-attention
	$(BIN)/python scripts/reproduce.py

# Small batches gain little from a second core. So each system has one core, and a line of the
# terminal.
attention no-attention: export OMP_NUM_THREADS = 1
no-attention: export TQDM_POSITION = 1
attention no-attention: $(STAMP)
	$(BIN)/python scripts/train.py system=$@

answers: $(STAMP) ## Write the answers to the exercises, docs/exercises/answers.py
	$(BIN)/python docs/exercises/grade.py --answers

study: $(STAMP) ## Train the study again (28 hours of training on one core) and write its pages; TEXT=corpus.directory=DIR for its text in DIR
	test "$(TEXT)" != "corpus.directory=$(SAMPLE)" || $(BIN)/python study/sample.py $(SAMPLE)
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=opponent $(TEXT)
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=slots
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=longer
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=less_text
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=cram
	$(BIN)/python scripts/reproduce.py --config-dir=study experiment=middle
	$(BIN)/python study/same_content.py $(EUROPARL)/attention-50/seed-*/evaluations/test-beam5 \
	  $(EUROPARL)/no-attention-50/seed-*/evaluations/test-beam5
	$(BIN)/python study/cram.py $(foreach one,no-attention attention target-only,$(GRAMMAR)/$(one)/seed-1/evaluations/test-greedy)
	$(BIN)/python study/packed.py $(EUROPARL)/*/seed-*/evaluations/test-beam5 \
	  $(EUROPARL)/*/seed-*/evaluations/test-joined-*-beam5 \
	  $(foreach one,slots longer less_text middle,outputs/$(one)/*/seed-*/evaluations/test-beam5)
	$(BIN)/python study/report.py

docs: $(DEV) ## Write docs/settings.md, the list of all settings, and check the links of all pages
	$(BIN)/python docs/make_settings.py
	$(BIN)/python -m pytest -q tests/test_readme.py -k link

test-all: $(DEV) ## Run all tests, those of a new edition included
	$(PYTEST)

test: $(DEV) ## Run the tests that each change must pass
	$(PYTEST) -m 'not edition'

test-fast: $(DEV) ## Run the tests that take less than a second
	$(PYTEST) -m 'not edition and not slow'

lint: $(DEV) ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV) ## Fix what the style checks can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the virtual environment and caches; keeps data/ and outputs/
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Stamped with files, so that a second call does not reinstall.
$(TORCH): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(PIP) --no-deps --retries 1 --timeout 15 --index-url $(TORCH_INDEX) torch || echo 'Installing the PyTorch of PyPI instead.')
	touch $(TORCH)

$(STAMP): $(TORCH)
	$(PIP) -e .
	touch $(STAMP)

$(DEV): $(TORCH)
	$(PIP) -e '.[dev]'
	touch $(STAMP) $(DEV)
