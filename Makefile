# The development tasks of adnet. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO ?= go
BIN := .adnet/bin/adnet
STACK := $(GO) run ./lab/stack
# The packages of both modules: the product and its laboratory (go.work).
ALL := ./... ./lab/...
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOFLAGS := $(shell . deploy/flags.sh && echo "$$GOFLAGS")
FUZZTIME ?= 10s
FUZZLONG ?= $(FUZZTIME)

.PHONY: help run build stack stack-env serve stack-down check test test-short race fuzz mutants mutants-general fault fault-breaks hostile hostile-breaks nightly lint-openapi clients sdks bench relevance suitability agents generate packages console screenshots paint

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## Build the binary into .adnet/bin.
	@GO=$(GO) deploy/build.sh $(BIN)

run: ## Run everything in one process, in memory, with a demo.
	@$(MAKE) -s build
	@exec $(BIN) standalone

stack: ## Start PostgreSQL, Redis, Kafka and ClickHouse on loopback: containers, or programs that are installed.
	@$(STACK) up

stack-env: ## Print the addresses of the stack as export lines for a shell (with make -s).
	@$(STACK) env

serve: ## Migrate, then run one ingress and one consumers process against the stack.
	@exec $(STACK) serve

stack-down: ## Stop what `make stack` started.
	@$(STACK) down

check: ## Check formatting, vet, lint, import rules and generated code.
	@deploy/check.sh $(STATICCHECK)

test: ## Run all tests on the real stack, which is installed and started for them.
	@deploy/test.sh

test-short: ## Run the unit tests, which need no servers.
	@$(GO) test $(ALL)

race: ## Run the unit tests under the race detector.
	@$(GO) test -race $(ALL)

fuzz: ## Run each fuzz target for FUZZTIME, exposed ones for FUZZLONG; FUZZ="A B" selects some.
	@FUZZTIME=$(FUZZTIME) FUZZLONG=$(FUZZLONG) FUZZ="$(FUZZ)" lab/fuzz/fuzz.sh

mutants: ## Remove each protection in turn; a test must fail. MUTANTS="mac fence" selects some, MUTANTS=all all.
	@deploy/test.sh --run go run ./lab/mutants $(MUTANTS)

mutants-general: ## Change operators and bounds of four packages with gremlins; most must be noticed (hours). PACKAGES="internal/ledger/owed" selects.
	@PACKAGES="$(PACKAGES)" lab/mutants/general.sh

fault: ## Inject faults into a real stack, then check the counts (15 minutes; SHORT=1: 3). FAULT_SEED=n ONLY=kind,kind BREAK=spool|double.
	@$(GO) run ./lab/fault $(if $(SHORT),--short) $(if $(ONLY),--only $(ONLY)) $(if $(BREAK),--break $(BREAK))

fault-breaks: ## Build adnet without each of two protections; the fault suite must fail each time.
	@lab/breaks.sh fault --only ingress_kill_on_spool

hostile: ## Attack the real stack, then check the counts (6 minutes; SHORT=1: 2 minutes). HOSTILE_SEED=n BREAK=cure.
	@deploy/test.sh --run $(GO) run ./lab/hostile $(if $(SHORT),--short) $(if $(BREAK),--break $(BREAK))

hostile-breaks: ## Build adnet without each of fifteen protections; the hostile suite must fail each time.
	@deploy/test.sh --run lab/breaks.sh hostile --short

clients: ## Generate clients from openapi.json with two generators, type-check and run them against a real server.
	@deploy/openapi/clients/run.sh

sdks: ## Test the SDKs (npm, Python): shared cases, packages, examples, the code of docs/integrating.md.
	@deploy/sdks.sh

nightly: ## Run what is too long for CI: all mutants, those of gremlins, the full hostile suite with its breaks, the full fault suite.
	@$(MAKE) mutants MUTANTS=all
	@$(MAKE) mutants-general
	@$(MAKE) hostile
	@$(MAKE) hostile-breaks
	@$(MAKE) fault

lint-openapi: ## Lint openapi.json with Redocly and Spectral.
	@deploy/openapi/lint.sh

bench: ## Run the benchmarks and print ratios; ONLY="row,row" selects rows, SMOKE=1 takes seconds.
	@deploy/test.sh --run $(GO) run ./lab/bench $(if $(SMOKE),--smoke) $(if $(ONLY),--only $(ONLY)) \
		$(if $(SMOKE)$(ONLY),,--results lab/bench/results --readme lab/bench/README.md)

relevance: ## Measure how often the right ad is found; fails below the required ratios (../shared/data/relevance).
	@$(GO) run ./lab/relevance

suitability: ## Measure the classifier of unsuitable conversations; WRITE=1 trains its table (../shared/data).
	@$(GO) run ./lab/suitability $(if $(WRITE),--write)

agents: ## Measure the detection of robots on public corpora (npm, PyPI); fails above the highest shares allowed.
	@$(GO) run ./lab/agents $(if $(SHOW),--show)

generate: ## Regenerate the generated code.
	@$(GO) generate $(ALL)

packages: ## Build the SDK archives that /sdk/ serves into ingress/web/snippet/packages (needs Node and Python).
	@deploy/packages.sh

console: ## Build the console pages into ingress/web/console/dist (needs Node).
	@deploy/web.sh

screenshots: ## Take screenshots of the console with demo data into docs/images (needs Chromium).
	@deploy/chromium.sh
	@$(MAKE) -s build
	@$(GO) run ./lab/browser/shots $(BIN)

paint: ## Measure the paint times of the console with a throttled CPU and 10,000 campaigns (needs Chromium).
	@deploy/chromium.sh
	@$(MAKE) -s build
	@$(GO) run ./lab/browser/paint $(BIN)
