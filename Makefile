# Every chore has one door. `make demo` and `make test` do all the set-up they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2

.PHONY: demo serve test slow check prove prove-mutants crash mutants bench dist clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plot,data,onnx,server,client,dev]'
	@touch $@

demo: $(STAMP)  ## both main jobs on UCI Adult: publish a classifier, answer queries; writes out/demo.png
	$(BIN)/pcqr demo --out out

serve: $(STAMP)  ## a release and a model on UCI Adult, served on this machine with a page; what out/serve has is used again
	$(BIN)/pcqr serve --demo

# A worker has one core: a second thread of its linear algebra would take that of its neighbour.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test: $(STAMP)  ## every test that is not marked slow
	$(PYTEST) -m "not slow"

slow: $(STAMP)  ## the tests that are marked slow: long runs, which continuous integration makes after the others
	$(PYTEST) -m slow

check: $(STAMP)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

prove: $(STAMP)  ## check the theorems of checked/ with Coq, and compare their definitions with the code (needs coq, see checked/README.md)
	$(BIN)/python -m checked.prove

prove-mutants: $(STAMP)  ## wrong constants, dropped terms: does a theorem of checked/ still prove?
	$(BIN)/python -m checked.mutants

crash: $(STAMP)  ## kill processes that answer from a ledger, and servers, over 350 times in SQLite and 150 in PostgreSQL: is anything lost?
	PYTHONPATH=tests $(BIN)/python -m support.crashes
	PYTHONPATH=tests $(BIN)/python -m support.release_crashes
	PYTHONPATH=tests $(BIN)/python -m support.service_crashes

mutants: $(STAMP)  ## small changes to the code, one at a time: which does no test notice?
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m mutants

bench: $(STAMP)  ## the cost of samplers, noise, answers, training and fits, with their growth; rewrites docs/performance.md
	$(BIN)/python -m benchmarks.samplers
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.answers

dist: $(STAMP)  ## build the wheel, install it into an empty environment and run it there
	rm -rf dist build/empty
	$(BIN)/python -m build --wheel --outdir dist
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build && empty/bin/pcqr demo --fast --out empty/out

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
