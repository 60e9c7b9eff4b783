"""Images and videos of Gaussians: rasterizers (`rasterize`), ground, shadow and sky (`scene`), cameras (`follow`), a
character ready to render (`stage`), films to files (`show`, `video`), and splats fitted to a mesh (`refine`)."""
