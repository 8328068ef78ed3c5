#!/bin/bash
# The first process of a host. It runs what systemd runs on a real one, and its end ends all processes of the host.
#   host.sh FOLDER SET-UP NAME NAME=IP…     FOLDER is the host's disk: /etc and /var as the host changed them
set -euo pipefail
disk=$1
shift
for folder in etc var; do
    mkdir -p "$disk/$folder" "$disk/.$folder"
    mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$disk/$folder,workdir=$disk/.$folder" "/$folder"
done
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
install -d -o postgres /run/postgresql
mkdir -p /etc/ars
printf 'SUPERUSER_PASSWORD=%s\nREPLICATION_PASSWORD=%s\n' "$HA_PASSWORD" "$HA_PASSWORD" >/etc/ars/cluster
[ -f /etc/patroni/config.yml ] || "$@"

run_as() {
    while :; do
        setpriv --reuid="$1" --regid="$1" --init-groups "${@:2}" || true
        sleep 1
    done
}
export HOME=/var/lib/postgresql
(
    set -a
    # shellcheck source=/dev/null
    . /etc/default/etcd
    run_as etcd etcd
) >>"$disk/etcd.log" 2>&1 &
run_as postgres patroni /etc/patroni/config.yml >>"$disk/patroni.log" 2>&1 &
wait
