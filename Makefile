# Go fetches everything else that is needed, at the versions named here.
GO       ?= go
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONS  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
VULN     := golang.org/x/vuln/cmd/govulncheck@v1.9.0
HUGO     := github.com/gohugoio/hugo@v0.165.0
FUZZTIME ?= 60s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
RUN      := GO="$(GO)" internal/test/run.sh

.PHONY: help build demo test race check lint chart observability witness vuln soak soak-short fuzz fuzz-short bench generate clients site release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## one static binary, ./uimgate
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X github.com/uimgate/uimgate/cmd/uimgate/internal/cli.Release=$(VERSION)" -o uimgate ./cmd/uimgate

demo: ## a gateway in front of a shop, with an agent that discovers, agrees and calls
	$(GO) run ./cmd/uimgate demo

test: ## every test
	@$(RUN) ./...

race: ## every test and soak-short under the race detector; needs a C compiler
	@$(RUN) --race -tags soakshort ./...

check: ## vet, test, soak-short, race, lint, chart, observability and witness
	$(GO) vet ./...
	@$(RUN) ./...
	$(MAKE) soak-short
	@$(RUN) --race -tags soakshort ./...
	$(MAKE) lint
	$(MAKE) chart
	$(MAKE) observability
	$(MAKE) witness

lint: ## the linters of .golangci.yml, and the linter of the workflows
	CGO_ENABLED=0 $(GO) run $(LINT) run ./...
	CGO_ENABLED=0 $(GO) run $(ACTIONS)

chart: ## the Helm chart and the compose file: rendered, decoded, compared, and served; the first time it compiles Helm for some minutes
	cd deploy/helm/test && CGO_ENABLED=0 $(GO) test -count=1 ./...

observability: ## the dashboards, rules and alerts: parsed, and fired by real gateways; the first time it compiles Prometheus for some minutes
	cd deploy/observability/test && CGO_ENABLED=0 $(GO) test -count=1 ./...

witness: ## checkpoints of a gateway, cosigned by litewitness; the first time it compiles that witness for some minutes
	cd internal/test/litewitness && CGO_ENABLED=0 $(GO) test -count=1 ./...

vuln: ## looks up known vulnerabilities, as each release does; needs the network
	$(GO) run $(VULN) ./...

soak: ## about 20 minutes: whole gateways killed, cut off, attacked and reloaded under load, and the long forms of other tests
	@$(RUN) -tags soak -timeout 1h -count=1 -v ./internal/soak
	@$(RUN) --race -tags soak -count=1 ./store/...
	@$(RUN) --race -tags soak -count=1 -run LimitAcrossDoors ./bindings
	@$(RUN) -tags soak -count=1 -run KilledProcess ./cmd/uimgate
	@$(RUN) -tags soak -count=1 ./odrl/... ./intents/... ./internal/daemon ./gateway/console ./bindings/aea ./bindings/aea/skill/directory
	@$(RUN) --race=all -count=1 -run Concurrently ./odrl ./intents

soak-short: ## half a minute: seconds of the faults of make soak that take long: outages, freezes, locks, a promoted standby, wrong clocks
	@$(RUN) -tags soakshort -count=1 -run 'PostgreSQLOutages|StoppedForAWhile|ExpiredLease|WaitInTheStore|SlowDisk|SynchronousStandby|WrongClocks' ./internal/soak

fuzz: ## every fuzz target for FUZZTIME each: over 100 targets, so an hour on two cores at 60s; the corpus grows
	@GO="$(GO)" internal/test/fuzz.sh $(FUZZTIME)

fuzz-short: ## every fuzz target for two seconds
	@GO="$(GO)" internal/test/fuzz.sh 2s

bench: ## the execute path beside a plain reverse proxy, paid calls, limits, each step alone, a store with a long history
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) test -run '^$$' -bench Growth -timeout 2h ./store/sqlstore -growth.tokens 1000000 -growth.ledger 10000000

generate: ## writes schema.json, the pages of docs/reference that tests compare, the snapshot of the schema, and the rules of the chart
	$(GO) test ./config -update
	$(GO) test ./internal/reason -run Docs -update
	$(GO) test ./cmd/uimgate -run Reference -update
	$(GO) test ./store/sqlstore/internal/schema -run Snapshot -update
	cp deploy/observability/rules.yaml deploy/observability/alerts.yaml deploy/helm/uimgate/files/

clients: bindings/testdata/node/node_modules/.installed sdk/typescript/node_modules/.installed gateway/console/testdata/node/node_modules/.installed ## npm packages that tests use if they are installed; needs npm and the network

bindings/testdata/node/node_modules/.installed: bindings/testdata/node/package-lock.json
	cd bindings/testdata/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

gateway/console/testdata/node/node_modules/.installed: gateway/console/testdata/node/package-lock.json
	cd gateway/console/testdata/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

sdk/typescript/node_modules/.installed: sdk/typescript/package-lock.json
	cd sdk/typescript && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

site: ## the documentation as a website, in dist/site; the first time it compiles Hugo for some minutes
	$(GO) run $(HUGO) --source internal/site --destination ../../dist/site --cleanDestinationDir --panicOnWarning

release: ## archives and packages of VERSION, such as v0.1.0, in dist; needs GNU tar
	deploy/release.sh $(VERSION)

clean: ## removes ./uimgate
	rm -f uimgate
