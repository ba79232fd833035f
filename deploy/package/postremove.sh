#!/bin/sh
# Configuration and state stay: the state has signed agreements and the ledger. Delete /etc/uimgate and /var/lib/uimgate by hand.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
