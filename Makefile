# SPDX-License-Identifier: Apache-2.0
# Thin over CMake.
#
#   make bench      build, measure, draw rooflines, report         (PRESET=quick|standard|full)
#   make roofline   draw again, from FILE or the latest run        (DEVICE=h20: on another device's roofs)
#   make report     report again, from FILE or the latest run
#   make regress    measure and compare with the baseline of this device (scripts/regress has the exit codes)
#   make doctor     what this machine can measure
#   make test       unit, contract and command-line tests; GPU tests where there is one; sanitizers; cppcheck
#   make sanitize-gpu  compute-sanitizer over the checks of the GPU variants (scripts/sanitize_gpu)
#   make setup      install what is missing; every target above that builds does this first
#
# Records go to RESULTS (results/), one file a run, plots and report.md into the folder of that name beside it.
# FILE=run.jsonl picks a file.

MAKEFLAGS += --no-print-directory

BUILD ?= build
RESULTS ?= results
PRESET ?= standard
JOBS ?= $(shell nproc)

$(foreach name,BUILD RESULTS FILE,$(if $(word 2,$($(name))),$(error $(name)='$($(name))': paths have no spaces here)))

# bench writes RUN, the others read LAST.
RUN := $(or $(FILE),$(RESULTS)/$(shell date -u +%Y%m%dT%H%M%SZ).jsonl)
LAST := $(or $(FILE),$(RESULTS)/latest.jsonl)
RIDGE := $(BUILD)/ridge

# Toolkits are often installed without being on PATH.
ifeq ($(shell command -v nvcc),)
ifneq ($(wildcard /usr/local/cuda/bin/nvcc),)
export CUDACXX := /usr/local/cuda/bin/nvcc
endif
endif

.PHONY: all setup build bench roofline report regress doctor test lint sanitize sanitize-gpu clean

all: build

setup:
	@scripts/setup

build: setup
	@cmake -S . -B $(BUILD) >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)

# Plots and report of the records in $(1).
out = $(basename $(shell realpath -m --relative-to=. $(1)))
draw = $(RIDGE) roofline $(1) --out $(call out,$(1)) $(addprefix --device ,$(DEVICE))
tell = $(RIDGE) report $(1) --out $(call out,$(1))

# A check that failed (exit code 1) does not keep the others from the report. The report links the plots, so they come
# first; their paths are said last.
bench: build
	@mkdir -p $(sort $(RESULTS)/ $(dir $(RUN)))
	@$(RIDGE) bench --preset $(PRESET) --json $(RUN); code=$$?; [ $$code -le 1 ] || exit $$code; \
	ln -sfnr $(RUN) $(RESULTS)/latest.jsonl && paths=$$($(call draw,$(RUN)) --quiet) && $(call tell,$(RUN)) && \
	echo "$$paths" && exit $$code

roofline: build
	@$(call draw,$(LAST))

report: build
	@$(call tell,$(LAST))

regress: build
	@RIDGE=$(RIDGE) RESULTS=$(RESULTS) scripts/regress

doctor: build
	@$(RIDGE) doctor

sanitize-gpu: build
	@RIDGE=$(RIDGE) scripts/sanitize_gpu

sanitize: setup
	@cmake -S . -B $(BUILD)-sanitize -DRIDGE_CUDA=OFF -DRIDGE_SANITIZE=ON -DRIDGE_WERROR=ON >/dev/null
	@cmake --build $(BUILD)-sanitize --parallel $(JOBS)
	@ctest --test-dir $(BUILD)-sanitize --output-on-failure --parallel $(JOBS)

lint: setup
	@if command -v cppcheck >/dev/null; then \
	  cppcheck --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 -j $(JOBS) \
	    --suppressions-list=.cppcheck-suppressions --inline-suppr --library=cmake/cppcheck.cfg -I . \
	    base bench cli kernels profiles reports roofline cmake tests && echo 'cppcheck: no findings'; \
	else echo 'cppcheck is not installed: source checks left out'; fi

test: build sanitize lint
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize
