#!/bin/sh
# Makes the root file system of the image in a directory: the command, the root certificates of this system, and two users.
#
#   deploy/image/rootfs.sh ./uimgate /tmp/rootfs
set -eu
binary=${1:?the command, built without cgo}
root=${2:?the directory to make}
umask 022
mkdir -p "$root/usr/bin" "$root/etc/ssl/certs" "$root/etc/uimgate" "$root/var/lib/uimgate" "$root/tmp"
chmod 1777 "$root/tmp"
chmod 0700 "$root/var/lib/uimgate"
install -m 0755 "$binary" "$root/usr/bin/uimgate"
install -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/:/sbin/nologin\nuimgate:x:65532:65532:uimgate:/var/lib/uimgate:/sbin/nologin\n' > "$root/etc/passwd"
printf 'root:x:0:\nuimgate:x:65532:\n' > "$root/etc/group"
