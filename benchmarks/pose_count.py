"""What was collected: `python benchmarks/pose_count.py FOLDER ...`, a row per folder and kind of body."""

import sys
from collections import defaultdict
from pathlib import Path

from kinema.posespace.shards import read_shard, shards_in


def main() -> None:
    print("| poses of | bodies | with a skeleton of our own | poses | poses with words | captions |")
    print("| --- | --- | --- | --- | --- | --- |")
    for folder in sys.argv[1:]:
        rows = defaultdict(list)
        for path in shards_in(Path(folder)):
            shard = read_shard(path)
            worded = sum(bool(shard.captions[k]) for k in shard.caption)
            rows[shard.family].append((shard.name.endswith("_auto"), len(shard.height), worded, set(shard.captions)))
        everything = [row for found in rows.values() for row in found]
        for family, found in (*sorted(rows.items()), (f"**{Path(folder).name}, {len(rows)} kinds**", everything)):
            own, poses, worded, captions = zip(*found)
            said = set().union(*captions) - {""}
            print(f"| {family} | {len(found):,} | {sum(own):,} | {sum(poses):,} | {sum(worded):,} | {len(said)} |")


if __name__ == "__main__":
    main()
