#!/bin/sh
# Stops the gateway before it is removed, and leaves it running during an upgrade: dpkg passes "upgrade", rpm 1.
set -e
case "${1:-}" in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now uimgate.socket uimgate.service || true
fi
