"""The long description: who, what it looks like, what it does."""

from kinema.create.creatures import creature
from kinema.distill.config import Animate
from kinema.distill.describe import describe, main_colors


def test_a_description_holds_prompt_kind_and_colours() -> None:
    fox = creature("red fox")
    text = describe("a red fox is trotting.", fox)
    assert text.startswith("A red fox is trotting. ")
    assert "single red fox" in text
    assert all(color in text for color in main_colors(fox))
    assert "checkerboard" in text
    assert "checkerboard" not in describe("a red fox is trotting", fox, ground=False)
    assert "single ostrich" in describe("it jumps", creature("ostrich"))
    assert len(text.split()) > 60
    assert text == describe("a red fox is trotting", fox)


def test_the_prior_hears_the_description_and_the_pace_is_read_off_the_prompt() -> None:
    assert Animate("fox", "a fox walks").told == "a fox walks"
    assert Animate("fox", "a fox walks", description="a long text").told == "a long text"
