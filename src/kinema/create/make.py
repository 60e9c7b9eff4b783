"""A character from words: a built-in body, or the mesh of a model or an outside program, made fit to be rigged."""

from dataclasses import dataclass

from kinema.asset.character import Character
from kinema.create.creatures import creature, read_words
from kinema.create.options import MADE_HERE, MakerOptions
from kinema.errors import KinemaError, check_number

SHAP_E = "shap-e"


@dataclass(frozen=True)
class Made:
    """A character and what the user should know about how it was made."""

    character: Character
    """A built-in body is rigged, any other mesh is bare."""
    notes: tuple[str, ...] = ()


def make_character(words: str, options: MakerOptions = MADE_HERE, *, seed: int | None = None) -> Made:
    """Make a character; `options` say by whom."""
    check_number("--maker-seconds", options.maker_seconds, 1, 1e6)
    check_number("--most-faces", options.most_faces, 500, 10_000_000)
    if options.image is not None and not options.image.is_file():
        raise KinemaError(f"--image {options.image}: no such file")
    if options.maker is None:
        if options.image is not None:
            raise KinemaError(f"--image {options.image}: built-in bodies are made from words; give --with a program")
        note = read_words(words).note
        return Made(creature(words, seed=seed), (note,) if note else ())
    from kinema.create.tidy import tidy

    name, equals, folder = options.maker.partition("=")
    if name == SHAP_E:
        from kinema.create.shap_e import shap_e

        if options.image is not None:
            raise KinemaError(f"--image {options.image}: shap-e is told words; another program may take a picture")
        made = shap_e(words, folder if equals else None, seed=seed or 0)
        return tidy(made, most_faces=options.most_faces, usual_up="+z")
    from kinema.create.program import run_program

    made = run_program(options.maker, words, options.image, seconds=options.maker_seconds)
    return tidy(made, most_faces=options.most_faces)
