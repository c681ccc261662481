# Two commands do all set-up: `make demo` runs the main job on a bundled robot, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test lint types clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

demo: install
	$(BIN)/pliant check four_bar
	$(BIN)/pliant show four_bar

lint: install
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: install
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest -n 2

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache
