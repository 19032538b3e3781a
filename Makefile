# make demo | test | lint | bench | slow | parity | clean. Needs Python 3.11 or later; PYTHON=... chooses one.
# WORKERS=... processes share out the tests, each on its part of the cores.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile

# Bytecode is kept, or each of some thousand processes would compile the same modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint bench slow parity clean
.NOTPARALLEL:  # each would install into the one environment at once

# Where the environment's Python is gone, or has become another version: everything is installed anew.
ifneq ($(wildcard $(VENV)/pyvenv.cfg),)
FOUND := $(shell { $(BIN)/python -c 'import os, sysconfig; print(os.path.isdir(sysconfig.get_path("purelib")))'; } 2>/dev/null)
ifneq ($(FOUND),True)
CLEAR := --clear
.PHONY: $(BIN)/python $(VENV)/.run $(VENV)/.test $(VENV)/.lint $(VENV)/.parity
endif
endif

demo: $(VENV)/.run
	$(BIN)/truedraw generate --compare --seed 7 --temperature 0.7 --max-tokens 200 --chat \
	  "Tell me a short story about a lighthouse keeper who talks to the sea."

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --max-worker-restart 0 -m "not slow and not parity and not interrupts"
	$(BIN)/python -m pytest -m "interrupts and not slow and not parity" $$(grep -rl --include="test_*.py" "mark.interrupts" tests | sort)

lint: $(VENV)/.lint
	$(BIN)/ruff check src tests tools attacks
	$(BIN)/ruff format --check src tests tools attacks
	MYPY_NUM_WORKERS=$(WORKERS) $(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.run
	$(BIN)/truedraw bench

slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

parity: $(VENV)/.parity
	$(BIN)/python -m pytest -m parity

clean:
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "truedraw needs Python 3.11 or later; name one with make PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(CLEAR) $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[test,lint]'
	@touch $@ $(VENV)/.test $(VENV)/.run

$(VENV)/.parity: pyproject.toml | $(VENV)/.test
	$(INSTALL) -e '.[reference]'
	@touch $@
