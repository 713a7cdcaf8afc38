# Everything here needs a Python of 3.11 or newer and make; the rest goes into .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(RUN) pip -qq
INSTALL_LOCKED := $(PIP) install --require-hashes --only-binary :all: -r
CODE := $(wildcard conftest.py src tests proofs bench tools examples)

# uv reads the pins that stand in its output file, so it works on copies of ours.
LOCKS := build/lock
COMPILE := $(RUN) uv -q pip compile pyproject.toml --universal --python-version 3.11 --all-extras \
	--generate-hashes --no-header --no-annotate --group build --group test
COMPILE_GROUP = $(RUN) uv -q pip compile --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate --group
LOCK_FILES := requirements.lock requirements-dev.lock requirements-fuzz.lock requirements-deep.lock \
	requirements-peers.lock
RELOCK = mkdir -p $(LOCKS) && cp $(LOCK_FILES) $(LOCKS)/ && \
	$(COMPILE) -o $(LOCKS)/requirements.lock && \
	$(COMPILE) --group dev -c $(LOCKS)/requirements.lock -o $(LOCKS)/requirements-dev.lock && \
	$(COMPILE_GROUP) fuzz -o $(LOCKS)/requirements-fuzz.lock && \
	$(COMPILE_GROUP) deep -o $(LOCKS)/requirements-deep.lock && \
	$(COMPILE_GROUP) peers -o $(LOCKS)/requirements-peers.lock

# An editable install points at a folder by its full name.  In a copied or moved checkout it would
# go on using the old one, so such an environment is made anew.
ifneq ($(shell cat $(VENV)/.here 2>/dev/null),$(CURDIR))
$(shell rm -f $(VENV)/.locked)
endif

# What the long fuzzing needs is not compatible with what PauseMesh needs, so it has a place of its own.
FUZZ := build/fuzz
PEERS := build/peers

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check lint format format-check types imports coverage docs reference \
	lock lock-check proof-quick fuzz-quick bench bench-more bench-peers mutation clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(firstword $(MAKEFILE_LIST)) | \
	  while IFS='	' read -r name what; do printf '  make %-13s %s\n' "$$name" "$$what"; done

# ---- what to run

demo: $(VENV)/.ready ## set up, then show one question survive, be answered once and be carried out once
	@$(RUN) pausemesh demo

test: $(VENV)/.ready ## set up, then run the tests
	@$(RUN) pytest

check: ## everything below that judges: lint, format, types, imports, tests with coverage, docs, locks
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory format-check
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory imports
	@$(MAKE) --no-print-directory docs
	@$(MAKE) --no-print-directory lock-check
	@$(MAKE) --no-print-directory coverage

lint: $(VENV)/.dev ## ruff, with every rule that is not excused in pyproject.toml
	@$(RUN) ruff check $(CODE)

format: $(VENV)/.dev ## rewrite the code in the one format, and repair what ruff can
	@$(RUN) ruff check --fix-only --quiet $(CODE)
	@$(RUN) ruff format $(CODE)

format-check: $(VENV)/.dev ## fail where `make format` would change something
	@$(RUN) ruff format --check $(CODE)

types: $(VENV)/.dev ## mypy, strict
	@$(RUN) mypy $(CODE)

imports: $(VENV)/.ready ## the rings: imports point inward
	@$(BIN)/lint-imports --no-cache --no-logo

coverage: $(VENV)/.ready ## the tests again, with every branch of core and service taken
	@mkdir -p build/coverage
	@$(RUN) coverage erase
	@$(RUN) coverage run -m pytest
	@$(RUN) coverage combine --quiet
	@$(RUN) coverage report
	@$(RUN) coverage report --include='src/pausemesh/core/*,src/pausemesh/service/*' \
	  --fail-under=100 --precision=2

docs: $(VENV)/.dev ## build the documentation into site/; a dead link fails
	@# --clean empties .cache, so that nothing else here keeps anything in it
	@$(RUN) zensical build --strict --clean

reference: $(VENV)/.ready ## write the pages and pictures that are made from the code
	@$(RUN) tools

lock: $(VENV)/.dev ## write all lock files again from pyproject.toml, keeping the pins that fit
	@$(RELOCK)
	@for file in $(LOCK_FILES); do cmp -s $(LOCKS)/$$file $$file || cp $(LOCKS)/$$file .; done

lock-check: $(VENV)/.dev ## fail where `make lock` would change something
	@$(RELOCK)
	@for file in $(LOCK_FILES); do diff -u $$file $(LOCKS)/$$file || exit 1; done

proof-quick: $(VENV)/.ready ## the long proofs, some twenty minutes: kills, crash images, races, claims, retries, HTTP, PostgreSQL, rules
	@$(RUN) proofs --quick

fuzz-quick: $(VENV)/.ready $(FUZZ)/.ready ## five thousand requests to the interface, and a minute of fuzzing for each parser
	@$(RUN) proofs.fuzz interface --tool $(FUZZ)/bin/schemathesis
	@PYTHONPATH=$(FUZZ)/guided $(RUN) proofs.fuzz parsers

bench: $(VENV)/.ready ## measure SQLite, and PostgreSQL beside pgbench, in some five minutes, as ratios inside one run
	@$(RUN) bench

bench-more: $(VENV)/.ready ## the same over HTTP, and with a million pending questions on PostgreSQL
	@$(RUN) bench --only http --only http_postgres --only growth

bench-peers: $(VENV)/.ready $(PEERS)/.ready ## the same cycle beside LangGraph and DBOS, which get an environment of their own
	@$(RUN) bench --only peers --peers $(PEERS)/bin/python
	@$(PEERS)/bin/python -m bench.peer_programs.chart

mutation: $(VENV)/.dev ## change the core line by line and see the tests notice
	@$(RUN) mutmut run
	@$(RUN) mutmut results

clean: ## remove everything that can be made again
	@rm -rf $(VENV) .cache .hypothesis build dist mutants site
	@find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- how it is set up, each step once

$(VENV)/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "PauseMesh needs Python 3.11 or newer. With another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "This Python cannot make environments. On Debian or Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
	@echo "setting up $(VENV), once; it takes about 20 seconds"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL_LOCKED) requirements.lock
	@echo '$(CURDIR)' > $(VENV)/.here
	@touch $@

$(VENV)/.ready: pyproject.toml $(VENV)/.locked
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.ready
	@$(INSTALL_LOCKED) requirements-dev.lock
	@touch $@

$(FUZZ)/.ready: requirements-fuzz.lock requirements-deep.lock $(VENV)/.locked
	@$(PYTHON) -m venv --clear $(FUZZ)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(FUZZ)/bin/python -m pip -qq install --require-hashes --only-binary :all: \
	  -r requirements-fuzz.lock
	@$(INSTALL_LOCKED) requirements-deep.lock --target $(FUZZ)/guided
	@touch $@

$(PEERS)/.ready: requirements-peers.lock $(VENV)/.locked
	@$(PYTHON) -m venv --clear $(PEERS)
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(PEERS)/bin/python -m pip -qq install --require-hashes --only-binary :all: \
	  -r requirements-peers.lock
	@touch $@
