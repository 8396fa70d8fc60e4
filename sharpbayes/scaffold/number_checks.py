"""What is to be checked of numbers: codes of missing scores, and the ends of scales."""

from collections.abc import Iterator, Mapping, Sequence

from sharpbayes.errors import format_list, join_names
from sharpbayes.scaffold.inference import InferredScale, Scale

CODE = (
    "{codes} looks like a code of a missing score among the numbers of {names} and is {place}; "
    "where it is one, write dialect = {{ missing = [{missing}] }}; where it is a score, write the "
    "ends of the scale"
)
CODES = (
    "{codes} look like codes of missing scores among the numbers of {names} and are {place}; where "
    "they are, write dialect = {{ missing = [{missing}] }}; where they are scores, write the ends "
    "of the scale"
)
UNIT = (
    "decimals between 0 and 1 are taken to lie on a scale from 0 to 1 in steps of {}, wherever "
    "those in the data end; write the ends of another scale"
)
PERCENT = (
    "numbers between 0 and 100 are taken to lie on a scale from 0 to 100, wherever those in the "
    "data end; write the ends of another scale"
)


def describe_numbers(
    inferred: Mapping[str, InferredScale], missing: Sequence[str] = ()
) -> Iterator[str]:
    """Yield what is to be checked of numbers: those that are on no scale, and the ends of scales.

    ``missing`` are the texts that are read as empty cells already.

    >>> columns = {"a": InferredScale(None, codes=("-99",)), "b": InferredScale(None)}
    >>> [text.partition(" and is")[0] for text in describe_numbers(columns)]
    ['-99 looks like a code of a missing score among the numbers of "a"']
    """
    for codes in dict.fromkeys(column.codes for column in inferred.values() if column.codes):
        columns = {name: column for name, column in inferred.items() if column.codes == codes}
        is_cut = any("bins" in (column.scale or {}) for column in columns.values())
        yield (CODE if len(codes) == 1 else CODES).format(
            codes=join_names(codes),
            names=join_names([f'"{name}"' for name in columns]),
            place="counted in the bin at that end" if is_cut else "left out of the scale",
            missing=", ".join(f'"{text}"' for text in [*missing, *codes]),
        )
    scales = [column.scale or {} for column in inferred.values() if "min" in (column.scale or {})]
    units = [scale for scale in scales if is_unit(scale)]
    if units:
        yield UNIT.format(format_list(dict.fromkeys(f"{scale['step']}" for scale in units)))
    percent = [scale for scale in scales if (scale["min"], scale["max"]) == (0, 100)]
    if percent:
        yield PERCENT
    if others := [scale for scale in scales if scale not in (*units, *percent)]:
        ends = [f"{scale['min']} to {scale['max']}" for scale in others]
        steps = [f" in steps of {scale['step']}" if "step" in scale else "" for scale in others]
        spans = format_list(dict.fromkeys(map("".join, zip(ends, steps, strict=True))))
        yield f"numbers run over those in the data, {spans}; write the ends of a longer scale"


def is_unit(scale: Scale) -> bool:
    """Tell whether a scale has decimals from 0 to 1."""
    return scale.get("min") == 0 and scale.get("max") == 1 and "step" in scale
