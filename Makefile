# make demo        everything, from an empty machine to a report       make demo ARGS=--me   with you as the participant
# make test        style, types and the quick tests (minutes)          make test-all         also kills, soaks and servers
# make setup       only the set-up                                     make test-servers     tiny chat models (compiles, the first time)
# make style       only style and types                                make lint             the same, and types for Windows and macOS
# make bench       speed, measured here                                make docs             the site, build/site/index.html, from documents and code
# make measure     coverage and size of intervals and tests, anew (hours), and long soaks; ARGS=.1: a tenth of the samples
# make clean       remove what these made, except data
# Every target sets up what it needs; a second run starts at once.

# One more than the cores of a small machine: some tests wait for real time, such as those at a window.
PYTEST_WORKERS ?= 3
ARGS ?=

.PHONY: help setup demo lint style test test-all test-servers docs bench measure clean

help:
	@sed -n '1,/^$$/s/^# //p' Makefile

setup:
	@scripts/setup.sh

demo:
	@scripts/setup.sh demo
	@.venv/bin/spanlab demo $(ARGS)
	@echo "Now yours: .venv/bin/spanlab app opens a page on which you take trials, and machines take the same ones."

lint: style
	@checks=; for system in Windows Darwin; do \
		.venv/bin/python scripts/unchanged.py .venv/.types-$$system '*.py' '*.pyi' pyproject.toml constraints.txt -- \
			.venv/bin/pyright -p scripts/platform_types.json --pythonplatform $$system & checks="$$checks $$!"; done; \
		faults=0; for check in $$checks; do wait $$check || faults=1; done; exit $$faults

# style and types on this system: what the quick tests begin with
style: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/python scripts/unchanged.py .venv/.types '*.py' '*.pyi' pyproject.toml constraints.txt -- .venv/bin/pyright
	@.venv/bin/python scripts/page_tools.py check

# While one core checks style and types, the other collects the tests once, which compiles them: the workers then begin at once, and not each with this.
# Files are kept together on one worker, so that what a file sets up once is set up once; the longest come first (tests/longest.py).
# Each process calculates with one thread: several of each would wait for one another. What was compiled is kept, also where the environment says otherwise:
# hundreds of programs are started.
# The tests run also when style or types have a fault, and either makes the target fail; pytest's closing lines are the last.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 .venv/bin/python -m pytest
TESTS = @faults=0; $(PYTEST) --collect-only -q >/dev/null 2>&1 & $(MAKE) --no-print-directory $(CHECKS) || faults=1; wait; $(PYTEST) -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder

test: CHECKS = style
test: setup
	$(TESTS) $(ARGS) && exit $$faults

test-all: CHECKS = lint
test-all: setup
	$(TESTS) --hypothesis-profile=others -m "not servers and not soak" $(ARGS) && exit $$faults

# Real chat servers, each in an environment of its own under the user's cache folder, which is kept.
test-servers: setup
	@.venv/bin/python tests/servers/install.py
	@.venv/bin/python -m pytest -m servers tests/servers $(ARGS)

# First what documents have from the code, then the paradigms' pages with trials to take, then the papers' pages, whose sessions are kept in runs/, so that a second run makes them at once; then the site.
docs: setup
	@.venv/bin/python scripts/docs.py
	@.venv/bin/python scripts/paradigm_pages.py
	@.venv/bin/spanlab reproduce worm -o docs/reproduction/worm --data runs/reproduction
	@.venv/bin/spanlab reproduce nback -o docs/reproduction/nback --data runs/reproduction
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

bench: setup
	@.venv/bin/python benchmarks/run.py $(ARGS)

# Long soaks, then simulations with known truth, seeds fixed: what docs/measurements.md says of intervals and tests.
measure: setup
	@$(PYTEST) -m soak
	@.venv/bin/python benchmarks/wordings.py
	@.venv/bin/python benchmarks/wordings_intervals.py
	@.venv/bin/python benchmarks/populations.py
	@.venv/bin/python benchmarks/null_pages.py
	@.venv/bin/python benchmarks/coverage.py $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
