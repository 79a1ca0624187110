# `make demo` and `make test` need Python 3.11 or later, pip and make; each sets up .venv by itself.

PYTHON ?= python3
BIN := .venv/bin
WORKERS := --numprocesses auto

.PHONY: demo docs test test-matrix test-gpu sanitize-gpu lint clean

demo: .venv/demo.stamp
	$(BIN)/python examples/minilm.py
	$(BIN)/python examples/tour.py
	$(BIN)/python examples/one_line.py

# The site; whatever is wrong with a page or a link ends it. Made anew each time, so that no page stays that is gone.
docs: .venv/docs.stamp
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning --fresh-env --conf-dir docs/site --doctree-dir build/doctrees . build/site
	@echo "build/site/index.html"

test: .venv/dev.stamp
	$(BIN)/python -m pytest $(WORKERS) --dist worksteal

# What takes longest comes first, and tests are handed out one at a time, so that no worker is left alone with long ones.
LONGEST := $(addprefix tests/,mutants triton_backend gluon_backend differential testing gradient integrations names drawing)
test-matrix: .venv/dev.stamp
	$(BIN)/python -m pytest $(WORKERS) --dist load --maxschedchunk 1 -m matrix $(LONGEST) \
	    $(filter-out $(LONGEST) tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/))) $(wildcard tests/test_*.py)

test-gpu: .venv/dev.stamp
	$(BIN)/python -m pytest -m gpu tests/gpu

# Every access of ten specs that differ in how they read, checked by the tool of the CUDA toolkit.
SANITIZED := gqa paged_decode mla_paged sliding_window document_mask packed_ragged topk_sparse int4_cache \
    tree_speculative shared_prefix
sanitize-gpu: .venv/dev.stamp
	PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck --error-exitcode 1 $(BIN)/python -m pytest -m gpu \
	    $(foreach spec,$(SANITIZED),'tests/gpu/test_gallery.py::test_agrees_with_the_reference[$(spec)-f16]')

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv build dist *.egg-info

# A stamp per extra: installing again when nothing has changed costs seconds.
.venv/%.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[$*]'
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=…")'
	$(PYTHON) -m venv .venv
