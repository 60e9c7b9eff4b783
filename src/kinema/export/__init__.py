"""Files out: characters with their clips as glTF, BVH, USD, FBX, BLEND, NPZ and JSON, and as scenes for simulators."""
