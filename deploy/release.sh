#!/usr/bin/env bash
# Builds a release into dist: archives for Linux and macOS, packages for Debian, RPM and Alpine, and their checksums. The time of the
# commit is the time of all files, so two runs on one commit write the same bytes.
#
#   deploy/release.sh v0.1.0
#
# DIST is the directory to write to, and PLATFORMS lists the platforms to build for, such as "linux/amd64 darwin/arm64".
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?the version, such as v0.1.0}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || { echo "$0: $version is not a version such as v0.1.0" >&2; exit 2; }
go=${GO:-go}
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
dist=${DIST:-dist}

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
PACKAGE_VERSION=${version#v}
export SOURCE_DATE_EPOCH PACKAGE_VERSION TZ=UTC LC_ALL=C
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
rm -f "$dist"/uimgate[-_]* "$dist/SHA256SUMS"

# Built for this machine, the command writes its own completions; a test writes the manual pages.
echo "manual pages and completions" >&2
mkdir -p "$work/man" "$work/completions"
"$go" build -trimpath -o "$work/here" ./cmd/uimgate
for shell in bash zsh fish; do "$work/here" completion "$shell" > "$work/completions/uimgate.$shell"; done
"$go" test ./cmd/uimgate -count=1 -run '^TestManualPages$' -man "$work/man" > /dev/null
find "$work/man" -name '*.1' -exec gzip -9n {} +

echo "nfpm" >&2
GOBIN=$work "$go" install "$nfpm"

for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  export GOOS=${platform%/*} GOARCH=${platform#*/}
  echo "$platform" >&2
  export STAGE=$work/$GOOS-$GOARCH
  mkdir -p "$STAGE"
  CGO_ENABLED=0 "$go" build -trimpath -buildvcs=true \
    -ldflags "-s -w -X github.com/uimgate/uimgate/cmd/uimgate/internal/cli.Release=$version" -o "$STAGE/uimgate" ./cmd/uimgate
  cp -r "$work/man" "$work/completions" LICENSE README.md CHANGELOG.md deploy/systemd/uimgate.service "$STAGE"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$STAGE" -cf - . |
    gzip -9n > "$dist/uimgate-$version-$GOOS-$GOARCH.tar.gz"
  if [ "$GOOS" = linux ]; then
    find "$STAGE" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
    for kind in deb rpm apk; do
      "$work/nfpm" package -f deploy/package/nfpm.yaml -p "$kind" -t "$dist/" >"$work/nfpm.log" 2>&1 || { cat "$work/nfpm.log" >&2; exit 1; }
    done
  fi
done
(cd "$dist" && sha256sum uimgate[-_]* > SHA256SUMS)
ls -l "$dist" >&2
