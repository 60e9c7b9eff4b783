"""The words that the rules know: forms of verbs, adverbs, and phrases outside the vocabulary."""

import re
from functools import cache
from pathlib import Path

from kinema.gait import function_words as fw
from kinema.gait.inflection import participle, past_forms, third_person
from kinema.gait.vocabulary import THESAURUS, vocabulary

OUTSIDE = Path(__file__).with_name("outside.txt")


@cache
def verb_forms() -> dict[str, tuple[str, str]]:
    """Forms of the verbs in the thesaurus and outside of it: to the base form and to what form it is."""
    verbs = {word for words in vocabulary().values() for each in words.wordings for word in (each.base.split()[0],)}
    marked = re.findall(r"~([\w-]+)", THESAURUS.read_text(encoding="utf-8"))
    verbs |= {phrase.split()[0] for phrase in outside_phrases()} | set(marked) | fw.PHASES
    table: dict[str, tuple[str, str]] = {}
    for verb in sorted(verbs):
        for form in past_forms(verb):
            table.setdefault(form, (verb, "past"))
    for verb in sorted(verbs):
        table[third_person(verb)] = (verb, "third")
        table[participle(verb)] = (verb, "gerund")
        table[verb] = (verb, "base")
    # Forms that two verbs share mean the commoner one, and "left" is a side.
    return {form: value for form, value in table.items() if form != "left"} | {"fell": ("fall", "past")}


@cache
def outside_phrases() -> tuple[str, ...]:
    """Everyday verb phrases that no motion of the vocabulary means."""
    text = re.sub(r"^(?:#.*)?$", ",", OUTSIDE.read_text(encoding="utf-8"), flags=re.M)  # a new section, a new phrase
    return tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip()))


def lemma(word: str) -> str:
    """Base form of a verb; of an unknown one by rule."""
    if word in verb_forms():
        return verb_forms()[word][0]
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl":
            return stem[:-1]
        return stem
    for ending, new in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss"):
            return word[: -len(ending)] + new
    return word


def base_form(word: str) -> str:
    if word in verb_forms():
        return verb_forms()[word][0]
    if word in ("himself", "herself", "themselves", "oneself", "myself"):
        return "itself"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us")) else word


def is_filler(word: str) -> bool:
    return word in fw.DETERMINERS | fw.FAST | fw.SLOW | fw.INTENSIFIERS | fw.BE | fw.NUMBERS


def is_adverb(word: str) -> bool:
    return (word.endswith("ly") and len(word) > 4 and word not in fw.NOT_ADVERBS) or word in fw.FAST | fw.INTENSIFIERS


def form_of(word: str) -> str | None:
    """What form of a verb a word may be: known forms, or any word in -ing."""
    if word in verb_forms():
        return verb_forms()[word][1]
    return "gerund" if word.endswith("ing") and len(word) > 4 and word not in fw.NOT_GERUNDS else None
