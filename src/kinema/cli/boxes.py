"""Boxes of `--help`: the long one of many options becomes several with titles."""

import re

COLOUR = re.compile(r"\x1b\[[\d;]*m")
NAME = re.compile(r"--[a-z][a-z-]*")


def split_box(shown: str, groups: dict[str, tuple[str, ...]], *, rest: str) -> str:
    """Help with its box of options as one box per group; options that no group names stand in `rest`, the last one."""
    lines = shown.splitlines()
    plain = [COLOUR.sub("", line) for line in lines]
    # Where there is no Unicode, a box is a title over hyphens, and ends in an empty line.
    begin = next((k for k, line in enumerate(plain) if re.match(r"╭─ options ─| options$", line)), None)
    if begin is None:
        return shown
    first = begin + (1 if plain[begin].startswith("╭") else 2)
    end = next((k for k, line in enumerate(plain) if k >= first and (line.startswith("╰") or not line)), len(lines))
    entries: list[list[str]] = []
    for line, text in zip(lines[first:end], plain[first:end]):
        if re.match("[│ ] -", text):
            entries.append([])
        entries[-1].append(line)
    named = {_name(entry): entry for entry in entries}
    taken = {name for names in groups.values() for name in names}
    groups = {**groups, rest: tuple(name for name in named if name not in taken)}
    split = []
    for title, names in groups.items():
        split += [_titled(lines[begin], title), *lines[begin + 1 : first]]
        split += [*(line for name in names for line in named.get(name, ())), *lines[end : end + 1]]
    return "\n".join((*lines[:begin], *split, *lines[end + 1 :])) + "\n"


def _name(entry: list[str]) -> str:
    found = NAME.search(COLOUR.sub("", entry[0]))
    return found.group() if found else ""


def _titled(top: str, title: str) -> str:
    """The box's upper edge with another title, as wide as before."""
    dashes = "─" * (len(title) - len("options"))
    return re.sub(f"{dashes}(─*)╮", r"\1╮", top.replace("options", title, 1), count=1)
