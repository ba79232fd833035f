#!/usr/bin/env bash
# Builds a release twice, compares the bytes, and reads the formula and the lists of components. deploy/test/install.sh installs the package.
set -euo pipefail
cd "$(dirname "$0")/../.."
one=$(mktemp -d) two=$(mktemp -d)
trap 'rm -rf "$one" "$two"' EXIT
DIST=$one deploy/release.sh v0.0.1
DIST=$two deploy/release.sh v0.0.1
diff "$one/SHA256SUMS" "$two/SHA256SUMS"
for list in "$one"/*.spdx.json; do
  jq -e '.spdxVersion == "SPDX-2.3" and (.packages | map(.name) | contains(["github.com/open-policy-agent/opa", "stdlib"]))' "$list" > /dev/null
done
! command -v ruby > /dev/null || ruby -c "$one/uimgate.rb" > /dev/null
sum=$(cd "$one" && sha256sum uimgate-v0.0.1-darwin-arm64.tar.gz)
grep -q "sha256 \"${sum%% *}\"" "$one/uimgate.rb"
echo "the release is reproducible"
