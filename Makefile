# On a fresh machine with Python 3.11 and a C++ compiler, `make demo` and `make test` do everything.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# How long torch's OpenMP workers spin before they sleep; see src/kinema/__init__.py.
export GOMP_SPINCOUNT := 10000
# PyPI's torch for Linux brings 5 GB of CUDA along, which a machine without an NVIDIA card has no use for.
TORCH_CPU ?= https://download.pytorch.org/whl/cpu

.PHONY: setup demo test test-all bench lint native sanitize judges clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt CMakeLists.txt $(wildcard native/*/*)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	@test "$$(uname -s)" != Linux || command -v nvidia-smi >/dev/null || $(BIN)/pip install -q -c constraints.txt \
	  --no-deps --retries 0 --index-url $(TORCH_CPU) torch 2>/dev/null || echo "no torch at $(TORCH_CPU): taking PyPI's"
	$(BIN)/pip install -q -c constraints.txt scikit-build-core nanobind cmake ninja torch
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation -e '.[test,lint]'
	@touch $@

# Rebuild the kernels only, for work on native/.
native:
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation --no-deps -e .

# Independent programs that judge our exports in the tests: gltf-validator (node) and Blender (in a venv of its own).
judges:
	tests/judges/install.sh

# The kernels under AddressSanitizer and UndefinedBehaviorSanitizer (GCC), and the tests that run them. Leaks are not
# looked for: Python itself leaves memory to the end.
SANITIZED := build/sanitize
sanitize: setup
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B $(SANITIZED) -G Ninja -DKINEMA_SANITIZE=ON \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE="$(abspath $(BIN))/python"
	PATH="$(abspath $(BIN)):$$PATH" cmake --build $(SANITIZED)
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  KINEMA_KERNELS=$(SANITIZED) PYTHONPATH=tests $(BIN)/python -m pytest -q -m "not slow" -p sanitized_kernels \
	  tests/render/test_rasterize.py tests/render/test_rasterize_harmonics.py tests/render/test_scene.py \
	  tests/splat/test_splats.py tests/geometry/test_distance_field.py tests/geometry/test_contact.py tests/physics/test_adjoint.py \
	  tests/physics/test_physics_laws.py

demo: setup
	$(BIN)/kinema demo -o demo

test: setup lint
	$(BIN)/pytest -q -m "not slow" -n 2

test-all: setup lint
	$(BIN)/pytest -q -n 2

bench: setup
	$(BIN)/python benchmarks/run.py

lint: setup
	$(BIN)/ruff check src examples tests benchmarks
	$(BIN)/ruff format --check src examples tests benchmarks
	$(BIN)/pyright
	$(BIN)/lint-imports

clean:
	rm -rf build $(VENV) src/kinema/*.so
