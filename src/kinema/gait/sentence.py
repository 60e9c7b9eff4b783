"""A sentence taken apart without a model: who, the verb phrase, words of manner and direction, and what cannot be done.

English has few forms and prompts are short, so the verb is found by rules: after an auxiliary ("is slowly trotting"),
else the first form of a known verb that is no adjective ("a flying octopus attacks"), else a word that looks like one.
"""

import re
import unicodedata
from dataclasses import dataclass

from kinema.gait import function_words as fw
from kinema.gait.inflection import participle, past_forms
from kinema.gait.lexicon import base_form, form_of, is_adverb, is_filler, lemma
from kinema.gait.vocabulary import PASSIVES

CUT = re.compile(rf"[\s,;]*(?:\b(?:and|but)[\s,]+)?{fw.SEQUENCES.pattern}[\s,]*", re.IGNORECASE)
"""What stands between two things that are done one after the other: ", and then"."""
PRONOUNS = {"it", "he", "she", "they"}
HELPERS = fw.BE | fw.MODALS | {"does", "did", "do", "has", "have", "had", "that", "who", "which"}


@dataclass(frozen=True)
class Sentence:
    """A prompt taken apart."""

    text: str
    subject: str
    """Who does it; empty for a bare verb phrase."""
    phrase: str
    """The verb phrase as it stands, "slowly trotting along"; the whole text where no verb was found."""
    core: str
    """The verb phrase as a participle, without words of pace: "trotting along"."""
    key: tuple[str, ...]
    """The core's words in base form without articles, to compare phrases by."""
    clauses: tuple[str, ...]
    """Verb phrases joined by "and", "while" or commas; one in most sentences."""
    manner: str
    """"fast", "slow" or nothing."""
    direction: str
    """"left", "right", "backwards" or nothing."""
    negated: bool
    sequence: bool
    """Tells of two things, one after the other."""
    several: bool
    """Tells of more than one character."""
    language: str
    """The language that it seems to be in."""
    label: str = ""
    """The whole text where it may be the name of a motion: "sword attack"."""


def take_apart(text: str) -> Sentence:
    """Find the verb phrase of a prompt and what is said around it."""
    plain = _normalise(text)
    language = _language(text, plain)
    plain = fw.TRAILERS.sub(" ", fw.CAMERA.sub("", plain, count=1)).strip(" ,") or plain
    plain = re.sub(r" , (?:which|who|that) [^,]*,", "", plain)
    manner = _manner(plain)
    plain = fw.LABELS.sub("", fw.ASIDE.sub("", fw.OPENING.sub("", plain)))
    words = plain.split()
    start, state = _find_verb(words)
    direction = _direction(words)
    label = _label(words, start)
    if start is None:
        several = _several(words, plain)
        return Sentence(text, "", plain, plain, make_key(plain), (plain,), manner, direction, _negated(words, None),
                        bool(fw.SEQUENCES.search(plain)), several, language, label)  # fmt: skip
    first = start
    while first > 0 and is_adverb(words[first - 1]):
        first -= 1
    ends = (i for i, word in enumerate(words[:first]) if word in HELPERS or lemma(word) in fw.PHASES)
    subject = words[: next(ends, first)]
    said = words[first:]
    if (
        first
        and words[first - 1] in fw.DETERMINERS
        and form_of(words[start]) == "gerund"
        and _names_only(words[start + 1 :])
    ):
        subject, said, words = [*subject, *words[start + 1 :]], words[first : start + 1], words[: start + 1]
    clauses = _clauses(words, start)
    return Sentence(
        text, " ".join(subject), " ".join(said).replace(" ,", ","), *_core(words[start:], state=state), clauses, manner,
        direction, _negated(words, start), bool(fw.SEQUENCES.search(" ".join(said))), _several(subject, plain),
        language, label,
    )  # fmt: skip


def sequence_parts(text: str) -> tuple[str, ...]:
    """A sentence for each thing that is done: "a fox walks, then sits down" is "a fox walks", "a fox sits down".

    A sentence that tells of one thing, or of several in a way that cannot be cut ("later", two sentences), stays whole.
    """
    parts = [part for part in (part.strip(" ,;.!?") for part in CUT.split(text)) if part]
    if len(parts) < 2 or _find_verb(_normalise(parts[0]).split())[0] is None:
        return (text,)
    subject = take_apart(parts[0]).subject.removesuffix(" first")
    return (parts[0], *(_with_subject(part, subject) for part in parts[1:]))


def _with_subject(part: str, subject: str) -> str:
    """The subject of an earlier sentence in front of one that has none, or in place of its pronoun."""
    own = take_apart(part).subject
    if not subject or (own and own not in PRONOUNS):
        return part
    return f"{subject} {part.split(maxsplit=1)[-1] if own else part}"


def make_key(phrase: str) -> tuple[str, ...]:
    """The words of a phrase in base form, without articles, possessives and words of pace."""
    words = [w for w in fw.PACE.sub(" ", phrase).replace(",", " ").split() if not is_filler(w)]
    return tuple(base_form(word) for word in words or phrase.split())


def _core(words: list[str], *, state: bool) -> tuple[str, tuple[str, ...]]:
    """The phrase with its verb as a participle, and its key."""
    text = fw.PACE.sub(" ", " ".join(words))
    kept = [word for word in text.split() if word not in fw.FAST | fw.SLOW | fw.INTENSIFIERS] or words
    if state and kept[0] in PASSIVES:
        kept = ["being", *kept]
    if state and kept[0] == "not":
        kept = ["not", "moving", *kept[2:]]
    if not state:
        kept = [participle(lemma(kept[0])), *kept[1:]]
    core = " ".join(kept).replace(" ,", ",")
    return core, make_key(core)


def _normalise(text: str) -> str:
    """Lower case, contractions written out, punctuation gone but for commas, hyphens and apostrophes."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    for short, full in (("can't", "can not"), ("won't", "will not"), ("n't", " not"), ("cannot", "can not")):
        text = text.replace(short, full)
    text = re.sub(r"\b(it|he|she|that|who|there|what)'s\b", r"\1 is", text)
    text = re.sub(r"'(?:re|ll|ve|m)\b", " are", text)
    text = re.sub(r"[.!?;:]+(?=\s+\w)", " then ", text.strip())
    return " ".join(re.sub(r"[^\w\s,'-]", " ", text).replace(",", " , ").split())


def _find_verb(words: list[str]) -> tuple[int | None, bool]:
    """Index of the verb that counts, and True where a form of "be" leads to a state ("is in flight")."""
    for index, word in enumerate(words):
        follows = words[index + 1] if index + 1 < len(words) else ""
        helps = (word in fw.BE and word != "being") or (word in fw.MODALS and index > 0)
        helps |= word in ("do", "does", "did") and follows == "not"
        helps |= word in ("has", "have", "had") and (follows == "been" or form_of(follows) == "past")
        if helps and index + 1 < len(words):
            return _after_auxiliary(words, index + 1)
    found = _plain_verb(words)
    return (None, False) if found is None else (_skip_phase(words, found), False)


def _after_auxiliary(words: list[str], index: int) -> tuple[int, bool]:
    first = index
    while index < len(words) and (
        words[index] in fw.BE | fw.MODALS | fw.NEGATIONS | {"also", "currently", "about", "going", "to"}
        or is_adverb(words[index])
    ):
        if words[index] == "going" and words[index + 1 : index + 2] != ["to"]:
            break
        index += 2 if words[index] == "going" else 1
    if index >= len(words):
        return first, True
    kind = form_of(words[index])
    passive = words[first - 1] in fw.BE and kind is not None and words[index] in past_forms(lemma(words[index]))
    if passive or words[index - 1 : index + 1] in (["not", "moving"], ["not", "move"]):
        return index - (not passive), True
    return (_skip_phase(words, index), False) if kind is not None else (index, True)


def _skip_phase(words: list[str], index: int) -> int:
    """Go on from "starts to" and "keeps" to the verb that they lead to."""
    while lemma(words[index]) in fw.PHASES or words[index] in ("to",):
        step = next(
            (k for k in (1, 2, 3) if index + k < len(words) and form_of(words[index + k]) in ("base", "gerund")), None
        )
        if step is None:
            break
        index += step
    return index


def _plain_verb(words: list[str]) -> int | None:
    """The verb of a sentence without auxiliary."""
    kinds = [form_of(word) for word in words]
    finite = [i for i, kind in enumerate(kinds) if kind in ("third", "gerund", "past")]
    for place in finite:
        before = words[place - 1] if place else ""
        later = [i for i in finite if i > place and words[i - 1] not in fw.DETERMINERS]
        attributive = before in fw.DETERMINERS or (place == 0 and kinds[0] == "past")
        inside = any(w in fw.PREPOSITIONS or w == "of" for w in words[:place]) and kinds[place] == "third"
        if (attributive or inside) and later and (kinds[place] != "third" or before in fw.DETERMINERS or inside):
            continue
        if kinds[place] in ("third", "past") and before in fw.DETERMINERS:
            continue
        if kinds[0] == "base" and not any(words[i] in ("and", ",") for i in range(place)) and _imperative(words, place):
            return 0
        return place
    return _bare_verb(words, kinds)


def _label(words: list[str], start: int | None) -> str:
    """Two or three words that end in a verb that is also a noun, with nothing small between them."""
    small = fw.DETERMINERS | fw.PREPOSITIONS | HELPERS | fw.NUMBERS | {"and", "then", ",", "he", "she", "it"}
    if not 2 <= len(words) <= 3 or any(word in small for word in words):
        return ""
    noun = start is None or (form_of(words[-1]) == "base" and (start == len(words) - 1 or form_of(words[0]) == "base"))
    return " ".join(words) if noun or words[-1] in ("reaction", "attack", "pose", "stance") else ""


def _names_only(words: list[str]) -> bool:
    """At most two words, none of them small: "a galloping horse"."""
    small = fw.DETERMINERS | fw.PREPOSITIONS
    return 0 < len(words) <= 2 and not any(word in small or is_adverb(word) for word in words)


def _imperative(words: list[str], place: int) -> bool:
    """A base form in front is the verb if an object or a place stands between it and the next verb form."""
    between = words[1:place]
    small = fw.DETERMINERS | fw.PREPOSITIONS | fw.NUMBERS | fw.WHERE
    return bool(between) and (between[0] in small or is_adverb(between[0]))


def _bare_verb(words: list[str], kinds: list[str | None]) -> int | None:
    """A base form ("trot slowly", "make the fox trot"), or a word in -s behind the subject ("a man yodels")."""
    start = next((i for i, word in enumerate(words) if not is_adverb(word)), 0)
    if kinds and kinds[start] == "base":
        return start
    for index, word in enumerate(words):
        looks = word.endswith("s") and not word.endswith(("ss", "us", "'s")) and word not in fw.NOT_THIRD_PERSON
        if index >= 1 and looks and words[index - 1] not in fw.DETERMINERS | fw.PREPOSITIONS | fw.NUMBERS:
            return index
    return next((i for i, k in enumerate(kinds) if k == "base" and words[i - 1] not in fw.DETERMINERS and i > 0), None)


def _clauses(words: list[str], start: int) -> tuple[str, ...]:
    """The verb phrases of a sentence, each as a participle."""
    form, cuts = form_of(words[start]), [start]
    for index in range(start + 2, len(words)):
        joins = words[index - 1] in ("and", "while", ",", "then", "or")
        if joins and form_of(words[index]) in (form, "gerund") and form_of(words[index]) is not None:
            cuts.append(index)
    parts = [words[a:b] for a, b in zip(cuts, [*cuts[1:], len(words)])]
    trimmed = [" ".join(part).rstrip(" ,").removesuffix(" and").removesuffix(" while").rstrip(" ,") for part in parts]
    return tuple(_core(part.split(), state=form_of(part.split()[0]) is None)[0] for part in trimmed if part)


def _manner(text: str) -> str:
    words = set(text.split())
    pace = " ".join(match[0] for match in fw.PACE.finditer(text))
    slow = words & fw.SLOW or re.search(r"\b(?:slow|easy|leisurely|gentle|no hurry|relaxed|low)\b", pace)
    fast = words & fw.FAST or re.search(r"\b(?:fast|full|top|high|great|hurry|rush|quick|brisk|flat)\b", pace)
    return "slow" if slow else "fast" if fast else ""


def _direction(words: list[str]) -> str:
    for index, word in enumerate(words):
        after = words[index + 1] if index + 1 < len(words) else ""
        before = words[index - 1] if index else ""
        if word in ("left", "right") and after not in fw.LIMB_WORDS and after != "and" and before not in ("and", "its"):
            return word
        if word in ("backward", "backwards") or (word == "reverse" and before == "in"):
            return "backwards"
    return ""


def _negated(words: list[str], start: int | None) -> bool:
    """A word of negation, but for phrases of the thesaurus that have one ("not moving", "shakes its head no")."""
    text = " ".join(base_form(word) for word in words)
    text = re.sub(
        r"\bnot move|do not move\b|head no\b|say no\b|do nothing\b|no hurry|no rush|no weight"
        r"|hardly (?:stay|stand|walk|keep)|\bno with (?:its|his|her|a|the) |(?:mean|signal|indicate|answer) no\b"
        r"|without (?:move|fly|flap|make|stop|hurry|a (?:sound|noise|word|wingbeat|break|pause|beat))\b",
        " ",
        text,
    )
    return any(word in fw.NEGATIONS for word in text.split()) or bool(
        re.search(r"\b(?:refuse to|stop (?:\w+ing)|no longer|instead of)\b", " ".join(words))
    )


def _several(subject: list[str], text: str) -> bool:
    """The subject is a number or group of characters, or they do it to each other."""
    if fw.TOGETHER.search(text) or set(subject) & fw.PLURALS or fw.NUMBERS & set(subject[:3]):
        return True
    if any(word in fw.GROUPS and subject[i + 1 : i + 2] == ["of"] for i, word in enumerate(subject)):
        return True
    joined = [i for i, word in enumerate(subject) if word in ("and", ",") and i + 1 < len(subject)]
    if any(subject[i + 1] in fw.DETERMINERS for i in joined):
        return True
    return bool(re.search(r"\w+[^s ]s (?:are|were)\b", text)) and not text.startswith("you")


def _language(text: str, plain: str) -> str:
    letters = [c for c in text if c.isalpha()]
    foreign = [c for c in letters if not unicodedata.name(c, "").startswith("LATIN")]
    if letters and len(foreign) > 0.3 * len(letters):
        return unicodedata.name(foreign[0], "another").split()[0].capitalize()
    words = plain.replace(",", " ").split()
    counts = {name: sum(word in known for word in words) for name, known in fw.LANGUAGES.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= 2 and counts[best] > sum(word in fw.ENGLISH for word in words) else "English"
