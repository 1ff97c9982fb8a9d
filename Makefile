# The everyday commands; `make help` lists them. What each build is stands in CMakePresets.json.

# Passed on: to `pandora reproduce` by `make reproduce`, to ctest by `make test` and `make test-slow`, to run-docs.sh by
# `make docs`, to run-numbers.py by `make numbers`.
ARGS =
# The scale of `make reproduce`: one of the three environments, five replications, so that the first report is there soon
# and its intervals mean something. The program refuses an option that is given twice, so these stand back where ARGS
# names them.
given = $(findstring $(1),$(ARGS))
reduced := $(if $(call given,--replications),,--replications 5 $(if $(call given,--environment),,--environment uniform))
JOBS ?= $(shell nproc)
# One more than the processors: some tests wait for the disk or for other processes.
TEST_JOBS = $$(($(JOBS) + 1))

full_run := make reproduce ARGS="--replications 50"

.PHONY: build reproduce test test-slow test-as tests example package installed test-python pytest python gateway python-bench numbers fuzz sanitize device-check device-tools stand-in stand-in-build stand-in-slow stand-in-sanitize docs debug-docs docs-dependencies bench build-times coverage coverage-run gpu-check gpu-pack slice nightly dependencies test-dependencies figure-dependencies format-dependencies format format-check tidy tidy-dependencies all-dependencies reference clean help
.NOTPARALLEL:  # prerequisites are steps, in order

build:
	cmake --preset release
	cmake --build build --target pandora --parallel $(JOBS)

reproduce: dependencies figure-dependencies build
ifneq ($(reduced),)
	@echo 'Reduced run ($(strip $(reduced))): T = 30,000 as in the paper, which has three environments and 50 replications;'
	@echo 'below 10 replications nothing is marked against it. The full run: $(full_run)'
endif
	build/pandora reproduce --report $(strip $(reduced) $(ARGS))

test: test-dependencies tests
	ctest --test-dir build -LE slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS)
	$(MAKE) pytest

test-slow: test-dependencies tests
	ctest --test-dir build -L slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS)

# The default tests of another build: AS=v2 OPTIONS=-DPANDORA_LEVEL=v2, or of another compiler.
test-as: test-dependencies
	cmake --preset test -B build-$(AS) -DPANDORA_CUDA=OFF $(OPTIONS)
	cmake --build build-$(AS) --parallel $(JOBS)
	ctest --test-dir build-$(AS) -LE slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS)

# The tests link the library that `make build` makes: what is tested is what runs.
tests:
	cmake --preset test
	cmake --build build --parallel $(JOBS)

# A program of its own on the installed package, as users build theirs.
example: test-dependencies tests
	cmake --install build --prefix build/prefix >/dev/null
	! grep -r -e -march build/prefix/lib/cmake/pandora  # of whoever builds on it
	cmake -S examples/custom -B build/custom -G Ninja -DCMAKE_PREFIX_PATH=$(CURDIR)/build/prefix
	cmake --build build/custom --parallel $(JOBS)
	cmake -S tests/package -B build/package -G Ninja -DCMAKE_PREFIX_PATH=$(CURDIR)/build/prefix -DCMAKE_BUILD_TYPE= 2>&1 \
	  | grep 'CMAKE_BUILD_TYPE is empty'  # a program without optimisation would tell nobody
	build/custom/custom-pandora run examples/custom/custom.toml --out build/custom/results --force $(ARGS)
	build/pandora show build/custom/results >/dev/null  # of another program, with policies that this one does not know
	build/custom/custom-pandora run examples/custom/twin.toml --out build/custom/twin --force $(ARGS)
	grep ,dow,known, build/custom/twin/summary.csv >build/custom/dow.csv
	sed -n 's|/dow_twin/|/dow/|; s/,dow_twin,/,dow,/p' build/custom/twin/summary.csv | cmp - build/custom/dow.csv

# The Python package in a virtual environment, where the program finds it: it fits, tests and shows cascades, checks tables.
PYTHON ?= python3
export LITELLM_LOCAL_MODEL_COST_MAP = True  # prices of models without a network
venv = build/python/venv/bin
pip = $(venv)/pip install --quiet --disable-pip-version-check
package: dependencies build installed

# Both as steps of their own: `make build` would take the tests out of build/, where `make test` has just made them.
installed:
	[ -x $(venv)/python ] || $(PYTHON) -m venv build/python/venv
	$(pip) --requirement python/requirements.txt
	$(pip) --no-build-isolation --no-deps --force-reinstall ./python

test-python: dependencies build pytest

pytest: installed
	$(pip) --requirement python/requirements-checks.txt
	cd python && ../$(venv)/python -m pytest --quiet --numprocesses $(TEST_JOBS) --dist loadfile $(or $(TESTS),tests)

# What is checked of it beside its tests: style, types, examples in docstrings and documents, pandora_verdict, and the
# tutorial, whose figures are left in build/python/tutorial.
python: package
	$(pip) --requirement python/requirements-checks.txt
	cd python && ../$(venv)/ruff format --config pyproject.toml --check --quiet . ../experiments/verdict && \
	  ../$(venv)/ruff check --config pyproject.toml --quiet . ../experiments/verdict && \
	  ../$(venv)/mypy && ../$(venv)/mypy --package pandora
	cd python && ../$(venv)/python -m pytest --quiet --config-file pyproject.toml ../experiments/verdict/tests
	cd tests/reference/python && ../../../$(venv)/python -m unittest --quiet
	cd python && ../$(venv)/python -m pytest --quiet --doctest-modules --doctest-ignore-import-errors --pyargs pandora
	rm -rf build/python/tutorial
	$(venv)/python python/examples/tutorial.py build/python/tutorial >build/python/tutorial.txt
	[ -s build/python/tutorial/regret.png ]

# Cascades in LiteLLM's proxy, and examples/gateway with PostgreSQL, on the loopback interface; after `make python`.
gateway:
	@scripts/install-dependencies.sh postgresql initdb
	$(pip) uv==0.13.9
	$(venv)/uv pip install --quiet --python $(venv)/python --requirement examples/gateway/requirements.txt
	cd python && ../$(venv)/python -m pytest --quiet tests/proxy tests/test_litellm.py
	$(venv)/python examples/gateway/check.py

# Lanes in Python, reading 1,000 replications, the calls of a store, first tokens; after `make python` and `make gateway`, on a quiet machine.
python-bench:
	$(venv)/python python/benchmark.py
	$(venv)/python python/tests/proxy/first_tokens.py

# What is committed in experiments/results, and so the numbers of the documents: STAGES, or all that are not up to date. It stands back
# for other programs, and goes on where it was stopped. ARGS=--plan: what there is to do. PANDORA_DATA: tables of real outcomes.
STAGES =
numbers: test-dependencies build
	nice -n 19 scripts/run-numbers.py $(ARGS) $(STAGES)

# Everything that reads files, on inputs that libFuzzer makes up: RUNS of them for each fuzzer, half as many for `files`,
# whose inputs are read in many ways. FUZZ_LEVEL: -O0 is built in a third of the time and runs at half the rate.
# FUZZ_SECONDS: when each ends at the latest, 0 for never. SEED: of what is made up.
RUNS ?= 6000
FUZZ_LEVEL ?= -O1
export FUZZ_SECONDS ?= 0
export SEED ?= 1
fuzz: dependencies
	@scripts/install-dependencies.sh clang clang
	cmake --preset fuzz -DCMAKE_CXX_FLAGS_DEBUG='$(FUZZ_LEVEL) -g1 -D_GLIBCXX_ASSERTIONS'
	cmake --build build-fuzz --target study_fuzz files_fuzz traces_fuzz --parallel $(JOBS)
	printf '%s\n' files study traces | xargs -P $(JOBS) -I{} scripts/run-fuzzer.sh {} $(RUNS)

# The device path on a CPU (tests/cuda_stand_in): a line per step; the program is build-stand-in/pandora.
stand-in: stand-in-build
	REQUIRE_GPU=1 ctest --test-dir build-stand-in -LE slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS)

stand-in-build: test-dependencies device-tools
	cmake --preset stand-in
	cmake --build build-stand-in --parallel $(JOBS)

# The machine code of the device path against its limits (scripts/device/limits.toml), where nvcc is; what it is predicted to
# take: scripts/predict-device.py.
device-check: device-tools
	scripts/check-device.py $(ARGS)

# NVIDIA's disassembler, which toolkits for building alone lack.
device-tools:
	[ -x build/device/venv/bin/python ] || $(PYTHON) -m venv build/device/venv
	build/device/venv/bin/pip install --quiet --disable-pip-version-check --requirement scripts/device/requirements.txt

# Its slow steps, and its host code under the sanitisers.
stand-in-slow: stand-in-build
	ctest --test-dir build-stand-in -L slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS)

stand-in-sanitize: PRESETS ?= stand-in-asan stand-in-tsan
stand-in-sanitize: test-dependencies
	for preset in $(PRESETS); do \
	  cmake --preset $$preset && cmake --build build-$$preset --parallel $(JOBS) && \
	  ctest --test-dir build-$$preset --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS) || exit; \
	done

# The default tests under the address, undefined-behaviour and thread sanitisers.
sanitize: PRESETS ?= asan-ubsan tsan
sanitize: test-dependencies
	@scripts/install-dependencies.sh clang clang
	for preset in $(PRESETS); do \
	  cmake --preset $$preset && cmake --build build-$$preset --parallel $(JOBS) && \
	  ctest --test-dir build-$$preset -LE slow --no-tests=error --output-on-failure --parallel $(TEST_JOBS) $(ARGS) || exit; \
	done

# What .ci/run leaves out for its time: slow tests, all steps of the stand-in, sanitisers, longer fuzzing. `.ci/run` runs one of
# its slices each time; N names one, or none for the one whose turn it is.
slice:
	.ci/slice $(N)

nightly:
	.ci/slice --all

dependencies:
	@scripts/install-dependencies.sh

# What renders reports; without it their data are written all the same.
figure-dependencies:
	@scripts/install-dependencies.sh python3-matplotlib py:matplotlib+jinja2 \
	  python3-jinja2 py:matplotlib+jinja2 || echo 'Reports will not be rendered.' >&2

# What tests use beside: ranks of mpirun, other programs that read HDF5, what renders reports, older processors, a server of
# PostgreSQL's, which they start themselves in a temporary folder.
test-dependencies: dependencies
	@scripts/install-dependencies.sh libopenmpi-dev mpicc openmpi-bin mpirun hdf5-tools h5dump qemu-user qemu-x86_64 \
	  python3-h5py py:h5py python3-scipy py:scipy \
	  python3-matplotlib py:matplotlib+jinja2 \
	  python3-jinja2 py:matplotlib+jinja2
	@scripts/install-dependencies.sh postgresql initdb || echo 'Tests on PostgreSQL will be skipped.' >&2

# The documents, with a search and the reference of C++ and Python, as a site: build/site/html/index.html. A link that leads
# nowhere is an error.
site:
	@scripts/install-dependencies.sh doxygen doxygen
	[ -x build/site/venv/bin/python ] || $(PYTHON) -m venv build/site/venv
	build/site/venv/bin/pip install --quiet --disable-pip-version-check --requirement packaging/site/requirements.txt
	packaging/site/stage.py
	doxygen docs/Doxyfile
	cd packaging/site && NO_MKDOCS_2_WARNING=1 ../../build/site/venv/bin/mkdocs build --strict --config-file mkdocs.yml

# What each file took to compile when it was compiled last.
build-times:
	scripts/build-times.py build

bench: dependencies
	cmake --preset bench
	cmake --build build-bench --target pandora_bench --parallel $(JOBS)
	build-bench/tests/bench/pandora_bench --benchmark_out=build-bench/bench.json --benchmark_out_format=json $(ARGS)

# What the device runs must be covered without a device.
coverage: dependencies
	@command -v gcovr >/dev/null || { echo 'make coverage needs gcovr (apt-get install gcovr)' >&2; exit 1; }
	cmake --preset coverage
	cmake --build build-coverage --parallel $(JOBS)
	find build-coverage -name '*.gcda' -delete
	build-coverage/tests/pandora_tests --gtest_brief=1 --gtest_filter='-*Slow*:*Gpu*:Cli*:RunStudy*'
	gcovr --gcov-ignore-parse-errors $$(gcovr --help | grep -q merge-lines && echo --merge-lines) --root . --filter 'kernels/.*\.hpp' --exclude-throw-branches --fail-under-line 95 build-coverage

# What of the lane bodies a run on the CPU enters: the program alone, every policy, both schedules.
coverage-run: dependencies
	@command -v gcovr >/dev/null || { echo 'make coverage-run needs gcovr (apt-get install gcovr)' >&2; exit 1; }
	cmake --preset coverage
	cmake --build build-coverage --target pandora --parallel $(JOBS)
	find build-coverage -name '*.gcda' -delete
	for refit in geometric:1.5 tracking; do \
	  build-coverage/pandora reproduce --replications 1 --periods 4000 --environment gaussian --samples 20000 --refit $$refit \
	    --quiet --force --out build-coverage/results || exit; \
	done
	gcovr --gcov-ignore-parse-errors $$(gcovr --help | grep -q merge-lines && echo --merge-lines) --root . --filter 'kernels/(lane|solve|products|state)/.*' --filter kernels/rules/period.hpp \
	  --exclude-throw-branches build-coverage

gpu-check: dependencies
	cmake --preset gpu
	cmake --build build-gpu --target all pandora_device_bench pandora_device_cycles --parallel $(JOBS)
	scripts/gpu-check.sh build-gpu $(ARGS)

# For a GPU machine without compilers: CUDAARCHS=90-real make gpu-pack, then as scripts/gpu-pack.sh says.
gpu-pack: dependencies
	cmake --preset gpu -DPANDORA_NATIVE=OFF -DPANDORA_LEVEL=v3 -DPANDORA_MPI=OFF
	cmake --build build-gpu --target all pandora_device_bench pandora_device_cycles --parallel $(JOBS)
	scripts/gpu-pack.sh build-gpu build-gpu/gpu-check.txz

# Every command of README.md and docs/, and recipes where their interpreters can be installed.
docs: test-dependencies docs-dependencies build
	scripts/help-pages.py build/help
	scripts/run-docs.sh $(or $(ARGS),README.md docs/*.md build/help/*.md)

# The same with assertions.
debug-docs: dependencies
	cmake --preset debug
	cmake --build build-debug --target pandora --parallel $(JOBS)
	PANDORA=build-debug/pandora $(MAKE) docs

docs-dependencies:
	@scripts/install-dependencies.sh jq jq
	@scripts/install-dependencies.sh r-base-core Rscript r-bioc-rhdf5 /usr/lib/R/site-library/rhdf5 octave octave-cli \
	  || echo 'Recipes for R and Octave will not be run.' >&2

sources = git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.h'
format: format-dependencies
	$(sources) | xargs clang-format -i

format-check: format-dependencies
	$(sources) | xargs clang-format --dry-run --Werror

format-dependencies:
	@scripts/install-dependencies.sh clang-format clang-format

# Mistakes that compile (.clang-tidy): every file of the program, a folder at a time.
tidy: tidy-dependencies
	cmake --preset tidy
	cmake --build build-tidy --target build_info
	sed -n 's/.*"file": "\(.*\)".*/\1/p' build-tidy/compile_commands.json | \
	  xargs -P $(JOBS) -n 1 clang-tidy --config-file=.clang-tidy -p build-tidy --quiet

tidy-dependencies: dependencies
	@scripts/install-dependencies.sh clang clang clang-tidy clang-tidy

# Of all targets (.devcontainer/Containerfile).
all-dependencies: test-dependencies figure-dependencies format-dependencies tidy-dependencies docs-dependencies

clean:
	rm -rf build build-*

help:
	@echo 'make build      the program, build/pandora'
	@echo 'make reproduce  Tables 1 to 3 of the paper at a reduced scale, into the next free results/NNN'
	@echo 'make package    the Python package, in build/python/venv: cascades and checks of tables run in it'
	@echo 'make test       all tests but the slow ones, the package'\''s too; warnings are errors'
	@echo 'make test-python  the tests of the package alone'
	@echo 'make test-slow  the slow tests'
	@echo 'make example    the example program on the installed package'
	@echo 'make python     what is checked of the package beside its tests: style, types, docstrings, tutorial'
	@echo 'make gateway    cascades in LiteLLM'\''s proxy, and examples/gateway; after make python'
	@echo 'make numbers    the results that are committed, and with them the numbers of the documents; ARGS=--plan: what there is to do'
	@echo 'make fuzz       fuzzers of everything that reads files; RUNS=1000000 for a long run'
	@echo 'make sanitize   the tests under the address, undefined-behaviour and thread sanitisers'
	@echo 'make stand-in   the device path on a CPU, through a stand-in for CUDA; stand-in-slow: its slow steps'
	@echo 'make device-check  the machine code of the device path against its limits, without a device'
	@echo 'make nightly    what CI leaves out for its time: slow tests, all of the stand-in, sanitisers, longer fuzzing'
	@echo 'make slice      one slice of it, N=NAME or the one whose turn it is; .ci/slice --table: when each passed last'
	@echo 'make docs       every command of README.md and docs/ at a small scale, recipes for Python, R and Octave, links'
	@echo 'make build-times  seconds of each file of the last build, the dearest first'
	@echo 'make bench      benchmarks, JSON in build-bench/bench.json'
	@echo 'make coverage   line coverage of the functor headers, at least 95%; make coverage-run: that of a run alone'
	@echo 'make gpu-check  on a machine with a GPU: device tests, sanitizers, benchmarks, the whole paper'
	@echo 'make gpu-pack   an archive of what it needs, for such a machine without compilers'
	@echo 'make format     clang-format over the sources; format-check: whether it would change any'
	@echo 'make site       the documents and the reference of C++ and Python as a site, in build/site/html'
	@echo 'make tidy       clang-tidy over the program, every finding an error'
	@echo 'make clean      remove the builds; results/ stays'
	@echo 'ARGS="..." goes to pandora reproduce, ctest, run-docs.sh or run-numbers.py; make reproduce and make test first install what is missing.'
	@echo 'The full run: $(full_run)'
