#!/usr/bin/env bash
# Writes the npm packages into a directory: uimgate, which is the TypeScript SDK and a command, and for each platform a package with the
# program. uimgate depends on those optionally, so that npm installs the one for the machine, and nothing is downloaded later. Two runs on
# one commit write the same bytes.
#
#   deploy/package/npm.sh v0.1.0 dist path/of/uimgate linux/amd64 another/path/of/uimgate darwin/arm64
#
# COMPILED=dir takes the compiled SDK from a directory instead of compiling it. Tests set it.
set -euo pipefail
version=${1:?the version, such as v0.1.0}
mkdir -p "${2:?the directory to write to}"
dist=$(cd "$2" && pwd)
shift 2
for tool in node npm; do
  command -v $tool > /dev/null || { echo "$0: $tool is not installed; NPM=no omits the packages of npm" >&2; exit 2; }
done
root=$(cd "$(dirname "$0")/../.." && pwd)
sdk=$root/sdk/typescript
[ -d "$sdk/node_modules" ] || (cd "$sdk" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

pack() { (cd "$1" && npm pack --ignore-scripts --silent --pack-destination "$dist" > /dev/null); }

# The platforms, as Node.js names them.
declare -A cpu=([amd64]=x64 [arm64]=arm64)
optional=
while [ $# -gt 0 ]; do
  binary=$1 platform=$2
  shift 2
  name=@uimgate/${platform%/*}-${cpu[${platform#*/}]}
  dir=$work/${platform//\//-}
  mkdir -p "$dir/bin"
  cp -L "$binary" "$dir/bin/uimgate"
  chmod 755 "$dir/bin/uimgate"
  cp "$root/LICENSE" "$dir"
  cat > "$dir/package.json" <<JSON
{
  "name": "$name",
  "version": "${version#v}",
  "description": "The program uimgate for ${platform%/*} on ${cpu[${platform#*/}]}. Install uimgate instead.",
  "license": "Apache-2.0",
  "repository": {"type": "git", "url": "git+https://github.com/uimgate/uimgate.git"},
  "os": ["${platform%/*}"],
  "cpu": ["${cpu[${platform#*/}]}"],
  "files": ["bin"],
  "preferUnplugged": true
}
JSON
  pack "$dir"
  optional+=" $name"
done

mkdir "$work/uimgate"
cp -r "$sdk"/{src,bin,build.mjs,tsconfig.json,tsconfig.cjs.json,package.json,README.md,CHANGELOG.md} "$root/LICENSE" "$work/uimgate"
if [ -n "${COMPILED:-}" ]; then
  cp -r "$COMPILED" "$work/uimgate/dist"
else
  ln -s "$sdk/node_modules" "$work/uimgate/node_modules"
  (cd "$work/uimgate" && node build.mjs)
  rm "$work/uimgate/node_modules"
fi
VERSION=${version#v} OPTIONAL=$optional node - "$work/uimgate/package.json" <<'JS'
const { readFileSync, writeFileSync } = require("node:fs");
const file = process.argv[2], { devDependencies, scripts, ...kept } = JSON.parse(readFileSync(file, "utf8"));
const version = process.env.VERSION, names = process.env.OPTIONAL.split(" ").filter(Boolean);
writeFileSync(file, JSON.stringify({ ...kept, version, optionalDependencies: Object.fromEntries(names.map((name) => [name, version])) }, null, 2) + "\n");
JS
pack "$work/uimgate"
