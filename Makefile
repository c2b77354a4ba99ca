# The commands of this project; CMake does the building. `make help` lists them.

SHELL := /bin/bash
JOBS ?= $(shell nproc)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# The folders whose tests the sanitizers watch most closely.
CORE_TESTS := ^(dispatch|kernels|wire|remote|server|io)$$

configure = cmake --preset $(1) > build/$(1).configure.log 2>&1 || { cat build/$(1).configure.log; exit 1; }
build = mkdir -p build && { $(call configure,$(1)); } && cmake --build --preset $(1) $(2)
ctest = ctest --preset $(1) -j $(JOBS) $(2)

.DEFAULT_GOAL := help
.PHONY: help bootstrap bootstrap-lint bootstrap-images build programs demo test lint format nightly asan-core remote-only cpu-only capture-only
.PHONY: static install deb deb-test docker-test torch-test fuzz docs clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

bootstrap:
	@tools/bootstrap.sh

bootstrap-lint:
	@tools/bootstrap.sh --lint

bootstrap-images:
	@tools/bootstrap.sh --images

build: bootstrap ## everything, optimised, in build/release
	@$(call build,release)

demo: bootstrap ## trains on a worker of its own (or REMORA_DEVICE=remote://HOST:PORT/DEVICE), then here, and compares
	@$(call build,release,--target digits)
	@build/release/bin/digits

programs: bootstrap ## the worker, the tool and the examples, in build/release/bin
	@$(call build,release,--target remora_programs)

test: build ## builds and runs every test
	@$(call ctest,release)

lint: bootstrap-lint ## format of all files, clang-tidy of those changed since main, style and layering
	@tools/format.sh --check
	@$(call build,release,--target remora_generated tree_test)
	@build/release/bin/tree_test --gtest_brief=1
	@tools/tidy.py --build build/release --jobs $(JOBS)

format: bootstrap-lint ## rewrites what clang-format would write differently
	@tools/format.sh

asan-core: bootstrap ## the tests of the lower folders, the worker and files under ASan and UBSan
	@$(call build,asan,--target core_tests)
	@$(call ctest,asan,-L '$(CORE_TESTS)')

remote-only: bootstrap ## the thin client compiles
	@$(call build,remote-only)

fuzz: bootstrap-lint ## every fuzz target for FUZZ_SECONDS (60), from seeds made in the build
	@$(call build,fuzz)
	@tools/fuzz.sh $${FUZZ_SECONDS:-60}

cpu-only: bootstrap ## the library without the wire, and its tests
	@$(call build,cpu-only)
	@$(call ctest,cpu-only)

capture-only: bootstrap ## graphs alone: no device that executes, and the tests of that
	@$(call build,capture-only)
	@$(call ctest,capture-only)

static: bootstrap ## programs that need glibc alone, in build/static/bin, and the tests of that; `remora` contains them all
	@$(call build,static,--target static_tests)
	@$(call ctest,static,-L '^(portable|cli|opinfo)$$')

PREFIX ?= /usr/local
install: programs ## library, headers and programs below PREFIX (/usr/local); DESTDIR is heeded
	@cmake --install build/release --prefix $(PREFIX)

deb: bootstrap ## the Debian packages remora-dev, remora-worker and remora-tools, in build/package
	@$(call build,package)
	@cd build/package && cpack -G DEB > cpack.log 2>&1 || { cat cpack.log; exit 1; }
	@ls build/package/*.deb

deb-test: deb bootstrap-images ## installs them into bare Debian roots, uses and removes them (root)
	@tools/test_deb.sh

docker-test: bootstrap-images ## builds the images with podman and trains on their workers (root)
	@$(call build,static,--target digits)
	@tools/test_images.sh

torch-test: build ## models between PyTorch and this library (needs python3-torch, and safetensors of PyPI)
	@tests/torch/torch_exchange.py build/release/bin/torch_exchange

nightly: build bootstrap-lint ## the long checks: sanitizers, clang, fuzzing, whole-tree tidy, property runs, static build, packages, images
	@$(call build,asan)
	@$(call ctest,asan)
	@$(call build,tsan)
	@$(call ctest,tsan,-L '$(CORE_TESTS)|^properties$$')
	@$(call build,clang)
	@$(call ctest,clang)
	@$(call build,remote-only)
	@$(MAKE) --no-print-directory docs
	@$(MAKE) --no-print-directory fuzz
	@tools/format.sh --check
	@tools/tidy.py --build build/release --jobs $(JOBS) --all
	@$(MAKE) --no-print-directory cpu-only capture-only static deb-test docker-test
	@REMORA_PROPERTY_CASES=$${REMORA_PROPERTY_CASES:-20000} $(call ctest,release,-L '^properties$$')

docs: ## the reference of the public headers, in build/docs/html (needs doxygen)
	@mkdir -p build/docs
	@command -v doxygen > /dev/null || { echo "docs: doxygen is missing; apt-get install doxygen" >&2; exit 1; }
	@doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

clean: ## removes build/
	rm -rf build
