#!/usr/bin/env bash
# Installs uimgate as the README describes, on a new Debian system that boots with systemd in a container, and uses it: TLS from a CA,
# a call, its trace, alerts, an upgrade and a removal. It needs root, systemd-nspawn, mmdebstrap and Debian's packages; the container itself
# has no network but loopback.
#
#   sudo deploy/test/install.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in mmdebstrap systemd-nspawn dpkg-deb jq; do
  command -v $tool > /dev/null || { echo "$0: $tool is not installed: apt-get install mmdebstrap systemd-container dpkg jq" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "$0: run it as root" >&2; exit 2; }
go=${GO:-go}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
phase() { echo "$SECONDS s: $*" >&2; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

phase "a new Debian system"
chmod 755 "$work"
root=$work/root
quietly mmdebstrap --variant=apt --include=systemd,systemd-sysv,ca-certificates,curl,jq,sudo bookworm "$root"
mkdir "$work/prometheus"
(cd "$work/prometheus" && quietly apt-get download prometheus && dpkg-deb -x prometheus_*.deb .)

phase "two releases of the package"
export PLATFORMS=linux/$arch
for version in v0.1.0 v0.1.1; do
  DIST=$root/srv/dist quietly make release VERSION=$version
done

phase "a CA, a collector and an API"
pebble=github.com/letsencrypt/pebble/v2
CGO_ENABLED=0 "$go" build -trimpath -o "$root/srv/pebble" $pebble/cmd/pebble
CGO_ENABLED=0 "$go" build -trimpath -o "$root/srv/" ./examples/shop ./deploy/test/sink
cp -r "$("$go" list -m -f '{{.Dir}}' $pebble)/test/certs" "$root/srv/certs"
install "$work/prometheus/usr/bin/promtool" "$root/usr/local/bin/promtool"
cp deploy/test/machine.sh deploy/observability/rules.yaml deploy/observability/alerts.yaml "$root/srv"
# The commands of the README, without the one that was run above.
sed -n '/^## Install/,/^## /{/^```sh/,/^```$/p}' README.md | grep -v '^```' > "$root/srv/readme.sh"
[ "$(head -1 "$root/srv/readme.sh")" = "make release VERSION=v0.1.0" ] || { echo "$0: the README has other commands" >&2; exit 1; }
sed -i 1d "$root/srv/readme.sh"

phase "boot"
cat > "$root/etc/systemd/system/machine.service" <<'UNIT'
[Unit]
After=network-online.target multi-user.target
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
WantedBy=default.target
UNIT
ln -s ../machine.service "$root/etc/systemd/system/multi-user.target.wants/machine.service"
echo '127.0.0.1 localhost shop.example' > "$root/etc/hosts"
result=0
systemd-nspawn --quiet --directory "$root" --register=no --keep-unit --private-network --resolv-conf=off --console=read-only --boot \
  systemd.show_status=false > "$work/console" 2>&1 || result=$?
[ "$result" = 0 ] || cat "$work/console" >&2
cat "$root/srv/out" >&2
phase "end"
exit "$result"
