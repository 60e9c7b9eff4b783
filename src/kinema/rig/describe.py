"""The roles of a rig's joints as `kinema inspect` shows them."""

from typing import Any

from kinema.asset.character import Character, listed
from kinema.errors import KinemaError
from kinema.rig.limbs import find_limbs

DOUBTFUL = 0.7
"""Confidence below which a role should be looked at."""


def describe_roles(character: Character) -> dict[str, Any]:
    """Number, joints and confidence of each role, as plain values for JSON."""
    skeleton, limbs = character.skeleton, find_limbs(character)
    if skeleton is None:
        raise KinemaError(f"{character.name}: has no skeleton; rig it first")
    chains: dict[str, list[tuple[int, ...]]] = {
        "legs": [leg.joints for leg in limbs.legs],
        "arms": [arm.joints for arm in limbs.limbs_of("arm")],
        "wings": [arm.joints for arm in limbs.limbs_of("wing")],
        "fins": [arm.joints for arm in limbs.limbs_of("fin")],
        "tails": list(limbs.tails),
        "heads": [(joint,) for joint in limbs.heads],
    }
    roles: dict[str, Any] = {
        role: {
            "count": len(found),
            "joints": [[skeleton.names[j] for j in chain] for chain in found],
            "confidence": round(limbs.confidence[role], 3),
        }
        for role, found in chains.items()
    }
    return roles | {
        "necks": [skeleton.names[j] for j in limbs.neck],
        "spine": [skeleton.names[j] for j in limbs.spine],
        "body": limbs.body,
        "ground": limbs.ground,
        "confidence": round(limbs.certainty, 3),
    }


def role_lines(roles: dict[str, Any]) -> list[str]:
    """`describe_roles` as text."""
    ground = "" if roles["ground"] else ", no ground below it"
    lines = [f"body      {roles['body']}{ground}, confidence {roles['confidence']:.2f}"]
    for role, found in roles.items():
        if isinstance(found, dict) and (found["count"] or found["confidence"] < DOUBTFUL):
            chains = [f"{chain[0]} > {chain[-1]}" if len(chain) > 1 else chain[0] for chain in found["joints"]]
            doubt = ", look at it" if found["confidence"] < DOUBTFUL else ""
            joints = f": {listed(chains, 8)}" if chains else ""
            lines.append(f"  {role:<7} {found['count']} (confidence {found['confidence']:.2f}{doubt}){joints}")
    if roles["confidence"] < DOUBTFUL:
        lines.append("  if a role is wrong: --legs A,B,... with a joint of each leg, or roles in a skeleton's JSON")
    return lines
