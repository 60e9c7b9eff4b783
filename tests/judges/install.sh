#!/bin/sh
# Installs the independent judges of our exports: Khronos' gltf-validator (node) and Blender as a Python module.
# bpy needs Python 3.11 and numpy < 2, so it lives in an environment of its own, never beside Kinema.
set -eu
cd "$(dirname "$0")/../.."
if command -v npm > /dev/null; then
    npm install --silent --no-audit --no-fund --no-package-lock --prefix tests/judges
else
    echo "judges: npm is not here, gltf-validator is left out" >&2
fi
if command -v blender > /dev/null || [ -x .venv-blender/bin/python ]; then
    exit 0
fi
python=$(command -v python3.11 || command -v python3)
if ! "$python" -m venv .venv-blender || ! .venv-blender/bin/pip install -q bpy==5.0.1; then
    rm -rf .venv-blender
    echo "judges: bpy cannot be installed for $("$python" --version), Blender is left out" >&2
fi
