"""glTF 2.0: `schema` and `document` parse a file, `accessors` its numbers, `geometry` its meshes.

`animation` evaluates it as the specification says; `rest`, `rig`, `clips` and `character` turn it into a Character, or
only into its joints.
"""
