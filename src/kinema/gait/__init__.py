"""Procedural and recorded motions, with true stance for bodies with legs, and their captions.

`motions.py` is the table, from the files of `rows/`: one row (`kinds.MotionKind`) per gait or action. `cycle.py`,
`waves.py`, `wings.py` and the files of actions turn a row into a `plan.FootPlan`, `plan.solve` into joint angles;
`make.make_motion` does both. `recorded.py` carries clips over to other bodies, `captions.py` words what was made.
"""
