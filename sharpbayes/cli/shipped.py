"""Texts of the shipped files, as ``show`` prints them."""

from sharpbayes import library
from sharpbayes.errors import SpecError, did_you_mean


def shipped_text(name: str) -> str:
    """Return the text of a shipped file; with its priors, defaults included, if it is a model."""
    shipped = {kind: library.names(kind) for kind in library.KINDS}
    kind = next((kind for kind, names in shipped.items() if name in names), None)
    if kind is None:
        known = [file for names in shipped.values() for file in names]
        message = f"no shipped file {name!r}, there are {', '.join(known)}"
        raise SpecError.at("show", message + did_you_mean(name, known))
    path = library.find(kind, name)
    text = path.read_text(encoding="utf-8")
    if kind != "models":
        return text
    from sharpbayes.report.tables.priors import prior_lines  # noqa: PLC0415 - start-up
    from sharpbayes.spec.load import load  # noqa: PLC0415 - start-up
    from sharpbayes.spec.model import Model  # noqa: PLC0415 - start-up

    priors = "".join(f"#   {line}\n" for line in prior_lines(load(path, Model).spec))
    return f"{text}\n# Priors, defaults included (logit scale of severity):\n{priors}"
