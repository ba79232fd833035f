#!/usr/bin/env bash
# Runs the fuzz targets of all packages, each for the given time: internal/test/fuzz.sh FUZZTIME
#
# It compiles packages one after the other, each once for all of its targets, because with instrumentation that takes longer than a
# short run. Meanwhile, it fuzzes as many compiled packages as there are processors, each with one worker. At most twice as many wait
# for their turn, because each takes some 100 MB of disk. New inputs stay in the directory that go test -fuzz uses,
# "$(go env GOCACHE)/fuzz" or FUZZCACHE, and the next run begins with them; go clean -fuzzcache empties it. go test writes an input that
# fails to testdata/fuzz of its package: commit it with the fix.
set -euo pipefail
cd "$(dirname "$0")/../.."

export CGO_ENABLED=0 # as releases are built
export FUZZTIME=${1:?the time for each target, such as 60s}
go=${GO:-go}
module=$("$go" list -m)
export CACHE=${FUZZCACHE:-$("$go" env GOCACHE)/fuzz}/$module
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
compiled=$(mktemp -d)
trap 'rm -rf "$compiled"' EXIT

# compile prints the binary and the package of each line once it is compiled.
compile() {
  local package status=0 n=0
  while read -r package; do
    n=$((n + 1))
    while [ "$(find "$compiled" -name '*.test' | wc -l)" -ge $((2 * cores)) ]; do sleep 1; done
    if "$go" test -c -vet=off -fuzz '^Fuzz' -o "$compiled/$n.test" "$package"; then
      echo "$compiled/$n.test $package"
    else
      status=1
    fi
  done
  return "$status"
}

# fuzz runs the targets of a compiled package. The end of the time can interrupt an input, which the fuzzer reports as a failure of the
# target, "context deadline exceeded", without an input that fails. That is not a finding.
fuzz() {
  local binary=$1 package=$2 targets target log status=0
  trap "rm -f '$binary'" EXIT
  targets=$("$binary" -test.list '^Fuzz')
  log=$(mktemp)
  for target in $targets; do
    (cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$FUZZTIME" -test.fuzzminimizetime 10x \
      -test.parallel 1 -test.fuzzcachedir "$CACHE/${package#./}") 2>&1 | sed "s|^|$package $target: |" | tee "$log" ||
      { grep -q ':     context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log"; } || status=1
  done
  rm -f "$log"
  return "$status"
}
export -f fuzz

# xargs runs all packages, and fails if one of them did.
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | compile |
  xargs -P "$cores" -I '{}' bash -c 'set -euo pipefail; fuzz $1' fuzz '{}'
