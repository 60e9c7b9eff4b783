"""Decode Draco meshes: a program of its own, because broken bytes crash the decoder or make it ask for all memory.

Arguments: the most memory [bytes] and processor time [s]. Input: the meshes, each behind its length (8 bytes, little
endian). Output: an .npz with K/faces and K/ID of each mesh K and attribute ID; or one line on stderr, K and the reason.
"""

import os
import resource
import sys

for limit, value in zip((resource.RLIMIT_AS, resource.RLIMIT_CPU), map(int, sys.argv[1:])):
    resource.setrlimit(limit, (value, value))
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads would take memory

import DracoPy  # noqa: E402
import numpy as np  # noqa: E402


def main() -> None:
    arrays, data = {}, sys.stdin.buffer
    for number in range(sys.maxsize):
        size = data.read(8)
        if not size:
            break
        try:
            mesh = DracoPy.decode(data.read(int.from_bytes(size, "little")))
            faces = getattr(mesh, "faces", None)
            if faces is None:
                raise ValueError("a cloud of points, not a mesh")
            arrays[f"{number}/faces"] = np.asarray(faces)
            for attribute in mesh.attributes:
                arrays[f"{number}/{attribute['unique_id']}"] = np.asarray(attribute["data"])
        except Exception as error:  # a decoder on broken bytes raises anything
            reason = str(error).strip().splitlines() or [type(error).__name__]
            sys.exit(f"{number} {reason[0][:200]}")
    np.savez(sys.stdout.buffer, **arrays)


if __name__ == "__main__":
    main()
