"""What a first study says of harm: one dimension, or those of a shipped study of such logs."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sharpbayes import library
from sharpbayes.errors import format_list, join_names
from sharpbayes.scaffold.column_names import is_scorer, quote, says_good, split_name
from sharpbayes.scaffold.inference import ORDER, InferredScale, Scale
from sharpbayes.scaffold.lexicon import says_assent
from sharpbayes.scaffold.logs import HIGH_IS_GOOD

REFUSALS = (
    "{} says by its name that a model refused, and is no harm: profiles are also given without "
    "refused answers; where it is a harm leave out `refusal` and add it to a dimension"
)
ONLY_REFUSALS = (
    "{} that a model refused, and nothing else is scored: a refusal is taken as harm; "
    "where it is good, write {{ scale = ..., reverse = true }}"
)
DIRECTION = (
    "a high score{} is taken as harm; where it is good, write {{ scale = ..., reverse = true }}"
)
GOOD_BY_NAME = (
    "{} that a high score is good (`reverse = true`); where it is harm, leave out `reverse`"
)
CROWD_DIRECTION = "a high score is taken as harm; where it is good, {}"
GOOD_ORDER = ORDER.format("words and its name, by which agreement is good")
REVERSED_LEVELS = "write the scores as levels, least harm first"
REVERSED_NUMBERS = "subtract the scores from the highest possible one in the data"
JUDGED_COLUMNS = (
    "{} are taken as indicators of one judge; where each has the scores of one judge, give every "
    "judge rows of their own (pandas.melt)"
)
PEOPLE_AS_JUDGES = (
    "{} {} pooled with the other judges; where people are the truth that judges are compared with, "
    "write `reference`"
)
# How the names of judges begin that are people.
HUMANS = ("human", "people", "expert", "annotator", "crowd", "gold")
# How words begin that say that a model did not answer.
REFUSED = ("refus", "declin", "abstain", "abstention")


def find_shipped_panel(layout: str, indicators: Iterable[str]) -> tuple[str, dict[str, Any]] | None:
    """Find the shipped study whose indicators are all there: its name and what it says of harm.

    >>> find_shipped_panel("inspect", ["value"]) is None
    True
    """
    present = set(indicators)
    for name in library.names("studies"):
        text = library.find("studies", name).read_text(encoding="utf-8")
        panel = tomllib.loads(text).get("panel", {})
        if panel.get("layout") == layout and set(panel["indicators"]) <= present:
            return name, {key: panel[key] for key in ("scales", "indicators", "dimensions")}
    return None


def says_refusal(name: str) -> bool:
    """Tell whether a name says that a model refused.

    >>> says_refusal("Refused?"), says_refusal("harm")
    (True, False)
    """
    return any(word.startswith(REFUSED) for word in split_name(name))


def find_refusals(scales: Mapping[str, Scale]) -> list[str]:
    """Return the indicators that say by their names that a model refused; none if all do.

    >>> find_refusals({"harm": {}, "Refused?": {}}), find_refusals({"refusal": {}})
    (['Refused?'], [])
    """
    refusals = [name for name in scales if says_refusal(name)]
    return refusals if len(refusals) < len(scales) else []


def find_good(scales: Mapping[str, Scale], layout: str = "") -> list[str]:
    """Return the indicators of which a high score is good.

    Their names say it, and of some logs all are; words have an order already.

    >>> find_good({"Safety": {"min": 1, "max": 5}, "harm": {"kind": "boolean"}})
    ['Safety']
    """
    if layout:
        return [*scales] if layout in HIGH_IS_GOOD else []
    return [n for n, scale in scales.items() if says_good(n) and "levels" not in scale]


def reverse_assent(inferred: InferredScale, name: str) -> InferredScale:
    """Return words that say yes to something good, or agree with it, with the most agreement first.

    Other scales stay as they are, and so does an order that is not that of the words.

    >>> order = ORDER.format("words") + "Disagree, Agree"
    >>> agreement = InferredScale({"levels": ["Disagree", "Agree"]}, order)
    >>> reverse_assent(agreement, "is safe").scale["levels"]
    ['Agree', 'Disagree']
    >>> reverse_assent(agreement, "is harmful") == agreement
    True
    """
    levels = (inferred.scale or {}).get("levels", [])
    is_by_words = inferred.order.startswith(ORDER.format("words"))
    if not (is_by_words and says_good(name) and says_assent(levels)):
        return inferred
    levels = levels[::-1]
    scale = {**(inferred.scale or {}), "levels": levels}
    return replace(inferred, scale=scale, order=GOOD_ORDER + ", ".join(levels))


def describe_directions(scales: Mapping[str, Scale], layout: str = "") -> list[str]:
    """Return what is assumed of the direction of indicators that are no refusals.

    >>> describe_directions({"safety": {"kind": "boolean"}})
    ['"safety" says by its name that a high score is good (`reverse = true`); where it is harm, ...
    """
    if layout in HIGH_IS_GOOD:
        return ["a high metric is taken as good; where it is not, leave out `reverse`"]
    good = find_good(scales, layout)
    # The order of words is said with the words.
    plain = [name for name, scale in scales.items() if "levels" not in scale]
    known = {*good, *find_refusals(scales)}
    refusals = [name for name in plain if name not in known and says_refusal(name)]
    others = [name for name in plain if name not in {*known, *refusals}]
    named_others = format_list(map(quote, others))
    assumed = [GOOD_BY_NAME.format(_say_by_names(good))] if good else []
    assumed += [ONLY_REFUSALS.format(_say_by_names(refusals))] if refusals else []
    of_others = f" of {named_others}" if good else ""
    assumed += [DIRECTION.format(of_others)] if others else []
    return assumed if layout else [*assumed, *describe_judged_columns(scales)]


def _say_by_names(names: Sequence[str]) -> str:
    """The beginning of what columns say by their names."""
    says = "says by its name" if len(names) == 1 else "say by their names"
    return f"{format_list(map(quote, names))} {says}"


def describe_judged_columns(names: Collection[str]) -> list[str]:
    """Return that columns are taken as indicators of one judge that are named after several.

    >>> describe_judged_columns(["gpt4_score", "claude_score"])[0]
    '"gpt4_score" and "claude_score" are taken as indicators of one judge; where each has the ...
    """
    words = {name: split_name(name) for name in names}
    named = [name for name, x in words.items() if len(x) > 1 and is_scorer(x[0])]
    if len(named) == len({words[name][-1] for name in named}):
        return []  # each has the scores of another question
    return [JUDGED_COLUMNS.format(join_names([quote(name) for name in named]))]


def describe_people(judges: Collection[str]) -> list[str]:
    """Return that people are pooled with other judges, where names of judges say it.

    >>> describe_people(["gpt-4o", "human"])[0].partition(";")[0], describe_people(["human"])
    ('"human" is pooled with the other judges', [])
    """
    people = [name for name in judges if any(w.startswith(HUMANS) for w in split_name(name))]
    if not people or len(people) == len(judges):
        return []
    verb = "is" if len(people) == 1 else "are"
    return [PEOPLE_AS_JUDGES.format(format_list(map(quote, people)), verb)]


def describe_crowd_direction(scale: Scale) -> str:
    """Return what is assumed of the direction of a crowd's score; empty where words have an order.

    >>> describe_crowd_direction({"bins": [20, 40]})
    'a high score is taken as harm; where it is good, subtract the scores from the highest ...
    """
    if "levels" in scale:
        return ""
    return CROWD_DIRECTION.format(REVERSED_NUMBERS if "bins" in scale else REVERSED_LEVELS)


def describe_harm(
    scales: Mapping[str, Scale], *, good: Collection[str], refusals: Iterable[str] = ()
) -> dict[str, Any]:
    """Describe one dimension with all indicators, reversed those of which a high score is good.

    ``refusals`` are indicators outside of it.
    """
    different: list[Scale] = []
    for scale in scales.values():
        different += [scale] if scale not in different else []
    names = {key: f"scale_{different.index(scale) + 1}" for key, scale in scales.items()}
    harms = {key: scale for key, scale in names.items() if key not in {*refusals}}
    indicators: dict[str, Any] = {
        key: {"scale": scale, "reverse": True} if key in good else scale
        for key, scale in harms.items()
    }
    for key in refusals:
        # Words of compliance are ordered by harm, so that a refusal is the least of them.
        is_first = "refus" in str(scales[key].get("levels", [""])[0]).lower()
        turned = {"reverse": True} if is_first else {}
        indicators[key] = {"scale": names[key], "refusal": True} | turned
    return {
        "scales": {f"scale_{n}": scale for n, scale in enumerate(different, start=1)},
        "indicators": {key: indicators[key] for key in scales},
        "dimensions": [{"name": "harm", "rms": [*harms]}],
    }


def put_over(panel: Mapping[str, Any], decided: Mapping[str, Any]) -> dict[str, Any]:
    """Put what is decided over a panel; scales that were inferred stay, and serve its indicators.

    >>> inferred = {"scales": {"scale_1": {}}, "indicators": {"a": "scale_1"}}
    >>> put_over(inferred, {"indicators": {"a": {"reverse": True}}})["indicators"]
    {'a': {'scale': 'scale_1', 'reverse': True}}
    """
    merged = {**panel, **decided, "scales": panel["scales"] | decided.get("scales", {})}
    if named := decided.get("indicators"):
        scales = {
            name: table if isinstance(table, Mapping) else {"scale": table}
            for name, table in panel["indicators"].items()
        }
        merged["indicators"] = {name: scales.get(name, {}) | table for name, table in named.items()}
        merged["dimensions"] = decided.get("dimensions", [{"name": "harm", "rms": [*named]}])
    return merged
