# SPDX-License-Identifier: MIT
# A thin front for meson and the scripts; `make help` lists the targets.
BUILD ?= build
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
# Options for bench/run, e.g. make bench BENCH='--only sqlite'.
BENCH ?=
# Options and targets for tests/fuzz/run.py.
FUZZ ?=

all: product              ## build the tool and the agent in build/

# Nothing here installs packages except the targets that say so.
product: $(BUILD)/build.ninja
	@ninja -C $(BUILD) product

# The same and the test programs.
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing; packaging/install-deps build installs it" >&2; exit 1; }
	@meson setup $(BUILD) --prefix $(PREFIX)

demo: deps-build product  ## install what is missing, record a small leaking program, report it, write its page
	@sh demo/run $(BUILD)

check: deps-test          ## install what is missing, build with gcc, clang and sanitizers, run all tests; FAST=1: one build and a core of them
	@$(PYTHON) tests/check.py $(if $(FAST),fast)

asan: deps-test           ## the outside code's tests under ASan and UBSan
	@$(PYTHON) tests/check.py asan

lint: build               ## the rules of the code: layers, imports, exports, map, sizes ...
	@meson test -C $(BUILD) --suite lint --print-errorlogs

soak: product             ## a server under load for an hour (MINUTES=), watched all the time: does anything grow?
	@SEEP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/soak/run.py $(MINUTES)

stress: product           ## tests of scale: a million mappings, 200,000 threads, ten gigabytes of heap; NAMES= for some of them
	@SEEP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/stress/run.py $(NAMES)

fuzz: deps-test product    ## search for inputs that break a reader: make fuzz FUZZ='--runs 1000000 --time 60 cfi'
	@$(PYTHON) tests/fuzz/run.py $(FUZZ)

transparent: deps-transparent product   ## some 270 real programs with seep and without: NAMES= for some, SUITES=1 for other projects' tests, REPORT= for a table
	@SEEP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/transparent/run.py $(if $(REPORT),--report $(REPORT)) $(NAMES)

bench: deps-bench build   ## measure seep against no tracing, an empty interposer and heaptrack
	@$(PYTHON) bench/run --build $(BUILD) $(BENCH)
	@$(PYTHON) bench/engines --build $(BUILD)

install: product          ## install below PREFIX (/usr/local), into DESTDIR if given
	@meson configure $(BUILD) --prefix $(PREFIX)
	@ninja -C $(BUILD) product
	@meson install -C $(BUILD) --no-rebuild
	@for agent in build-agents/*/build.ninja; do [ ! -e "$$agent" ] || { meson configure "$${agent%/*}" --prefix $(PREFIX); \
		ninja -C "$${agent%/*}" && meson install -C "$${agent%/*}" --no-rebuild; } || exit 1; done

agents: product           ## agents for programs of other processors, which qemu runs: NAMES= for some of them
	@packaging/agents $(BUILD) $(NAMES)

check-agents: deps-agents product   ## the tests of recording with programs of other processors, under qemu: NAMES= for some of them
	@SEEP_BUILD=$(abspath $(BUILD)) $(PYTHON) tests/agents.py $(NAMES)

check-arm64: deps-arm64   ## the whole tool on aarch64, in a virtual machine with Debian's kernel: NAMES= for some of the checks
	@$(PYTHON) tests/arm64/run.py $(NAMES)

portable: deps-build      ## seep that needs nothing but a C library as new as this machine's, in build-portable/
	@[ -e build-portable/build.ninja ] || meson setup build-portable -Dprefer_static=true -Dtests=false
	@ninja -C build-portable product

deb-agents: deps-package agents   ## a Debian package for each agent of another processor, in build-deb/
	@packaging/deb-agents

deb: deps-package         ## a Debian package in build-deb/
	@packaging/deb

dist: product             ## a release archive in build-dist/, which needs neither node nor a network
	@packaging/dist $(BUILD)

deps-build:
	@packaging/install-deps build demo
deps-test:
	@packaging/install-deps build demo test
deps-package:
	@packaging/install-deps build package
deps-bench:
	@packaging/install-deps build demo test bench
deps-agents:
	@packaging/install-deps build demo test
deps-arm64:
	@packaging/install-deps build test arm64
deps-transparent:
	@packaging/install-deps build demo test transparent

clean:                    ## remove all build directories
	rm -rf build build-*

help:                     ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: all product build demo check asan lint fuzz soak stress transparent bench agents check-agents check-arm64 install portable deb deb-agents dist deps-build deps-test deps-package deps-bench deps-agents deps-arm64 deps-transparent clean help
