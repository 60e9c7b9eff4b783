"""glTF and GLB: the document, its nodes, meshes, skins, materials and animations."""
