# Two commands do all set-up: `make demo` runs the main job on a bundled robot, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

comma := ,
CC_GIVEN := $(filter environment command%,$(origin CC))
# a machine without a C compiler gets one from PyPI
COMPILER := $(if $(or $(CC_GIVEN),$(shell command -v cc || command -v gcc || command -v clang)),,$(comma)compiler)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: install demo test test-all lint types layers fuzz sanitize oldest newest audit kills wheel clean

install: $(VENV)/.installed

# the package with its plots, for the demonstration; kernels of a robot are compiled when it is first used
$(VENV)/.package: pyproject.toml hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[plot$(COMPILER)]'
	touch $@

# all that the tests need, with the kernels of the bundled robots
$(VENV)/.installed: $(VENV)/.package
	$(PIP) --editable '.[test$(COMPILER)]'
	$(BIN)/python tools/prebuild_kernels.py --bundled
	touch $@

# what a few tests need, which are skipped without it
$(VENV)/.peers: $(VENV)/.installed
	$(PIP) --editable '.[test,peers$(COMPILER)]'
	touch $@

ROBOT ?= stiff_flop
TESTS ?= -m 'not slow'

demo: $(VENV)/.package
	@mkdir -p out
	$(BIN)/pliant check $(ROBOT)
	$(BIN)/pliant show $(ROBOT)
	$(BIN)/pliant equilibrium $(ROBOT)
	$(BIN)/pliant modes $(ROBOT)
	$(BIN)/pliant simulate $(ROBOT) --until 2 --save-every 0.01 --out out/$(ROBOT).nc
	$(BIN)/pliant picture $(ROBOT) --out out/$(ROBOT).png
	$(BIN)/pliant run stiff_flop@circling --out out/stiff_flop
	@echo
	@echo "Report: out/stiff_flop/report.html (a soft module in motion; open it in a browser, no network needed)."
	@echo "Results: out/$(ROBOT).nc (motion; read it with pliant.load_result) and out/$(ROBOT).png (picture)."
	@echo "Another robot: make demo ROBOT=trunk. All of them: $(BIN)/pliant models"

lint: install
	$(BIN)/ruff check src tests benchmarks examples docs tools hatch_build.py
	$(BIN)/ruff format --check src tests benchmarks examples docs tools hatch_build.py

types: install
	$(BIN)/mypy

# which folder may import from which: the contracts are in pyproject.toml
layers: install
	$(BIN)/lint-imports

# Two workers on two cores: linear algebra that starts threads of its own only gets in their way. Each takes half of the files in a
# row, so that what a file's tests share is made once, and bytecode is kept, for the many processes that tests start. Types are
# checked meanwhile, on one core, and said at the end.
test: lint layers
	@said=$$(mktemp); $(BIN)/mypy > $$said 2>&1 & types=$$!; \
	OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist worksteal $(TESTS); tested=$$?; \
	wait $$types; checked=$$?; cat $$said; rm $$said; exit $$((tested + checked))

# with the slow tests, and those that need other engines, frameworks or a browser
test-all: TESTS =
test-all: $(VENV)/.peers test

MINUTES ?= 10
TARGET ?= all
SEED ?= 1

# damaged models, robots, expressions, drawings, results, FMUs, recordings and command lines; failures go to tests/fuzz/corpus, which `make test` replays
fuzz: install
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tools $(BIN)/python tests/fuzz/fuzz.py --minutes $(MINUTES) --target $(TARGET) --seed $(SEED)

ENGINE ?= tests/engine tests/parts/contact tests/analysis/motion tests/gradient

# tests of the engine with the C runtime under AddressSanitizer and UndefinedBehaviorSanitizer, compiled into out/sanitize
sanitize: install
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/sanitize.py $(ENGINE)

# the dependencies at their lower bounds, or at their newest versions; another Python: make newest PYTHON=python3.13 (network)
oldest newest:
	$(PYTHON) tools/test_versions.py $@ --python $(PYTHON)

# known vulnerabilities of the versions that are installed (network); a package that cannot be looked up is an error
audit: install
	$(PIP) pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/versions.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip --requirement $(VENV)/versions.txt

# two hundred kills of everything that writes files
kills: install
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/kill_test.py

# a wheel for release: with kernels of the kinds that ship prebuilt, which takes minutes the first time
wheel: install
	$(BIN)/python tools/prebuild_kernels.py
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf src/pliant/engine/binary $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache
