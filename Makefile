# Each target makes what it needs; nothing has to be installed first but Python 3.10 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

# The study's systems, @ for what is wanted of each, and where they are compared.
PAIR30 := outputs/figure2-cpu/no-attention-30@,outputs/figure2-cpu/attention-30@
PAIR50 := outputs/figure2-cpu/no-attention-50@,outputs/figure2-cpu/attention-50@
LIMITS := outputs/figure2-cpu/no-attention-50@,outputs/figure2-cpu/no-attention-30@
COMPARED := outputs/figure2-cpu/comparison
PUBLISH := $(BIN)/python scripts/publish.py document=docs/study.md

.PHONY: help install reproduce study test lint format clean

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-11s %s\n", $$1, $$2}'

install: $(STAMP) ## Make the environment in .venv: source .venv/bin/activate

reproduce: $(STAMP) ## Train both systems on the embedded corpus; print BLEU by length, draw the figure
	$(BIN)/python scripts/reproduce.py

study: $(STAMP) ## Train what docs/study.md reports, hours of it, and write its results; needs FIGURE2="corpus.directory=..."
	@test -n '$(FIGURE2)' || { echo 'error: make study needs the text, as docs/study.md says: make study FIGURE2="corpus.directory=europarl test_texts.newstest2014=newstest/newstest2014"'; exit 1; }
	$(BIN)/python scripts/reproduce.py experiment=figure2 scale=cpu $(FIGURE2)
	$(BIN)/python scripts/compare.py 'evaluations=[$(subst @,/seed-1/evaluations/test-beam5,$(LIMITS))]' output=$(COMPARED)/test-beam5-limits
	$(BIN)/python scripts/compare.py 'evaluations=[$(subst @,/seed-1/evaluations/test_all-beam5,$(LIMITS))]' output=$(COMPARED)/test_all-beam5-limits
	$(PUBLISH) 'comparisons=[$(COMPARED)/test-beam5,$(COMPARED)/test_all-beam5,$(COMPARED)/newstest2014-beam5,$(COMPARED)/test-beam5-limits,$(COMPARED)/test_all-beam5-limits]' \
	  'details=[$(COMPARED)/test-beam5,$(COMPARED)/test_all-beam5]' 'places=[$(COMPARED)/test-beam5]' \
	  'table_1={newstest2014:[$(subst @,/seed-1/evaluations/newstest2014-beam5,$(PAIR30),$(PAIR50))]}' \
	  'curves={figure2-30:[$(subst @,/seed-1,$(PAIR30))],figure2-50:[$(subst @,/seed-1,$(PAIR50))]}' \
	  'runs={figure2-30:[$(subst @,/seed-1,$(PAIR30))],figure2-50:[$(subst @,/seed-1,$(PAIR50))]}'
	$(BIN)/python scripts/publish.py 'summaries=[$(COMPARED)/test-beam5]'
	$(BIN)/python scripts/reproduce.py experiment=bottleneck_width
	$(PUBLISH) 'comparisons=[outputs/bottleneck_width/comparison/test-beam5]'
	$(BIN)/python scripts/reproduce.py experiment=controls $(CONTROLS)
	$(PUBLISH) 'comparisons=[outputs/controls/comparison/test_2016_flickr-beam5,outputs/controls/comparison/test_2017_flickr-beam5]'

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
