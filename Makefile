# Everything a person or CI does with Crest. It needs Go and make; what else a target needs, it installs.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Versions of the tools that the checks use. A newer linter may ask for other code, so it is pinned.
LINT_VERSION := 2.15.0
VULN_VERSION := 1.9.0

TOOLS    := $(CURDIR)/.tools
LINT     := $(TOOLS)/golangci-lint-$(LINT_VERSION)
VULN     := $(TOOLS)/govulncheck-$(VULN_VERSION)
MODULES  := $(patsubst %/go.mod,%,$(wildcard ./go.mod bench/go.mod e2e/go.mod oracle/go.mod))

# Packages without a goroutine. The race detector has nothing to find there and makes their long oracle tests
# much slower, so they are tested without it; every other package is tested with it.
PURE := ^crest$$|^crest/(sketch|window|hashtag|proto|internal/config|internal/shard)(/|$$)

# Tests of damage and power loss go through thousands of states one after the other, which takes the detector minutes. So this
# package is tested without it as a whole, and with it where its goroutines work together.
STATES := ^crest/internal/exact$$
TOGETHER := Naive|SameBytes|VerifyDuring|StopsWith|Bases|TakeTurns|FollowOneAnother

LISTEN    ?= 127.0.0.1:8080
DEMO_DATA ?= data/demo
FUZZTIME  ?= 20s
TESTFLAGS ?=
VERSION   ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)

export MODULES TESTFLAGS

.PHONY: help run build test unit race lint vuln bench bench-rank bench-serve bench-archive bench-recount oracle fuzz generate format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build Crest and watch demo traffic on a page
	@echo
	@echo "  The page:  http://$(LISTEN)/    (data in $(DEMO_DATA), Ctrl-C stops)"
	@echo
	@exec bin/crest serve --demo --data $(DEMO_DATA) --listen $(LISTEN)

build: ## Build bin/crest, one static binary
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o bin/crest ./cmd/crest

test: ## Run all that CI runs: linters, every test of every module, a browser
	@scripts/check.sh

unit: ## Test the packages without goroutines, and those with too many states for the race detector
	@packages=$$(go list ./... | grep -E '$(PURE)|$(STATES)'); go test $(TESTFLAGS) $$packages

race: ## Test all other packages, with the race detector
	@scripts/need.sh cc
	@packages=$$(go list ./... | grep -vE '$(PURE)|$(STATES)'); go test -race $(TESTFLAGS) $$packages
	@packages=$$(go list ./... | grep -E '$(STATES)'); go test -race -run '$(TOGETHER)' $(TESTFLAGS) $$packages

lint: $(LINT) ## Run the linters, go vet, tidiness and generated-code checks in every module
	@scripts/need.sh cxx
	@failed=0; scripts/lint.sh $(LINT) || failed=1; scripts/vuln.sh $(VULN) $(VULN_VERSION) || failed=1; exit $$failed

vuln: ## Look for known vulnerabilities, where the database can be reached
	@scripts/vuln.sh $(VULN) $(VULN_VERSION)

bench: ## Compare the sketch with its peers, full size (20 M updates)
	cd bench && go run ./cmd/sketchbench

bench-rank: build ## Compare `crest rank` with sort, uniq and awk on 20 M lines
	cd bench && go run ./cmd/rankbench -crest ../bin/crest

bench-serve: build ## Measure a whole node: throughput, CPU per event, freshness, latency
	cd bench && go run ./cmd/servebench -crest ../bin/crest

bench-recount: build ## Compare `crest recount` with embedded DuckDB on an hour of 30 M events
	@scripts/need.sh cxx
	cd oracle && go run ./cmd/recountbench -crest ../bin/crest

oracle: ## Simulate 3 days with 20 M events, check every list on the way, count all of it again by SQL
	@scripts/need.sh cxx
	cd oracle && go run ./cmd/simulate

bench-archive: ## Compare the archive's writer with the Parquet library alone on 5 M rows
	cd bench && go run ./cmd/archivebench
	cd bench && go run ./cmd/archivebench -dimensions 2

fuzz: ## Fuzz every decoder for FUZZTIME each (20s)
	@scripts/fuzz.sh $(FUZZTIME)

generate: ## Write generated code anew
	@for m in $(MODULES); do (cd $$m && go generate ./...); done

format: $(LINT) ## Format the code
	@for m in $(MODULES); do (cd $$m && $(LINT) fmt -c $(CURDIR)/.golangci.yml ./...); done

clean: ## Remove what was built and the demo's data; tools stay
	rm -rf bin $(DEMO_DATA)
	go clean -testcache

$(LINT):
	@scripts/install.sh $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint $(LINT_VERSION)
