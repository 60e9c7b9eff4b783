"""The glTF writer: document, nodes and meshes, skins, channels of animations."""
