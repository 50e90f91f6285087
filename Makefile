# make demo   builds the bundled sample collection with the lean core (no torch, no Java)
# make test   installs everything and runs all checks: lint, types, imports, tests
# make lint   the checks without the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported; compiling all of it takes pip longer than the rest of the installation.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

.PHONY: demo test lint machine

demo: $(VENV)/lean
	$(BIN)/quati-pool demo
	@echo "The command is $(BIN)/quati-pool; after  . $(BIN)/activate  it is quati-pool."

# One thread of torch and FAISS for each of the two processes: more only wait for each other.
# The files in the order of their names: xdist's own order keeps those of few tests, often slow ones, to the end,
# where one process waits for the other; the last by name, tests/text, are quick.
test: $(VENV)/all machine lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder

lint: $(VENV)/all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Says which parts of the test run this machine cannot do, and why.
machine: $(VENV)/all
	@$(BIN)/python tests/machine.py

$(VENV)/lean: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "quati-pool needs Python 3.11 to 3.13: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/all: $(VENV)/lean
	$(INSTALL) -e '.[all,dev]'
	$(BIN)/python -m pip check
	touch $@
