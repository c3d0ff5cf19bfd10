# Two commands matter: `make demo` and `make test`. Everything lives in .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP_SOURCES := $(shell find core kernel bindings -name '*.cpp' -o -name '*.hpp' 2>/dev/null) CMakeLists.txt
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check fuzz canary bench generate clean tools

help:  ## Shows what can be made.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | sort

tools:
	@command -v $(PYTHON) >/dev/null || { echo "error: Python 3.11 or newer is needed: apt-get install python3 python3-venv"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed, $(PYTHON) is older: set PYTHON=python3.11"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "error: Python's venv module is needed: apt-get install python3-venv"; exit 2; }
	@command -v $${CXX:-c++} >/dev/null || { echo "error: a C++20 compiler is needed: apt-get install g++"; exit 2; }
	@echo 'int main(){return 0;}' | $${CXX:-c++} -std=c++20 -x c++ - -o /dev/null 2>/dev/null || { echo "error: $${CXX:-c++} does not know C++20: apt-get install g++ (10 or newer)"; exit 2; }

$(VENV)/.requirements: pyproject.toml | tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=24'
	$(BIN)/python -m pip install --quiet 'scikit-build-core>=1.1' 'nanobind>=3.1,<4' 'cmake>=3.22' ninja
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py dev)
	@touch $@

$(VENV)/.built: $(VENV)/.requirements $(CPP_SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@
