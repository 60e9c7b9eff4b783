"""Distillation, where 3D meets diffusion: a prior's opinion of a rendered video becomes a motion.

`loop` runs it. It optimises `parameters` (a protocol: `skeleton` or `field`) over the steps of `schedule`, looks at
them through `window`s of the prior's length, and descends on the distance to sampled videos (`targets`) or on score
distillation (`sds`), plus `energies` of body and ground. `tempo` reads the pace off the prompt, `checkpoint` saves a
run, `config` holds the options of `kinema animate`.
"""
