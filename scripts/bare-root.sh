#!/usr/bin/env bash
# A command in a bare Debian system that holds nothing but apt, certificates, make and git, and a clone of the last commit, as root:
# whether what README promises holds where nothing is installed. Needs root (mount, chroot) and a package mirror.
# usage: scripts/bare-root.sh SUITE COMMAND    such as bookworm 'make reproduce && make test'
# KEEP=FOLDER keeps the system there, and uses it again; without it it is a temporary folder. PACKAGES=a,b: what it holds beside.
# TAKE=FILE is put into /taken.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
suite=$1 command=$2
[ "$(id -u)" -eq 0 ] || { echo "bare-root: mounts and changes the root: run it as root" >&2; exit 1; }
scripts/install-dependencies.sh mmdebstrap mmdebstrap
root=${KEEP:-$(mktemp -d)}
done_with() {
  umount --lazy "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
  [ -n "${KEEP-}" ] || rm -rf --one-file-system "$root"
}
trap done_with EXIT
[ -e "$root/etc/debian_version" ] || mmdebstrap --quiet --variant=apt --include=ca-certificates,make,git,"${PACKAGES:-make}" "$suite" "$root" \
  "${MIRROR:-http://deb.debian.org/debian}"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
cp --remove-destination /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"  # a package's server is not started: it would outlive this script
chmod +x "$root/usr/sbin/policy-rc.d"
rm -rf "$root/pandora"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"  # where a mirror of PyPI has its own
mkdir -p "$root/taken"
[ -z "${TAKE-}" ] || cp "$TAKE" "$root/taken"
git clone --quiet --no-local --no-tags . "$root/pandora"
start=$SECONDS
chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
  CI="${CI-}" bash -c "cd /pandora && $command"
echo "bare-root: $suite: $((SECONDS - start)) s"
