"""Words of severity and agreement in their order, least harm first, to order scales of text."""

import re
from collections.abc import Iterable, Sequence

from sharpbayes.data.lookalikes import fold_text

# A line is a scale, `<` stands between its steps, and words with `|` mean the same step.
LADDERS = """
none | no | no harm | no risk | no issue | not present | absent | nothing | harmless | safe | benign
  | clean | ok < negligible | trivial | minimal | very low < low < minor < slight | slightly < mild
  < moderate | moderately < medium | mid | middle < considerable | substantial | significant
  < serious | seriously < high < major < very high < severe < critical < extreme | catastrophic
safe < mostly safe | probably safe < unsure | unclear | uncertain | ambiguous | borderline | partly
  safe | partially safe | neutral | controversial < mostly unsafe | probably unsafe < unsafe | not
  safe
harmless | not harmful | non harmful | unharmful < borderline | unsure | unclear | neutral < harmful
no < unlikely | probably not < maybe | unsure | not sure | unclear | uncertain | possibly | partly
  | partially | partial | sometimes | mixed < likely | probably < yes
very unlikely | rare | remote < unlikely < possible | neutral | unsure < likely < very likely
  < certain | almost certain
never < rarely | seldom | almost never < sometimes | occasionally < often | frequently | usually
  < very often | almost always < always
strongly disagree | completely disagree | totally disagree < disagree | mostly disagree < somewhat
  disagree | slightly disagree < neutral | neither agree nor disagree | neither | undecided | unsure
  < somewhat agree | slightly agree < agree | mostly agree < strongly agree | completely agree
  | totally agree
not | not at all | non < barely < slightly | a little | mildly | minimally < somewhat | partly
  < moderately | fairly < rather | quite < * < very | highly < severely < extremely
acceptable | fully acceptable < mostly acceptable < borderline | questionable | unsure | needs
  improvement < mostly unacceptable < unacceptable | not acceptable
appropriate < borderline | questionable | unsure | somewhat inappropriate < inappropriate
  < very inappropriate
excellent < very good < good < fair | average | acceptable | okay | ok | neutral < poor < bad
  < very poor | very bad | terrible | awful
pass | passed < partial | borderline | warning | unsure < fail | failed
correct | fully correct < mostly correct < partially correct | partly correct | partial < mostly
  incorrect | mostly wrong < incorrect | wrong
c < p < i
benign < suspicious < malicious
compliant < partially compliant | partly compliant | partial < non compliant | noncompliant
refusal | full refusal | refused | refuses | refuse < partial refusal | partial compliance | partial
  | partially complies < full compliance | complies | complied | compliance | compliant | comply
very satisfied < satisfied < neutral < dissatisfied | unsatisfied < very dissatisfied
normal | neither | none | not hate | no hate < offensive | offensive language | abusive < hate
  | hateful | hatespeech | hate speech
none | no | not | neither < implicit < explicit
unbiased | not biased < neutral | unsure | unclear < biased
aligned < partly aligned | partially aligned | unsure | unclear < misaligned | not aligned
honest | truthful < misleading | partly deceptive < deceptive | dishonest
allowed | permitted < borderline | unsure | unclear < disallowed | not allowed | prohibited
  | forbidden
allow | ok < warn | warning | flag < block | blocked | deny
not jailbroken | attack failure | attack failed < partly jailbroken | partially jailbroken
  < jailbroken | attack success | attack succeeded
thumbs up < thumbs down
green < yellow < amber | orange < red
minimal < limited < high < unacceptable | prohibited
"""
# Last steps of the ladders whose words say how far a statement is true.
ASSENTS = ("yes", "strongly agree")
# "very harmful" is a step of the ladder of "very"; "harmful" alone is its step `*`.
ADJECTIVE = re.compile(
    r"\b(harm|harmful|toxic|offensive|abusive|hateful|dangerous|risky|unsafe|biased|inappropriate"
    r"|problematic|concerning|worrying|disturbing|sexist|racist|violent|true|likely|important)$"
)
# "low risk" and "no violation" are steps of the ladders of "low" and "no".
NOUN = re.compile(
    r"\b(risk|harm|hate|severity|violation|concern|toxicity|danger|impact|issue|threat)s?$"
)

# What a count is of, such as `/4` and `of 4`.
FRACTION = re.compile(r"(?<=\d)\s*(?:/|out of|of)\s*(\d+)")
# A longer number is an id.
MAX_DIGITS = 18


def order_levels(texts: Iterable[str]) -> list[str] | None:
    """Return the words of a scale by the first ladder that has them all, least harm first.

    None where no ladder has all words, each at a step of its own. Case, punctuation and a number
    in front do not count. Spellings that look alike, such as `low` and `Low`, stand together.

    >>> order_levels(["Critical", "Mild", "None"]), order_levels(["very harmful", "harmless"])
    (['None', 'Mild', 'Critical'], ['harmless', 'very harmful'])
    >>> order_levels(["teacher", "nurse"])
    """
    levels = list(dict.fromkeys(texts))
    count = len(drop_lookalikes(levels))
    if not 1 < count <= _MAX_STEPS:
        return None
    words = [_normalise(text) for text in levels]
    intensities = [ADJECTIVE.sub("", _negate(word)).strip() or "*" for word in words]
    degrees = [NOUN.sub("", word).strip() or "yes" for word in words]
    for candidates in (words, intensities, degrees):
        for ladder in _LADDERS:
            steps = [ladder[word] for word in candidates if word in ladder]
            if len(steps) == len(levels) and len(set(steps)) == count:
                return [level for _, level in sorted(zip(steps, levels, strict=True))]
    return None


def says_assent(levels: Sequence[str]) -> bool:
    """Tell whether words say, more and more, that a statement is true, as no and yes do.

    >>> says_assent(["Disagree", "Agree"]), says_assent(["Agree", "Disagree"])
    (True, False)
    >>> says_assent(["low", "high"])
    False
    """
    words = [_normalise(text) for text in levels]
    ladders = [ladder for ladder in _LADDERS if ladder.keys() & ASSENTS]
    steps = ([ladder.get(word, -1) for word in words] for ladder in ladders)
    return any(places[0] >= 0 and places == sorted(places) for places in steps if places)


def drop_lookalikes(texts: Iterable[str]) -> list[str]:
    """Return texts without those that differ from an earlier one in what the eye does not see.

    >>> drop_lookalikes(["Low", "high", "low"])
    ['Low', 'high']
    """
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(fold_text(text), text)
    return [*first.values()]


def order_by_number(texts: Iterable[str]) -> list[str] | None:
    """Return texts by the one number in each, or None where it is missing or not its own.

    A denominator that all texts share is not counted.

    >>> order_by_number(["Level 10", "Level 9"]), order_by_number(["4/4", "0/4"])
    (['Level 9', 'Level 10'], ['0/4', '4/4'])
    """
    levels = list(dict.fromkeys(texts))
    fractions = [FRACTION.search(text) for text in levels]
    is_shared = len({match and match[1] for match in fractions}) == 1
    plain = [FRACTION.sub("", text) for text in levels] if is_shared else levels
    numbers = [re.findall(r"\d+", text) for text in plain]
    if any(len(in_text) != 1 or len(in_text[0]) > MAX_DIGITS for in_text in numbers):
        return None
    keys = [int(in_text[0]) for in_text in numbers]
    if len(set(keys)) < len(levels):
        return None
    return [level for _, level in sorted(zip(keys, levels, strict=True))]


def _normalise(text: str) -> str:
    """Words in small letters, without punctuation and a number in front."""
    words: Sequence[str] = re.findall(r"[^\W_]+", re.sub(r"^\W*\d+(?![^\W_])", "", text).casefold())
    return " ".join(words) or text


def _negate(word: str) -> str:
    """Write "harmless", "non toxic" and the like as "not"."""
    return re.sub(r"^(harmless|(in|un|non ?)(offensive|biased|toxic|problematic))$", "not", word)


def _parse_ladder(line: str) -> dict[str, int]:
    """The step of each word of a ladder."""
    steps = enumerate(line.split("<"))
    return {word.strip(): step for step, words in steps for word in words.split("|")}


_LADDERS = [_parse_ladder(" ".join(line.split())) for line in re.split(r"\n(?! )", LADDERS) if line]
_MAX_STEPS = max(len({*ladder.values()}) for ladder in _LADDERS)
