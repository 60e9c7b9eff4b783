"""How well unknown words are placed: each word of `KIN` left out in turn, things and nonsense that must be refused.

python benchmarks/kin.py
"""

from kinema.create.creatures.kin import KIN, find_kin
from kinema.create.creatures.table import SPECIES

NEW_THINGS = (
    "keyboard", "sofa", "spoon", "cathedral", "justice", "microwave", "volcano", "candle", "engine", "theory", "winter",
    "umbrella", "carpet", "hospital", "poem", "bridge", "laptop", "sandwich", "mathematics", "curtain",
)  # fmt: skip
NONSENSE = ("blorf", "flurbgrub", "xqzzt", "wugug", "zorp", "glimp", "qqq", "ttrrk", "vlomp", "zzzz")


def main() -> None:
    found = {word: find_kin(word, without=word) for word in KIN}
    known = {word: kin for word, kin in found.items() if kin is not None}
    families = {word: SPECIES[next(iter(kin.shares))].family for word, kin in known.items()}
    right = sum(family == SPECIES[next(iter(KIN[word].shares))].family for word, family in families.items())
    print(f"kin.words {len(KIN)}")
    print(f"kin.accepted {len(known) / len(KIN):.3f}")
    print(f"kin.family_right_of_accepted {right / len(known):.3f}")
    print(f"kin.things_refused {sum(find_kin(word) is None for word in NEW_THINGS) / len(NEW_THINGS):.3f}")
    print(f"kin.nonsense_refused {sum(find_kin(word) is None for word in NONSENSE) / len(NONSENSE):.3f}")


if __name__ == "__main__":
    main()
