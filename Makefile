# cutune: `make demo` and `make test` create what they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Modules are compiled when they are loaded: a fifth of them ever is.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Many processes load the same modules, whatever the machine says about keeping them compiled.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
.PHONY: help dev packages demo test test-all check format golden reference bench gpu docs wheels clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

# What the demonstration needs, which is less than developers do; who needs both gets them at once.
EXTRAS := report
$(VENV)/.installed: EXTRAS := dev
$(VENV)/.usable: pyproject.toml
	@echo 'installing cutune, and what it needs, in $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[$(EXTRAS)]'
	@echo 'compiling the emulated device, once for this machine'
	@$(BIN)/python -m cutune doctor --quiet --install-toolkit
	@echo $(EXTRAS) > $@

$(VENV)/.installed: $(VENV)/.usable
	grep -q dev $< || $(PIP) -e '.[dev]'
	@touch $@

dev: $(VENV)/.installed ## create .venv and install cutune with its developer tools

$(VENV)/.packages: $(VENV)/.installed
	@echo 'installing CuPy, and building PyCUDA'
	@$(PIP) -e '.[packages]'
	@.ci/pycuda $(BIN)/python
	@touch $@

packages: $(VENV)/.packages ## install CuPy and PyCUDA, for the tests of scripts

demo: $(VENV)/.usable ## tune samples/demo.cu for an H200, without a GPU
	@echo 'tuning samples/demo.cu'
	@$(BIN)/python samples/demo.py

TEST := $(BIN)/python -m pytest -n auto --dist worksteal
test: $(VENV)/.installed ## run the tests that need no GPU and little time
	$(TEST) -m "not gpu and not long"

test-all: $(VENV)/.installed ## run all tests that need no GPU
	$(TEST) -m "not gpu"

# mypy gives up (2) where its workers have not begun after 3 seconds, and then works alone.
check: $(VENV)/.installed ## formatter, linter, types: read only
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy --num-workers auto || { [ $$? -eq 2 ] && $(BIN)/mypy; }

format: $(VENV)/.installed ## rewrite the sources as the formatter wants them
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

golden: $(VENV)/.installed ## rewrite the golden files; then read the diff
	$(BIN)/python -m pytest tests/test_golden.py --update-golden

reference: $(VENV)/.installed ## copy messages into docs/diagnostics.md, docs/guide/refused.md
	$(BIN)/python -m pytest tests/unit/project/test_diagnostics_page.py --update-golden

bench: $(VENV)/.installed ## measure time (tests never do)
	$(BIN)/python -m benchmarks

gpu: $(VENV)/.installed ## the tests that need a GPU
	$(BIN)/python -m pytest -m gpu

$(VENV)/.docs: $(VENV)/.installed
	$(PIP) -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs ## build the user guide in build/docs; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Of the archive of the sources, so that it holds all that a wheel is made of.
WHEELS := build/wheels
$(VENV)/.wheels: $(VENV)/.usable
	@$(PIP) -e '.[wheels]'
	@touch $@

wheels: $(VENV)/.wheels ## build dist/: the sources, and a wheel that holds the emulated device
	rm -rf $(WHEELS) dist
	$(BIN)/python -m build --sdist --outdir dist
	mkdir -p $(WHEELS)
	tar xzf dist/cutune-*.tar.gz -C $(WHEELS) --strip-components=1
	PYTHONPATH=$(WHEELS) $(BIN)/python $(WHEELS)/build_device.py
	$(BIN)/python -m build --wheel --outdir $(WHEELS)/raw $(WHEELS)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --exclude libcutune_machine.so \
		-w dist $(WHEELS)/raw/*.whl

clean: ## remove what the targets above created
	rm -rf $(VENV) build dist *.egg-info .cutune report.html
