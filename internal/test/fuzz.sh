#!/usr/bin/env bash
# Runs the fuzz targets of all packages, each for the given time: internal/test/fuzz.sh FUZZTIME
#
# As many packages run at once as there are processors, each target with one worker: beside the targets of one package, those of the
# next are compiled. A package is compiled once for all of its targets: with instrumentation, that takes longer than a short run of them.
# What a run finds to be new is kept in the directory that go test -fuzz uses, "$(go env GOCACHE)/fuzz" or FUZZCACHE, and the next run
# begins with it; go clean -fuzzcache empties it. An input that fails is written to testdata/fuzz of its package: commit it with the mend.
set -euo pipefail
cd "$(dirname "$0")/../.."

export FUZZTIME=${1:?the time for each target, such as 60s}
export GO=${GO:-go}
module=$("$GO" list -m)
export CACHE=${FUZZCACHE:-$("$GO" env GOCACHE)/fuzz}/$module
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

fuzz() {
  local package=$1 binary status=0
  binary=$(mktemp)
  "$GO" test -c -vet=off -fuzz '^Fuzz' -o "$binary" "$package" || status=1
  if [ "$status" = 0 ]; then
    for target in $("$binary" -test.list '^Fuzz'); do
      (cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$FUZZTIME" -test.fuzzminimizetime 10x \
        -test.parallel 1 -test.fuzzcachedir "$CACHE/${package#./}") 2>&1 | sed "s|^|$package $target: |" || status=1
    done
  fi
  rm -f "$binary"
  return "$status"
}
export -f fuzz

# xargs runs all packages, and fails if one of them did.
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u |
  xargs -P "$cores" -I '{}' bash -c 'set -euo pipefail; fuzz "$1"' fuzz '{}'
