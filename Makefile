# One command each; every one prepares what it needs and does nothing twice.
#
#   make install   .venv with the locked packages and the command .venv/bin/odf
#   make run       a repository on local disk with the example datasets, at http://127.0.0.1:8080 (PORT=… for another)
#   make notebook  the tutorial's notebook, run against what `make run` started in another terminal
#   make check     format, lint, types, architecture, style ratchet, fast tests: under three minutes
#   make test      everything: make check's checks and the slow tests too
#   make bench     the benchmarks, results in benchmarks/results/
#   make lock      write requirements/*.txt anew (UPGRADE=1: to the newest versions)
#   make clean     remove what was built (not var/, where data lies)

PORT ?= 8080
HOST ?= 127.0.0.1
VAR ?= var
PY := .venv/bin/python
INPUTS := pyproject.toml $(wildcard distributions/*/pyproject.toml) tools/bootstrap.sh tools/java.sh requirements/uv.txt
STATIC_PATHS := opendatafabric storage catalog sync pipeline verify repo_server cli odf_client distributions tests examples benchmarks tools

.PHONY: install install-dev run notebook check lint fast-tests test-nodes test bench lock clean help
.DEFAULT_GOAL := help

help:
	@sed -n '3,10s/^#   //p' Makefile

install: .venv/.installed-run
	@echo "installed: .venv/bin/odf"

.venv/.installed-run: $(INPUTS) requirements/run.txt
	@echo "installing into .venv ..."
	@tools/bootstrap.sh run
	@touch $@

install-dev: .venv/.installed-dev

# The development lock is the run lock and more, with the same versions.
.venv/.installed-dev: $(INPUTS) requirements/dev.txt
	@echo "installing into .venv, with the tools for development ..."
	@tools/bootstrap.sh dev
	@touch $@ .venv/.installed-run .venv/.installed-notebook

run: .venv/.installed-run
	@exec $(PY) examples/run.py --host $(HOST) --port $(PORT) --var $(VAR)

.venv/.installed-notebook: $(INPUTS) requirements/notebook.txt
	@echo "installing what notebooks need into .venv ..."
	@tools/bootstrap.sh notebook
	@touch $@

notebook: .venv/.installed-notebook
	@$(PY) examples/notebooks/run.py --repo http://$(HOST):$(PORT) --out $(VAR)/notebooks $(NOTEBOOKS)

lint: .venv/.installed-dev
	@$(PY) -m ruff format --check --quiet $(wildcard $(STATIC_PATHS)) || { echo "run: .venv/bin/ruff format ."; exit 1; }
	@$(PY) -m ruff check --quiet $(wildcard $(STATIC_PATHS))
	@$(PY) -m mypy
	@.venv/bin/lint-imports --no-cache

fast-tests: .venv/.installed-dev
	@$(PY) -m pytest -q -n 2 --dist loadgroup -m "not slow"

check: lint fast-tests

# Programs of others that tests talk to. What cannot be had here, the tests skip and say why.
test-nodes:
	@for build in tools/*_node.sh tools/*_server.sh; do $$build >/dev/null || true; done

test: lint test-nodes
	@$(PY) -m pytest -n 2 --dist loadgroup $(PYTEST_ARGS)

bench: .venv/.installed-dev
	@$(PY) -m benchmarks

lock: .venv/.installed-dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH" tools/lock.sh

clean:
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
