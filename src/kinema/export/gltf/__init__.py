"""Writing characters and clips as glTF and GLB."""
