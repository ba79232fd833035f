#!/usr/bin/env bash
# Runs the fuzz targets of all packages, each for the given time: internal/test/fuzz.sh FUZZTIME [SHARE]
#
# A package is compiled once for all of its targets: with instrumentation, that takes longer than a short run of them. What a run
# finds to be new is kept in the directory that go test -fuzz uses, "$(go env GOCACHE)/fuzz" or FUZZCACHE, and the next run begins
# with it; go clean -fuzzcache empties it. An input that fails is written to testdata/fuzz of its package: commit it with the mend.
#
# With a SHARE of n, the corpora of all targets run first as ordinary tests, without instrumentation, and then one package in n is
# fuzzed. Which one depends on the day of the year, so every package has its turn within n days.
set -euo pipefail
cd "$(dirname "$0")/../.."

go=${GO:-go}
time=${1:?the time for each target, such as 60s}
share=${2:-1}
module=$("$go" list -m)
cache=${FUZZCACHE:-$("$go" env GOCACHE)/fuzz}
binary=$(mktemp)
trap 'rm -f "$binary"' EXIT

mapfile -t packages < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u)

if [ "$share" -gt 1 ]; then
  "$go" test -vet=off -run '^Fuzz' "${packages[@]}"
fi

turn=$((10#$(date -u +%j) % share))
for i in "${!packages[@]}"; do
  [ $((i % share)) = "$turn" ] || continue
  package=${packages[$i]}
  "$go" test -c -vet=off -fuzz '^Fuzz' -o "$binary" "$package"
  for target in $("$binary" -test.list '^Fuzz'); do
    echo "== $package $target"
    (cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "$time" -test.fuzzminimizetime 10x \
      -test.fuzzcachedir "$cache/$module/${package#./}")
  done
done
