# The loops of adnet. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO ?= go
BIN := .adnet/bin/adnet
LOCAL := $(GO) run ./deploy/local
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
export GOFLAGS := $(shell . deploy/flags.sh && echo "$$GOFLAGS")
FUZZTIME ?= 10s
FUZZLONG ?= $(FUZZTIME)

.PHONY: help run build stack serve stack-down check test test-short race fuzz mutants fault fault-breaks hostile hostile-breaks nightly lint-openapi clients sdks bench relevance suitability generate console screenshots paint

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## Build the binary into .adnet/bin.
	@GO=$(GO) deploy/build.sh $(BIN)

run: ## Everything in one process, in memory, with a demo.
	@$(MAKE) -s build
	@exec $(BIN) standalone

stack: ## Install what is missing and start PostgreSQL, Redis, Kafka and ClickHouse on loopback.
	@$(LOCAL) up

serve: ## Migrate, then one ingress and one consumers process against the stack.
	@exec $(LOCAL) serve

stack-down: ## Stop what `make stack` started.
	@$(LOCAL) down

check: ## Format, vet, lint, import arrows, generated code, clean tree.
	@deploy/check.sh $(STATICCHECK)

test: ## All tests, on the real stack, which is installed and started for it.
	@deploy/test.sh

test-short: ## Unit tests only: no servers needed.
	@$(GO) test ./...

race: ## All unit tests under the race detector.
	@$(GO) test -race ./...

fuzz: ## Each fuzz target for FUZZTIME, exposed ones for FUZZLONG; FUZZ="A B" for some.
	@FUZZTIME=$(FUZZTIME) FUZZLONG=$(FUZZLONG) FUZZ="$(FUZZ)" lab/fuzz/fuzz.sh

mutants: ## Take each protection out: a test must notice. MUTANTS="mac fence" for some, MUTANTS=all for all.
	@deploy/test.sh --run go run ./lab/mutants $(MUTANTS)

fault: ## Kill, cut and fill everything on a real stack of its own, then count (15 minutes; SHORT=1: 3). FAULT_SEED=n ONLY=kind,kind BREAK=spool|double.
	@$(GO) run ./lab/fault $(if $(SHORT),--short) $(if $(ONLY),--only $(ONLY)) $(if $(BREAK),--break $(BREAK))

fault-breaks: ## Build adnet without a protection, twice: a run of the fault suite must notice each.
	@set -e; for what in spool:lost double:doubled; do \
		line=$$($(GO) run ./lab/fault --only ingress_kill_on_spool --break $${what%:*} | tail -n 1) || true; \
		grep -q "\"$${what#*:}\":[1-9]" <<<"$$line" || { echo "not noticed without $${what%:*}: $$line"; exit 1; }; \
		echo "noticed without $${what%:*}: $$line"; done

hostile: ## Strangers, colluders and greedy clients against the real stack, then count (5 minutes; SHORT=1: 90 s). HOSTILE_SEED=n BREAK=cure.
	@deploy/test.sh --run $(GO) run ./lab/hostile $(if $(SHORT),--short) $(if $(BREAK),--break $(BREAK))

hostile-breaks: ## Build adnet without a cure, once for each of eight: a run of the hostile suite must notice.
	@deploy/test.sh --run lab/hostile/breaks.sh

clients: ## Clients made from openapi.json by other people's generators, type-checked, against a real server.
	@deploy/openapi/clients/run.sh

sdks: ## The SDKs (npm, Python): shared cases, packages, examples, the code of docs/integrating.md.
	@deploy/sdks.sh

nightly: ## What is too long for CI: all mutants, the hostile suite and the fault suite in full.
	@$(MAKE) mutants MUTANTS=all
	@$(MAKE) hostile
	@$(MAKE) fault

lint-openapi: ## openapi.json by Redocly's and Spectral's rules.
	@deploy/openapi/lint.sh

bench: ## Speed as ratios, with a table; ONLY="row,row" for some rows, SMOKE=1 for seconds.
	@deploy/test.sh --run $(GO) run ./lab/bench $(if $(SMOKE),--smoke) $(if $(ONLY),--only $(ONLY)) \
		$(if $(SMOKE)$(ONLY),,--results lab/bench/results --readme lab/bench/README.md)

relevance: ## How often the right ad is found, as ratios and a table; fails where one is missed (../shared/data/relevance).
	@$(GO) run ./lab/relevance

suitability: ## How well conversations that no ad belongs beside are told from ordinary ones; WRITE=1 learns the table (../shared/data).
	@$(GO) run ./lab/suitability $(if $(WRITE),--write)

generate: ## Make the generated code again.
	@$(GO) generate ./...

console: ## Build the pages of the console into ingress/console/dist (needs Node).
	@deploy/web.sh

screenshots: ## Pictures of the console from demo data, into docs/images (needs Chromium).
	@deploy/chromium.sh
	@$(MAKE) -s build
	@$(GO) run ./lab/browser/shots $(BIN)

paint: ## How soon the console paints, on a processor four times slower and with 10,000 campaigns (needs Chromium).
	@deploy/chromium.sh
	@$(MAKE) -s build
	@$(GO) run ./lab/browser/paint $(BIN)
