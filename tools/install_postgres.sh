#!/bin/sh
# Install Debian's PostgreSQL for the tests: as root, where apt is, and only if it is missing.
# Elsewhere nothing is done, and the tests that need a server say that they are skipped.
set -eu
if command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    exit 0
fi
echo "installing PostgreSQL for the tests (once)"
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq -y --no-install-recommends postgresql >/dev/null 2>&1 || {
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends postgresql >/dev/null
}
