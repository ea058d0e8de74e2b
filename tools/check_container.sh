#!/bin/sh
# Build the image of deploy/Dockerfile without a container engine, and start oddarm in it: buildah in a chroot, on a base
# made by debootstrap. Needs root, and Debian's packages buildah and debootstrap. BASE_FOLDER may name a base made before.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=${BASE_FOLDER-}
if [ -z "$base" ]; then
    base="$work/base"
    debootstrap --variant=minbase bookworm "$base" >"$work/log" || { cat "$work/log"; exit 1; }
fi
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
made=$(buildah from scratch)
buildah add --quiet "$made" "$base" / >/dev/null
buildah commit --quiet "$made" localhost/oddarm-base >/dev/null
buildah rm "$made" >/dev/null
buildah build --build-arg BASE=localhost/oddarm-base --network host \
    --volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/host.crt:ro --build-arg PIP_CERT=/etc/ssl/host.crt \
    --file deploy/Dockerfile --tag localhost/oddarm .
made=$(buildah from localhost/oddarm)
buildah run "$made" -- /opt/oddarm/bin/oddarm --version
buildah rm "$made" >/dev/null
