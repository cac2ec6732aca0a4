# The front door. CMake does the building (CMakeLists.txt, CMakePresets.json), tools/ the rest.
.DEFAULT_GOAL := build
.PHONY: build setup mujoco run test debug asan tsan clang fuzz install clean help
MAKEFLAGS += --no-print-directory

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
DEMO := runs/gmm-demo
# Sized for two cores and three minutes. Another demo: make run DEMO_FLAGS="--seed 7 --steps 40000"
DEMO_FLAGS ?= --steps 16000 --set final_episodes=2000
# Only some stages of the tests: make test STAGES="unit pytest"
STAGES ?=

build: setup ## set up and build build/dqs, build/libdqs.so, build/libdqs.a (what plain `make` does)
	@tools/build.sh release
	@echo "built: build/dqs build/libdqs.so build/libdqs.a"

setup:
	@tools/setup.sh build

mujoco: ## fetch MuJoCo, for the DeepMind Control tasks, into .deps/ (plain `make` does it too)
	@tools/setup.sh mujoco

run: build ## the demo: train on the gmm task, evaluate, draw pictures (under four minutes)
	@if [ -e $(DEMO) ]; then echo "run: removing $(DEMO), the demo of an earlier time"; rm -rf $(DEMO); fi
	@echo "run: training Diffusion Q-Sampling on the task gmm (40 modes in a plane); the run folder is $(DEMO)"
	build/dqs train gmm --out $(DEMO) $(DEMO_FLAGS)
	@echo "run: drawing the pictures"
	build/dqs plot $(DEMO)
	@echo "run: done. The pictures:"
	@find $(DEMO) \( -name '*.png' -o -name '*.svg' -o -name '*.pdf' \) | sort | sed 's/^/  /'

test: ## set up and run every test; the last line counts them
	@tools/setup.sh test
	@.venv/bin/python tools/run_tests.py $(STAGES)

debug asan tsan clang: ## builds of their own in build-debug/, build-asan/, build-tsan/, build-clang/
	@tools/setup.sh test
	@tools/build.sh $@

fuzz: ## build the libFuzzer targets and run each for FUZZ_SECONDS (60)
	@tools/setup.sh test
	@.venv/bin/python tools/run_tests.py --fuzz-seconds $(FUZZ_SECONDS) fuzz

install: build ## install to PREFIX (/usr/local): program, libraries, header, pkg-config and CMake files
	cmake --install build --prefix $(PREFIX)

clean: ## remove the build folders (run folders and .venv stay)
	rm -rf build build-debug build-asan build-tsan build-clang build-mujoco2 build-bare build-fuzz build-python

help: ## this list
	@sed -n 's/^\([a-z][a-z ]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
	    awk -F '\t' '{printf "make %-24s %s\n", $$1, $$2}'
