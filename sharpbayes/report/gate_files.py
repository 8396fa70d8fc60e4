"""The gate's answer as files: Markdown for a pull request, and JUnit for a CI server."""

from xml.etree import ElementTree as ET

import xarray as xr

from sharpbayes.metrics.panel.non_inferiority import INFERIOR, NON_INFERIOR
from sharpbayes.report.approval import approval
from sharpbayes.report.gate import describe_difference, gate_answer, list_worse
from sharpbayes.report.metric_names import name_threshold
from sharpbayes.report.tables.catalogue import report_tables
from sharpbayes.report.tables.renderer import as_markdown, markdown_text
from sharpbayes.storage.attributes import read_weights

SIGNS = {NON_INFERIOR: "\u2705", INFERIOR: "\u274c"}
UNDECIDED_SIGN = "\u2753"
# The first line of the Markdown file, which no reader sees, and the name of the test suite.
COMMENT, SUITE = "<!-- sharpbayes gate -->", "sharpbayes gate"
# What the file of each option has at its start. Markdown of earlier versions has its first title.
MARKS = {
    "--markdown": (COMMENT, "## Differences and margins\n"),
    "--junit": (f'<testsuite name="{SUITE}: ',),
}


def gate_markdown(results: xr.DataTree) -> str:
    """Return the answer and the tables as a comment on a pull request."""
    verdict, *rest = gate_answer(results)
    sign = SIGNS.get(results["gate"].attrs["verdict"], UNDECIDED_SIGN)
    first, *tables = report_tables(results)
    bullets = "\n".join(f"- {markdown_text(text)}" for text in rest)
    further = "\n".join(as_markdown(table) for table in tables)
    approved = approval(read_weights(results))
    weights = ", ".join(f"{name.lower()} {text}" for name, text in approved.items())
    foot = f"Weights: {read_weights(results)['title']}{f' ({weights})' * bool(weights)}."
    return (
        f"{COMMENT}\n### {sign} {markdown_text(verdict)}\n\n{as_markdown(first)}\n{bullets}\n\n"
        f"<details><summary>What this gate detects</summary>\n\n{further}\n</details>\n\n"
        f"{markdown_text(foot)}\n"
    )


def gate_junit(results: xr.DataTree) -> str:
    """Return a test suite in JUnit's XML with a case for the verdict and one for each margin.

    What is shown to be worse is a failure, and what is not decided an error, so that a server shows
    the two apart and passes neither. Margins that each hold may not hold together. Of a candidate
    that passes and is worse within the margins, cases have the text as their output.
    """
    gate, answer = results["gate"].to_dataset(), gate_answer(results)
    worse = {name_threshold(label) for label in list_worse(gate)}
    cases = [("verdict", str(gate.attrs["verdict"]), answer[0])]
    for label in map(str, gate["metric"].to_numpy()):
        row = gate.sel(metric=label)
        cases.append((name_threshold(label), str(row["state"].item()), describe_difference(row)))
    states = [state for _, state, _ in cases]
    failures, decided = states.count(INFERIOR), states.count(NON_INFERIOR)
    suite = ET.Element(
        "testsuite",
        name=f"{SUITE}: {_xml_text(str(results.attrs['title']))}",
        tests=str(len(states)),
        failures=str(failures),
        errors=str(len(states) - failures - decided),
    )
    for name, state, text in cases:
        case = ET.SubElement(suite, "testcase", classname="gate", name=name)
        if state != NON_INFERIOR:
            kind = "failure" if state == INFERIOR else "error"
            ET.SubElement(case, kind, message=state, type=state).text = _xml_text(text)
        elif name in worse or (worse and name == "verdict"):
            ET.SubElement(case, "system-out").text = _xml_text(text)
    output = ET.SubElement(suite, "system-out")
    output.text = _xml_text("\n".join(answer))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _xml_text(text: str) -> str:
    """A text without the characters that XML forbids."""
    return "".join(c if c in "\n\t" or ord(c) >= ord(" ") else "\ufffd" for c in text)
