#!/bin/sh
# Install Debian's Chromium and its driver for the tests of the page: as root, where apt is, and
# only if one is missing. Elsewhere nothing is done, and those tests say that they are skipped.
set -eu
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    exit 0
fi
echo "installing Chromium for the tests (once)"
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends chromium chromium-driver >/dev/null
}
