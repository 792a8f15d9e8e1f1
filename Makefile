# Clearance. Bare `make` lists the targets; each is described after its ##.

GO       ?= go
FUZZTIME ?= 51

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Packages with concurrent code. Of cpu, engine and the command, which are slow under the race detector, it runs
# the tests in which goroutines share something (tests/make_test.go checks that they exist).
RACE       := . ./batch ./dispatch ./engine/internal/vk ./verify
RACE_TESTS := ^(TestConcurrentCalls|TestSameBitsForAnyWorkersAndChunks|TestHeldShared|TestLibraries|TestCancel|TestRun|TestInterrupt)$$

# The version is passed by -ldflags, so that a checkout that git refuses to read
# (another owner, an unpacked archive) builds as well.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

# Compiling shaders takes lavapipe ten times as long as running the tests; without LLVM's optimisation
# passes it takes half as long. Other drivers ignore this.
export GALLIVM_PERF ?= nopt

.DEFAULT_GOAL := help
.PHONY: help build bench peers pictures gpu-check test test-all fmt lint format-check generate generated shaders vulkan cross nocgo unit race fuzz cover clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: ## build bin/batchbench
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/batchbench ./cmd/batchbench

bench: build ## the main job: a million pairs of all kinds, every answer audited
	bin/batchbench run

peers: ## install other collision libraries in bench/peers/build, for 'batchbench peers'
	./bench/peers/setup.sh

pictures: build ## draw docs/results/pictures anew from the results beside it
	bin/batchbench peers --from docs/results/peers.json --pictures docs/results/pictures >/dev/null
	bin/batchbench matrix --print-only --out docs/results

gpu-check: ## check the scripts for a GPU: pack, unpack elsewhere, run with small sizes
	./scripts/gpu-check.sh

test: vulkan lint generated nocgo fuzz race unit ## what a change has to pass (.ci/run runs it); it lists what it leaves to test-all

test-all: export CLEARANCE_TESTS := all
test-all: export CLEARANCE_SOAK := 60s
test-all: export GALLIVM_PERF :=
test-all: FUZZTIME := 600
test-all: RACE := ./...
test-all: RACE_TESTS :=
test-all: vulkan lint generated nocgo fuzz race unit cross ## every test in full: sanitizers per variant, soak, ten minutes of fuzzing, other processors

lint: format-check ## formatting, go vet, staticcheck
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted, run 'make fmt':"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

format-check: ## whether C and GLSL are formatted (installs clang-format in build/tools)
	./scripts/clang-format.sh

fmt: ## format all Go and C files
	gofmt -w .
	./scripts/clang-format.sh --fix

generate: ## write the generated files anew
	$(GO) generate ./...

generated: ## fail if a generated file is stale
	./scripts/generated.sh

shaders: ## compile the shaders anew (needs glslc)
	./scripts/shaders.sh

vulkan: ## what the Vulkan tests need; as root on Debian and Ubuntu it is installed
	./scripts/vulkan-packages.sh

nocgo: ## build everything without a C compiler, and test the CPU back end so
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) test -short ./cpu/...

cross: ## SIMD kernels of other processors under qemu, and all as Clang compiles them
	./scripts/simd-cross.sh

unit: ## unit, command-line, layering and conformance tests; lists what was skipped
	./scripts/unit.sh

race: ## the race detector on the packages with concurrent code (needs a C compiler)
	$(GO) test -race -vet=off -short -timeout 60m $(RACE)
	@[ -z '$(RACE_TESTS)' ] || $(GO) test -race -vet=off -short -timeout 20m -run '$(RACE_TESTS)' ./cpu ./engine ./cmd/batchbench

fuzz: ## fuzz every target; FUZZTIME=seconds, shared among them (default $(FUZZTIME))
	./scripts/fuzz.sh $(FUZZTIME)

cover: ## test coverage, by function, in cover.out
	$(GO) test -short -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -n 1

clean: ## remove what was built
	rm -rf bin cover.out
