#!/bin/sh
# Starts nothing: a gateway needs a configuration first. A running gateway is restarted after an upgrade.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart uimgate.service
fi
if [ ! -e /etc/uimgate/uimgate.yaml ]; then
  echo "uimgate: write a configuration, such as: uimgate init --openapi openapi.yaml --out /etc/uimgate"
  echo "uimgate: then: systemctl enable --now uimgate"
fi
