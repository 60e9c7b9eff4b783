#!/bin/sh
# Installs the independent judges of our exports: Khronos' gltf-validator (node) and Blender as a Python module.
# bpy needs Python 3.11 and numpy < 2, so it lives in an environment of its own, never beside Kinema.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v npm > /dev/null; then
    echo "judges: npm is not here, gltf-validator is left out" >&2
elif ! npm install --silent --no-audit --no-fund --no-package-lock --prefix tests/judges; then
    echo "judges: npm cannot install gltf-validator, it is left out" >&2
fi
if command -v blender > /dev/null || .venv-blender/bin/python -c "import bpy" 2> /dev/null; then
    exit 0
fi
# One that cannot be imported (cut off, or without X11's libraries) would fail every test instead of skipping them.
rm -rf .venv-blender
python=$(command -v python3.11 || command -v python3)
if ! "$python" -m venv .venv-blender || ! .venv-blender/bin/pip install -q bpy==5.0.1 ||
    ! .venv-blender/bin/python -c "import bpy"; then
    rm -rf .venv-blender
    echo "judges: bpy cannot be used with $("$python" --version), Blender is left out" >&2
fi
