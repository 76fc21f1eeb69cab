#!/bin/sh
# Python 3.11 for the packages beside this file: the one that travels with them, else that of the image, wherever it is.
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 127
for each in "$here/python/bin/python3.11" /usr/bin/python3.11 /usr/local/bin/python3.11 python3.11; do
  found=$(command -v "$each") && break
done
if [ -z "$found" ]; then
  echo "no Python 3.11 in this image: package with PYTHON_ARCHIVE" >&2
  exit 127
fi
PYTHONPATH="$here/lib/python3.11/site-packages${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONPATH
exec "$found" "$@"
