# Clearance. Bare `make` lists the targets; each is described after its ##.

GO       ?= go
FUZZTIME ?= 51

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Packages with concurrent code. Of cpu, engine, contact and the command, which are slow under the race detector, it runs
# the tests in which goroutines share something (tests/make_test.go checks that they exist).
RACE       := . ./batch ./dispatch ./engine/internal/vk ./verify
RACE_TESTS := ^(TestConcurrentCalls|TestSameBitsForAnyWorkersAndChunks|TestHeldShared|TestLibraries|TestCancel|TestInterrupt|TestWorkers)$$

# The checks of make test, which do not depend on one another. JOBS of them run at a time: unit takes half of the
# time, and the others run beside it, one at a time. Those that need no kernels are first: unit compiles the kernels
# meanwhile. The last ones are those that keep both cores busy alone.
CHECKS := unit nocgo generated fuzz python race lint
JOBS   ?= 2
SYNC   := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

STAMP := -X clearance/internal/console.version=$(VERSION)

# The version is passed by -ldflags, so that a checkout that git refuses to read
# (another owner, an unpacked archive) builds as well.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

# Compiling shaders takes lavapipe ten times as long as running the tests; without LLVM's optimisation
# passes it takes half as long. Other drivers ignore this.
export GALLIVM_PERF ?= nopt

.DEFAULT_GOAL := help
.PHONY: help build viewer bench lab peers pictures gpu-check gpu-cost test test-all fmt lint format-check generate generated shaders vulkan cross nocgo unit race fuzz python site wheel cover vulncheck clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

viewer: ## build bin/clearview, the viewer (needs the headers of OpenGL and X11)
	$(GO) build -tags clearview -trimpath -o bin/clearview ./cmd/clearview

build: ## build bin/batchbench
	$(GO) build -trimpath -ldflags '$(STAMP)' -o bin/batchbench ./cmd/batchbench

# bench builds the kernels of this machine alone, for a first result soon; build has all variants.
ifeq ($(shell uname -m),x86_64)
HAS = $(shell grep -qw -m1 $(1) /proc/cpuinfo 2>/dev/null && echo $(1))
LEFT_OUT := $(if $(and $(call HAS,avx512f),$(call HAS,avx512dq),$(call HAS,avx512vl),$(call HAS,avx512bw)),\
	noavx2 noportable,$(if $(and $(call HAS,avx2),$(call HAS,fma)),noavx512 noportable))
else ifneq ($(filter aarch64 arm64,$(shell uname -m)),)
LEFT_OUT := noportable
endif

bench: ## the main job: a million pairs of all kinds, every answer audited, by the kernels of this machine
	$(GO) build -trimpath -tags '$(LEFT_OUT)' -ldflags '-X main.version=$(VERSION)' -o bin/batchbench ./cmd/batchbench
	bin/batchbench run

lab: ## build bin/lab, the measurements: papers, peers, matrix, scaling, gpu-cost, compare
	$(GO) build -trimpath -ldflags '$(STAMP)' -o bin/lab ./lab/cmd/lab

peers: ## install other collision libraries in lab/peers/build, for 'lab peers'
	./lab/peers/setup.sh

pictures: lab ## draw lab/results/pictures anew from the results beside it
	bin/lab peers --from lab/results/peers.json --pictures lab/results/pictures >/dev/null
	bin/lab matrix --print-only --out lab/results

gpu-check: ## check the scripts for a GPU: pack, unpack elsewhere, run with small sizes
	./scripts/gpu-pack.sh --check

gpu-cost: vulkan ## what the shaders cost on GPUs, by compilers and without a GPU; NVIDIA=1: on those of NVIDIA as well
	GO="$(GO)" NVIDIA="$(NVIDIA)" ./lab/gpucost/setup.sh

test: vulkan ## what a change has to pass (.ci/run runs it); it lists what it leaves to test-all
	$(MAKE) --keep-going --jobs=$(JOBS) $(SYNC) $(CHECKS)

test-all: vulkan ## every test in full: sanitizers per variant, soak, ten minutes of fuzzing, other processors
	CLEARANCE_TESTS=all CLEARANCE_SOAK=60s \
		$(MAKE) --keep-going $(CHECKS) cross GALLIVM_PERF= FUZZTIME=600 RACE='./... ./lab/...' RACE_TESTS=

# With GOGC the garbage collector takes less of the time, for some memory.
lint: format-check ## formatting, go vet, staticcheck
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not formatted, run 'make fmt':"; echo "$$bad"; exit 1; fi
	GOGC=400 $(GO) vet ./... ./lab/...
	GOGC=400 $(GO) tool staticcheck ./... ./lab/...

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
	CGO_ENABLED=0 $(GO) build ./... ./lab/...
	CGO_ENABLED=0 $(GO) test -short ./cpu ./kernels/... ./rollout/broadphase

cross: ## SIMD kernels of other processors under qemu, and all as Clang compiles them
	./scripts/simd-cross.sh

unit: ## unit, command-line, layering and conformance tests; lists what was skipped
	./scripts/unit.sh

race: ## the race detector on the packages with concurrent code (needs a C compiler)
	$(GO) test -race -vet=off -short -timeout 8h $(RACE)
	@[ -z '$(RACE_TESTS)' ] || $(GO) test -race -vet=off -short -timeout 8h -run '$(RACE_TESTS)' ./cpu ./engine ./contact ./cmd/batchbench

fuzz: ## fuzz every target; FUZZTIME=seconds, shared among them (default $(FUZZTIME))
	./scripts/fuzz.sh $(FUZZTIME)

python: ## the Python package: wheel, C interface, ruff, mypy, pyright, pytest (installs them in build/python)
	./scripts/python.sh

site: ## the documentation as a site in build/_site/html, with the reference of the Python package
	./scripts/site.sh

wheel: ## build the Python wheel in build/python/dist
	./scripts/wheel.sh

cover: ## test coverage, by function, in cover.out
	$(GO) test -short -coverpkg=./... -coverprofile=cover.out ./... ./lab/...
	$(GO) tool cover -func=cover.out | tail -n 1

vulncheck: ## known vulnerabilities in the code that is called; needs a network, and fails where it cannot check
	GO="$(GO)" ./scripts/govulncheck.sh

clean: ## remove what was built
	rm -rf bin cover.out
