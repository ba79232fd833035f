#!/usr/bin/env bash
# Builds the wheels of the Python SDK: one for all platforms, and one with the program for each platform.
#
#   deploy/package/wheels.sh v0.1.0 DIRECTORY [PROGRAM linux/amd64]...
#
# It needs a Python with setuptools and wheel; PYTHON names another than /usr/bin/python3. It downloads nothing.
set -euo pipefail
version=${1:?the version, such as v0.1.0} to=$(realpath "${2:?the directory to write to}")
shift 2
here=$(dirname "$(realpath "$0")")
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# v0.1.0-rc.1 is 0.1.0rc1 (PEP 440).
number=${version#v}
number=${number/-/}
number=${number/rc./rc}
mkdir "$work/sdk"
cp -r "$here"/../../sdk/python/{src,pyproject.toml,README.md,CHANGELOG.md} "$work/sdk"
cp "$here/../../LICENSE" "$work/sdk"
find "$work/sdk" -name __pycache__ -prune -exec rm -rf {} +
sed -i.old -E "s/^version = .*/version = \"$number\"/" "$work/sdk/pyproject.toml"
sed -i.old -E "s/^__version__ = .*/__version__ = \"$number\"/" "$work/sdk/src/uimgate/__init__.py"
rm "$work/sdk/pyproject.toml.old" "$work/sdk/src/uimgate/__init__.py.old"
# The backend that pyproject.toml names (PEP 517), without pip, which takes a second more.
if ! (cd "$work/sdk" && "$python" -c 'import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])' "$work") >"$work/log" 2>&1
then
  cat "$work/log" >&2
  exit 1
fi
"$python" "$here/wheel.py" "$work"/uimgate-*.whl "$to"
while [ $# -ge 2 ]; do
  "$python" "$here/wheel.py" "$work"/uimgate-*.whl "$to" "$1" "$2"
  shift 2
done
