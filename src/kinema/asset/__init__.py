"""Stage 1: character files in.

`load` reads a `Character` (mesh, skeleton, weights, clips) from any format; `inspect` describes it. One module or
package per format: `gltf/`, `bvh`, `trimesh_formats` (OBJ, PLY, STL, OFF), `blender` (FBX, BLEND, USD),
`skeleton_json`, `clips_npz`. `rigs/` finds orientation and scale and turns any joints into one tree.
"""
