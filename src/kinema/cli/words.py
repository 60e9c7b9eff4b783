"""`kinema read` and `kinema motions`: what a sentence is understood as, and what the embedded prior knows."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from kinema.cli.arguments import AS_FOUND, Reading
from kinema.cli.output import Output
from kinema.options import named


@dataclass(frozen=True)
class ReadCommand:
    """Say what a sentence is read as, without running anything."""

    prompt: Annotated[tyro.conf.Positional[str], named("PROMPT")]
    """The sentence: "a fox is dancing"."""
    file: Annotated[tyro.conf.Positional[str], named("ASSET")] = ""
    """A character file or the words of a built-in creature, whose kind of body counts; by default any."""
    reading: Reading = AS_FOUND


def read(command: ReadCommand, output: Output) -> None:
    from dataclasses import asdict

    from kinema.distill.prompt import refusal
    from kinema.errors import KinemaError
    from kinema.gait.sentence import sequence_parts
    from kinema.prior.nano.known import known_motions
    from kinema.prior.nano.reader import Reader, trained_names

    if not any(character.isalnum() for character in command.prompt):
        raise KinemaError(f"the prompt {command.prompt!r} has no words: say what the character does")
    body = _body(command.file, command.reading)
    reader, known = Reader.load(), trained_names(known_motions(), body)
    lines, parts = [], []
    for part in sequence_parts(command.prompt):
        reading = reader.read(part, body, known=known)
        sure = f"({reading.confidence:.0%}): {'known' if reading.known else 'not known'}"
        lines.append(f'"{reading.phrase}" is read as {reading.motion} {sure}')
        if not reading.known:
            lines.append(f"  {refusal(part, reading)}")
        found = (("nearest", ", ".join(reading.nearest)), ("manner", reading.manner), ("direction", reading.direction))
        lines += [f"  {name}: {value}" for name, value in (*found, ("body", body or "")) if value]
        parts.append({"prompt": part, "body": body, **asdict(reading)})
    # A sequence is a row for each part, any other sentence the one row that it always was.
    told = parts[0] if len(parts) == 1 else {"prompt": command.prompt, "parts": parts}
    output.say("\n".join(lines), **told)


@dataclass(frozen=True)
class MotionsCommand:
    """List the motions that the embedded prior knows, for a character or for every kind of body."""

    file: Annotated[tyro.conf.Positional[str], named("ASSET")] = ""
    """A character file or the words of a built-in creature; by default all kinds of body."""
    reading: Reading = AS_FOUND


def motions(command: MotionsCommand, output: Output) -> None:
    from dataclasses import asdict

    from kinema.gait.vocabulary import body_kind, vocabulary
    from kinema.prior.nano.known import known_motions

    body = _body(command.file, command.reading)
    rows = [row for row in known_motions() if body is None or body_kind(row.body) == body_kind(body)]
    lines = []
    for kind in dict.fromkeys(body_kind(row.body) for row in rows):
        lines.append(f"{kind}:")
        for row in sorted((r for r in rows if body_kind(r.body) == kind), key=lambda r: (not r.repeats, r.name)):
            said = vocabulary()[row.name].wordings[0].doing if row.name in vocabulary() else row.name
            pace = [f"{row.seconds:.1f} s {'a cycle' if row.repeats else 'long'}"] if row.seconds else []
            shown = [f"{row.clips} clips"] if row.clips else []
            lines.append(f"  {row.name:14s} {said}" + (f" ({', '.join(pace + shown)})" if pace + shown else ""))
    names = len({row.name for row in rows})
    lines.append(f"{names} motions" + (f" for this body ({body_kind(body)})" if body else ""))
    output.say("\n".join(lines), body=body, motions=[asdict(row) for row in rows])


def _body(file: str, reading: Reading) -> str | None:
    """The kind of body of a character; None if none is given."""
    if not file:
        return None
    from kinema.motion.source import find_character, rigged
    from kinema.rig.limbs import find_limbs

    return find_limbs(rigged(find_character(file, **reading.arguments()))).body
