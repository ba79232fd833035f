# Everything needed beside Go and make is fetched by Go itself, at the versions given here.
GO        ?= go
LINT      := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VULN      := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME  ?= 60s
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
CC        ?= cc

# The race detector needs a C compiler. It does not look into SQLite, which is C translated to Go, nor into OPA, the readers of YAML and of
# JSON Schema, templates as they are read, the arithmetic of signatures and digests, regular expressions, compression and forms of text: the
# checks there take most of the time of every test with a database, a policy, a configuration or a signature, and find nothing of ours. Locks
# are seen nevertheless: those of SQLite are in modernc.org/libc, all others in sync. make soak has it look into all but SQLite. Uses of
# unsafe are checked in our packages only: most of the others are in sync, at every pool. Of several patterns that match a package, the last
# one counts. Without what debuggers need, linking a hundred tests takes a quarter less.
LEAN      := -dwarf=false
BLIND     := -race=false -d=checkptr=0 $(LEAN)
DETECT    := -race '-gcflags=all=-d=checkptr=0 $(LEAN)' '-gcflags=$(shell $(GO) list -m)/...=$(LEAN)' '-gcflags=modernc.org/sqlite/lib=$(BLIND)'
UNSEEN    := github.com/open-policy-agent github.com/goccy/go-yaml github.com/santhosh-tekuri/jsonschema github.com/decred/dcrd/dcrec/secp256k1 \
             crypto/internal/fips140 math/big regexp compress/flate hash/adler32 encoding/base64 github.com/gowebpki/jcs \
             github.com/btcsuite/btcd/btcutil/bech32 text/template/parse
RACEFLAGS := $(DETECT) $(UNSEEN:%='-gcflags=%/...=$(BLIND)')
RACE := $(shell command -v $(CC) >/dev/null 2>&1 && [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo "$(RACEFLAGS)")

# Tests of several packages run at once, twice as many as there are processors, because those of whole gateways mostly wait; those that
# take longest begin first, so that none of them is left alone at the end. They have more memory between two garbage collections, which
# take a quarter of the time of the others. A process does not sleep a second before it ends, as the race detector has it by default. go
# vet has seen the tests already, with more than go test would ask of it.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
LONG  := internal/soak cmd/uimgate internal/daemon store/sqlstore odrl store/lease bindings agent/verify store/sqlmail bindings/mrp/relay \
         gateway/execute bindings/oauth store/storetest/pgtest
QUICK := -p $(shell expr 2 '*' $(CORES))

# What the tests write, and what is compiled for them, is kept in memory where there is plenty of it: with databases on a disk, a quarter of
# their time goes into flushes and files of it. They kill processes, not machines, and what a killed process has written is there
# afterwards in memory as on a disk. make soak uses the disk.
MEMORY := $(shell awk '/^MemAvailable:/ { exit $$2 < 8 * 2^20 }' /proc/meminfo 2>/dev/null && ! grep -qs ' /dev/shm .*noexec' /proc/mounts && \
            df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 >= 6 * 2^20 { print "TMPDIR=/dev/shm" }')

.PHONY: build test clients soak lint vuln fuzz bench generate clean

build: ## one static binary: ./uimgate
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o uimgate ./cmd/uimgate

test: ## vet, then every test
ifeq ($(RACE),)
	@echo '*** No C compiler: the tests run WITHOUT the race detector. Install gcc or clang to have it. ***' >&2
endif
	$(GO) vet ./...
	$(MEMORY) GORACE=atexit_sleep_ms=0 GOGC=200 $(GO) test -vet=off $(RACE) $(QUICK) -timeout 30m $(LONG:%=./%) ./...
	$(GO) test -vet=off ./bench # the budget of allocations, which the race detector would use up

clients: bindings/testdata/node/node_modules/.installed ## clients of other protocols that tests use where they are installed; needs npm and the network

bindings/testdata/node/node_modules/.installed: bindings/testdata/node/package-lock.json
	cd bindings/testdata/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

soak: ## about 20 minutes: whole gateways killed, stopped, cut off, attacked and reloaded under load, a minute of each; the suites of stores, policies and daemon, and a limit through all doors, in full; make test has a cut of each
	$(GO) test -tags soak -count=1 -timeout 60m -v ./internal/soak
	$(GO) test $(RACE) -tags soak -count=1 -timeout 60m ./store/...
	$(GO) test $(RACE) -tags soak -count=1 -timeout 60m -run ALimitHolds ./bindings
	$(GO) test -tags soak -count=1 -timeout 60m ./odrl/... ./intents/... ./internal/daemon
ifneq ($(RACE),)
	$(GO) test $(DETECT) -count=1 -timeout 60m -run Concurrently ./odrl ./intents
endif

lint:
	$(GO) run $(LINT) run ./...

vuln: ## looks up known vulnerabilities; needs the network
	$(GO) run $(VULN) ./...

fuzz: ## every fuzz target for FUZZTIME each: 105 targets, so about 106 minutes at 60s
	@set -e; for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
	    echo "== $$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package; \
	  done; \
	done

bench: ## the execute path beside a plain reverse proxy, paid calls, grants of a limit; each step alone; a store with a long past
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) test -run '^$$' -bench Growth -timeout 2h ./store/sqlstore -growth.tokens 1000000 -growth.ledger 10000000

generate: ## writes again what tests compare: schema.json, docs/errors.md
	$(GO) test ./config -update
	$(GO) test ./internal/reason -run Docs -update

clean:
	rm -f uimgate
