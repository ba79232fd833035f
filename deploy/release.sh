#!/usr/bin/env bash
# Builds a release into dist: archives for Linux and macOS, packages for Debian, RPM, Alpine and npm, wheels for Python, a list of the components
# of each binary (SPDX), checksums, and a formula for Homebrew. The time of the commit is the time of all files, so two runs on one commit write the same
# bytes.
#
#   deploy/release.sh v0.1.0
#
# DIST is the directory to write to. PLATFORMS lists the platforms to build for, such as "linux/amd64"; only a build for all of them has the
# formula. SBOM=no omits the lists of components: syft, which writes them, takes minutes to compile. WHEELS=no omits the wheels of the Python
# SDK, and NPM=no the packages of npm. Without a Python that has pip, setuptools and wheel, or without Node.js, they are omitted as well;
# WHEELS=yes and NPM=yes make that an error.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?the version, such as v0.1.0}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || { echo "$0: $version is not a version such as v0.1.0" >&2; exit 2; }
go=${GO:-go}
syft=github.com/anchore/syft/cmd/syft@v1.57.1
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
dist=${DIST:-dist}

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
PACKAGE_VERSION=${version#v}
export SOURCE_DATE_EPOCH PACKAGE_VERSION TZ=UTC LC_ALL=C CGO_ENABLED=0
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
rm -f "$dist"/uimgate[-_.]* "$dist/SHA256SUMS"

# Built for this machine, the command writes its own completions; a test writes the manual pages.
echo "manual pages and completions" >&2
mkdir -p "$work/man" "$work/completions"
"$go" build -trimpath -o "$work/here" ./cmd/uimgate
for shell in bash zsh fish; do "$work/here" completion "$shell" > "$work/completions/uimgate.$shell"; done
"$go" test ./cmd/uimgate -count=1 -run '^TestManualPages$' -man "$work/man" > /dev/null
find "$work/man" -name '*.1' -exec gzip -9n {} +

echo "nfpm" >&2
GOBIN=$work "$go" install "$nfpm"
if [ "${SBOM:-yes}" != no ]; then
  echo "syft" >&2
  GOBIN=$work "$go" install "$syft"
fi

# Writes the components of a binary. syft takes the time of the clock and a random namespace: they become the time of the commit and the
# address of the file.
components() { # the binary, the file
  SYFT_CHECK_FOR_APP_UPDATE=false "$work/syft" scan --quiet --source-name uimgate --source-version "$version" -o "spdx-json=$2" "file:$1"
  sed -i -E "s|\"created\":\"[^\"]*\"|\"created\":\"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)\"|
    s|\"documentNamespace\":\"[^\"]*\"|\"documentNamespace\":\"https://github.com/uimgate/uimgate/releases/download/$version/${2##*/}\"|" "$2"
}

programs=()
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  export GOOS=${platform%/*} GOARCH=${platform#*/}
  echo "$platform" >&2
  export STAGE=$work/$GOOS-$GOARCH
  mkdir -p "$STAGE"
  "$go" build -trimpath -buildvcs=true \
    -ldflags "-s -w -X github.com/uimgate/uimgate/cmd/uimgate/internal/cli.Release=$version" -o "$STAGE/uimgate" ./cmd/uimgate
  programs+=("$STAGE/uimgate" "$platform")
  cp -r "$work/man" "$work/completions" LICENSE README.md CHANGELOG.md deploy/systemd/uimgate.{service,socket} "$STAGE"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$STAGE" -cf - . |
    gzip -9n > "$dist/uimgate-$version-$GOOS-$GOARCH.tar.gz"
  [ "${SBOM:-yes}" = no ] || components "$STAGE/uimgate" "$dist/uimgate-$version-$GOOS-$GOARCH.spdx.json"
  if [ "$GOOS" = linux ]; then
    find "$STAGE" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
    for kind in deb rpm apk; do
      "$work/nfpm" package -f deploy/package/nfpm.yaml -p "$kind" -t "$dist/" >"$work/nfpm.log" 2>&1 || { cat "$work/nfpm.log" >&2; exit 1; }
    done
  fi
done
if [ "${WHEELS:-}" = yes ] || { [ -z "${WHEELS:-}" ] && "${PYTHON:-/usr/bin/python3}" -c 'import pip, setuptools, wheel' 2> /dev/null; }; then
  echo "wheels" >&2
  deploy/package/wheels.sh "$version" "$dist" "${programs[@]}" >&2
else
  echo "no wheels: they need a Python with pip, setuptools and wheel" >&2
fi
if [ "${NPM:-}" = yes ] || { [ -z "${NPM:-}" ] && command -v node npm > /dev/null; }; then
  echo "npm" >&2
  deploy/package/npm.sh "$version" "$dist" "${programs[@]}" >&2
else
  echo "no packages of npm: they need Node.js" >&2
fi
(cd "$dist" && sha256sum uimgate[-_]* > SHA256SUMS)
[ -n "${PLATFORMS:-}" ] || deploy/package/formula.sh "$version" "$dist/SHA256SUMS" > "$dist/uimgate.rb"
ls -l "$dist" >&2
