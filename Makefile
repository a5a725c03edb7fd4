PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test test-slow lint format bench bench-exact bench-records bench-vectors bench-scale clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e ".[plot,sparse,test,lint]"
	@touch $(STAMP)

demo: install
	$(BIN)/lookalike demo --overwrite

test: install
	$(BIN)/pytest

test-slow: install
	$(BIN)/pytest -m slow

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/languages.py

bench-exact: install
	$(BIN)/python benchmarks/numbering.py
	$(BIN)/python benchmarks/methods.py

bench-vectors: install
	$(BIN)/python benchmarks/vectors.py

bench-records: install
	$(BIN)/python benchmarks/records.py

bench-scale: install
	$(BIN)/python benchmarks/scale.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis lookalike-demo
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
