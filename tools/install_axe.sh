#!/bin/sh
# Put axe-core, which looks for barriers in pages, where the tests of the page find it; by npm, where
# that is. Elsewhere nothing is done, and the test that needs it says that it is skipped.
set -eu
version=4.14.0
folder=$(dirname "$0")/../.venv/axe
if [ -f "$folder/axe-$version.min.js" ] || ! command -v npm >/dev/null; then
    exit 0
fi
echo "fetching axe-core for the tests (once)"
mkdir -p "$folder"
cd "$folder"
npm pack --silent "axe-core@$version" >/dev/null || exit 0
tar -xzf "axe-core-$version.tgz" package/axe.min.js
mv package/axe.min.js "axe-$version.min.js"
rm -r package "axe-core-$version.tgz"
