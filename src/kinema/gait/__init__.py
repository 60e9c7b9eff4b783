"""Procedural and recorded motions, with true stance for bodies with legs, their captions, and the words for them.

`motions.py` is the table, from the files of `rows/`: one row (`kinds.MotionKind`) per gait or action. `cycle.py`,
`waves.py`, `wings.py` and the files of actions turn a row into a `plan.FootPlan`, `plan.solve` into joint angles;
`make.make_motion` does both. `takes.py` lists recorded clips, `retarget.py` plays them on their own and on other
bodies, `recorded.py` cuts windows with labels out of them; `captions.py` words what was made.
"""
