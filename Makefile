# The first Python that is new enough; PYTHON=... chooses another.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for one in python3.11 python3.12 python3.13 python3; do \
  "$$one" -c "$(NEW_ENOUGH)" >/dev/null 2>&1 && echo "$$one" && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
KERNELS := src/lookalike/kernels
PACKS := $(KERNELS)/packs

# Tests run in several processes, one more than there are cores, since some of them wait for disks and other processes.
# They start faster if Python may keep its bytecode, and leave no core to further threads of matrix products.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(min(4, os.cpu_count()) + 1)")
PARALLEL := -n $(WORKERS) --dist worksteal
unexport PYTHONDONTWRITEBYTECODE
test: export OPENBLAS_NUM_THREADS = 1

.PHONY: install java demo test test-slow test-pythons test-benchmarks fuzz lint format docs docs-serve bench bench-exact bench-kinds bench-records bench-vectors bench-rivals bench-scale bench-memory bench-small bench-index bench-spark bench-server browser serve-demo clean

install: $(STAMP) $(PACKS)/.built

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer was found; install one, or use make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[plot,postgres,server,spark-connect,test,docs,lint]"
	@touch $(STAMP)

# Kernels compiled for this machine, and bytecode, so that the first command starts as fast as the next.
$(PACKS)/.built: $(STAMP) $(wildcard $(KERNELS)/*.py $(KERNELS)/pack/*.py)
	$(BIN)/python -m lookalike.kernels.pack.provide --here
	@$(BIN)/python -m compileall -q src/lookalike
	@touch $@

# Java 17 for --engine spark, where it is missing and may be installed.
java:
	@java -version 2>/dev/null || apt-get install -y --no-install-recommends openjdk-17-jre-headless || \
	  { echo "install Java 17 or newer, or set JAVA_HOME"; exit 1; }

demo: install
	$(BIN)/lookalike demo --overwrite

test: install
	$(BIN)/pytest $(PARALLEL)

# Tests that take minutes, and those of Hypothesis with ten times as many examples.
test-slow: install
	$(BIN)/pytest -m slow
	LOOKALIKE_EXAMPLES=400 $(BIN)/pytest $(PARALLEL) -m "hypothesis and not slow"

# The tests on every Python that is supported, each in a virtual environment of its own, .venv-VERSION.
VERSION := import sys; print('%d.%d' % sys.version_info[:2])
PYTHONS ?= python3.11 python3.12 python3.13
test-pythons:
	@for python in $(PYTHONS); do \
	  version=$$("$$python" -c "$(VERSION)") || { echo "$$python was not found; name others with PYTHONS=..."; exit 1; }; \
	  echo "Python $$version"; \
	  $(MAKE) test PYTHON="$$python" VENV=".venv-$$version" || exit 1; \
	done

test-benchmarks: install
	$(BIN)/pytest tests/benchmarks

# An hour of mutated files and random options; FUZZ_SEED=N for others, FUZZ_KEEP=DIR for the files of failed cases.
fuzz: export FUZZ_SECONDS ?= 3600
fuzz: install
	$(BIN)/pytest tests/fuzz -s

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, in .site; a broken link or a warning is an error.
docs: export NO_MKDOCS_2_WARNING = 1
docs: install
	$(BIN)/mkdocs build --quiet

docs-serve: export NO_MKDOCS_2_WARNING = 1
docs-serve: install
	$(BIN)/mkdocs serve

bench: install
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/languages.py

bench-exact: install
	$(BIN)/python benchmarks/methods.py

bench-vectors: install
	$(BIN)/python benchmarks/vectors.py

bench-records: install
	$(BIN)/python benchmarks/records.py
	$(BIN)/python benchmarks/words.py

# Link records of many kinds, and compare what is stated with what is true: KINDS="--only people", "--compare FILE".
bench-kinds: install
	$(BIN)/python benchmarks/kinds --save $(KINDS)

bench-rivals: install
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/cpp_joins.py

bench-scale: install
	$(BIN)/python benchmarks/scale.py

bench-memory: install
	$(BIN)/python benchmarks/memory.py

bench-small: install
	$(BIN)/python benchmarks/small.py

# The web page with the files of the demo in an index, and its clusters to review.
serve-demo: install
	$(BIN)/lookalike demo --overwrite --quiet
	rm -rf lookalike-demo-index
	$(BIN)/lookalike index create lookalike-demo-index 'lookalike-demo/kept/**/*.py' --store text --on-error skip --quiet
	(sleep 4; $(BIN)/python -m webbrowser -t http://127.0.0.1:8378/ >/dev/null 2>&1) &
	$(BIN)/lookalike serve lookalike-demo-index --run lookalike-demo

# A browser for the tests of the page, where it is missing and packages may be installed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { apt-get update && apt-get install -y chromium; } \
	  || echo "No browser could be installed: tests of the page will be skipped."

bench-server: install
	$(BIN)/python benchmarks/server.py --save

bench-spark: install
	$(BIN)/python benchmarks/spark.py

bench-index: install
	$(BIN)/python benchmarks/index.py

clean:
	rm -rf $(VENV) .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .site lookalike-demo lookalike-demo-index
	rm -rf $(PACKS)
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
