#!/usr/bin/env bash
# Builds a release twice and compares the bytes, then installs, upgrades and removes its Debian package. It changes this machine: run it on
# one that may be thrown away.
set -euo pipefail
cd "$(dirname "$0")/../.."
sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
one=$(mktemp -d) two=$(mktemp -d)
trap 'rm -rf "$one" "$two"' EXIT
DIST=$one deploy/release.sh v0.0.1
DIST=$two deploy/release.sh v0.0.1
diff "$one/SHA256SUMS" "$two/SHA256SUMS"
DIST=$two deploy/release.sh v0.0.2

installed() { uimgate version | grep -q "^uimgate $1 "; }
arch=$(dpkg --print-architecture)
$sudo dpkg -i "$one/uimgate_0.0.1_$arch.deb"
installed v0.0.1
gzip -t /usr/share/man/man1/uimgate-serve.1.gz
echo '# kept' | $sudo tee /etc/uimgate/uimgate.yaml > /dev/null
$sudo dpkg -i "$two/uimgate_0.0.2_$arch.deb"
installed v0.0.2
$sudo dpkg -P uimgate
[ ! -e /usr/bin/uimgate ]
grep -q kept /etc/uimgate/uimgate.yaml # what the operator wrote stays
$sudo rm -r /etc/uimgate
echo "the release is reproducible, and its package installs, upgrades and goes"
