#!/usr/bin/env bash
# Runs `go test` and prints each package's result as soon as the package is done. `go test ./...` alone passes too, but it prints results
# in the order of the packages, so a slow package hides the results of all later ones.
#
#   internal/test/run.sh [--race|--race=all] [flags of go test] packages
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${GO:-go}
gotestsum=gotest.tools/gotestsum@v1.13.0

# --race finds data races in this module. It leaves out large dependencies: checks inside SQLite (C translated to Go), OPA, parsers, and
# arithmetic take most of the time of a test and report nothing about our code. Locks still count: SQLite's are in modernc.org/libc, the
# others in sync. Packages without debug information link a quarter faster. --race=all leaves out SQLite only.
flags=()
lean=-dwarf=false
blind="-race=false -d=checkptr=0 $lean"
left_out=(
  github.com/open-policy-agent github.com/goccy/go-yaml github.com/santhosh-tekuri/jsonschema github.com/decred/dcrd/dcrec/secp256k1
  crypto/internal/fips140 math/big regexp compress/flate hash/adler32 encoding/base64 github.com/gowebpki/jcs
  github.com/btcsuite/btcd/btcutil/bech32 text/template/parse
)
case "${1:-}" in --race | --race=all)
  if ! command -v "${CC:-cc}" >/dev/null || [ "$("$go" env CGO_ENABLED)" != 1 ]; then
    echo "$0: the race detector needs a C compiler and CGO_ENABLED=1: install gcc or clang" >&2
    exit 1
  fi
  # Of several patterns that match a package, go build uses the last.
  flags=(-race "-gcflags=all=-d=checkptr=0 $lean" "-gcflags=$("$go" list -m)/...=$lean" "-gcflags=modernc.org/sqlite/lib=$blind")
  if [ "$1" = --race ]; then
    for package in "${left_out[@]}"; do flags+=("-gcflags=$package/...=$blind"); done
  fi
  shift
  collections=200
  export GORACE=atexit_sleep_ms=0 # by default a process sleeps for a second before it exits
  ;;
*)
  collections=400
  export CGO_ENABLED=0 # as releases are built
  flags=(-vet=off) # vet checks every dependency too; make check and make lint run it
  ;;
esac

# Tests of whole gateways mostly wait, so twice as many packages run at once as there are processors.
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# Tests with databases spend a quarter of their time on flushing files. The tests kill processes, not machines, so memory keeps what a killed
# process has written as a disk does. The script uses memory if there is plenty: 8 GiB available, 6 GiB of them in /dev/shm.
if [ -z "${TMPDIR:-}" ] && awk '/^MemAvailable:/ { exit $2 < 8 * 2^20 }' /proc/meminfo 2>/dev/null &&
  ! grep -qs ' /dev/shm .*noexec' /proc/mounts &&
  df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { exit $4 < 6 * 2^20 }'; then
  export TMPDIR=/dev/shm
fi

# With an empty build cache the first result takes minutes, so a line every 25 seconds shows that the run continues.
(while sleep 25 >/dev/null 2>&1; do echo "... $SECONDS s: compiling and testing" >&2; done) &
heartbeat=$!
trap 'kill "$heartbeat" 2>/dev/null || true' EXIT

# The packages whose tests take longest start first, so that none of them runs alone at the end.
if [ "${*: -1}" = ./... ]; then
  set -- "${@:1:$#-1}" ./internal/acme ./gateway/console ./cmd/uimgate ./store/sqlstore ./bindings ./sdk/... ./odrl ./internal/daemon ./examples ./internal/soak \
    ./gateway ./bindings/mrp/relay ./store/... ./agent ./...
fi

# With the default of 100, garbage collections take a quarter of the time. Under the race detector, tests need several times the memory.
export GOGC=${GOGC:-$collections}
"$go" run "$gotestsum" --format pkgname --format-icons text --hide-summary=skipped -- \
  -timeout 30m -p "$((2 * cores))" ${flags[@]+"${flags[@]}"} "$@"
