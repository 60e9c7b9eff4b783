"""Articulated simulation with an adjoint, and tracking: the motion of a simulated body that is nearest to a given one.

`model` has the constants (`Model`, `State`, `Control`), `rollout` simulates with the native kernel, `twin` is its slow
specification in torch, `track` finds the motion by the `search` of controls, `measure` reports how a motion stands on
the ground.
"""
