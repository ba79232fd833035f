#!/usr/bin/env bash
# Installs uimgate as the README describes, on a new Debian system that boots with systemd in a container, and uses it: TLS from a CA,
# a call, its trace, alerts, a reload, an upgrade and a removal. The container has no network but loopback.
#
#   apt-get install mmdebstrap systemd-container debian-archive-keyring
#   deploy/test/install.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in mmdebstrap systemd-nspawn dpkg; do
  command -v $tool > /dev/null || { echo "$0: $tool is not installed" >&2; exit 2; }
done
sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
go=${GO:-go}
work=$(mktemp -d)
trap '$sudo rm -rf "$work"' EXIT
chmod 755 "$work"
phase() { echo "$SECONDS s: $*" >&2; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

phase "two releases of the package"
srv=$work/srv
mkdir "$srv"
PLATFORMS=linux/$(dpkg --print-architecture)
export PLATFORMS SBOM=no WHEELS=no NPM=no
DIST=$srv/dist quietly make release VERSION=v0.1.0
DIST=$srv/next quietly make release VERSION=v0.1.1

phase "a CA, a collector and an API"
pebble=github.com/letsencrypt/pebble/v2
CGO_ENABLED=0 "$go" build -trimpath -o "$srv/" $pebble/cmd/pebble ./examples/shop ./deploy/test/sink
cp -r "$("$go" list -m -f '{{.Dir}}' $pebble)/test/certs" "$srv/certs"
cp deploy/test/machine.sh deploy/observability/rules.yaml deploy/observability/alerts.yaml "$srv"
# The commands of the README, without the one that was run above.
sed -n '/^## Install/,/^## /{/^```sh/,/^```$/p}' README.md | grep -v '^```' > "$srv/readme.sh"
[ "$(head -1 "$srv/readme.sh")" = "make release VERSION=v0.1.0" ] || { echo "$0: the README has other commands" >&2; exit 1; }
sed -i 1d "$srv/readme.sh"

phase "a new Debian system"
root=$work/root
quietly $sudo mmdebstrap --variant=apt --include=systemd,systemd-sysv,ca-certificates,curl,jq,sudo \
  --customize-hook='chroot "$1" sh -c "cd /srv && apt-get download prometheus && dpkg-deb -x prometheus_*.deb prometheus"' \
  --customize-hook='echo machine > "$1/etc/hostname"; echo 127.0.0.1 localhost machine shop.example > "$1/etc/hosts"' \
  bookworm "$root"
cat > "$srv/machine.service" <<'UNIT'
[Unit]
After=network-online.target
SuccessAction=exit
FailureAction=exit
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=/bin/bash /srv/machine.sh
StandardOutput=file:/srv/out
StandardError=inherit
TimeoutStartSec=5min
[Install]
WantedBy=multi-user.target
UNIT
$sudo cp -rT "$srv" "$root/srv"
$sudo systemctl --root "$root" --quiet enable /srv/machine.service

phase "boot"
result=0
$sudo systemd-nspawn --quiet --directory "$root" --register=no --keep-unit --private-network --resolv-conf=off --console=read-only --boot \
  systemd.show_status=false > "$work/console" 2>&1 || result=$?
[ "$result" = 0 ] || cat "$work/console" >&2
cat "$root/srv/out" >&2
phase "end"
exit "$result"
