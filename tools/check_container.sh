#!/bin/sh
# Build the image of deploy/Dockerfile without a container engine, and serve with it: buildah in a chroot, on a base made by
# debootstrap. Needs root, and Debian's packages buildah, debootstrap and curl. BASE_FOLDER may name a base made before; PORT, a
# free port of this machine, which the chroot shares.
set -eu
cd "$(dirname "$0")/.."
port=${PORT-8399}
work=$(mktemp -d)
made='' server=''
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    [ -z "$made" ] || buildah rm "$made" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap clean EXIT
base=${BASE_FOLDER-}
if [ -z "$base" ]; then
    base="$work/base"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$base" >"$work/log" ||
        { cat "$work/log"; exit 1; }
fi
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
made=$(buildah from scratch)
buildah add --quiet "$made" "$base" / >/dev/null
buildah commit --quiet "$made" localhost/oddarm-base >/dev/null
buildah rm "$made" >/dev/null
made=''
buildah build --build-arg BASE=localhost/oddarm-base --network host \
    --volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/host.crt:ro --build-arg PIP_CERT=/etc/ssl/host.crt \
    --file deploy/Dockerfile --tag localhost/oddarm .
made=$(buildah from localhost/oddarm)
buildah run "$made" -- /opt/oddarm/bin/oddarm --version

# As in deploy/compose.yaml: the file of tokens belongs to the user of the image, and nobody else can read it.
echo "admin check 0123456789abcdef0123456789abcdef" >"$work/tokens"
chmod 600 "$work/tokens"
chown 8321 "$work/tokens"
chmod 711 "$work"
buildah run --volume "$work/tokens:/run/secrets/tokens:ro" "$made" -- /opt/oddarm/bin/oddarm serve \
    --host 127.0.0.1 --port "$port" --token-file /run/secrets/tokens >"$work/said" 2>&1 &
server=$!
tries=0
until curl -fsS "http://127.0.0.1:$port/health" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
        cat "$work/said"
        exit 1
    fi
    sleep 0.3
done
echo
curl -fsS -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef' "http://127.0.0.1:$port/caller"
echo
