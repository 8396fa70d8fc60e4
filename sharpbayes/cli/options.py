"""Arguments and options that commands share."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

PAGE_HELP = (
    "HTML file; <results>.html by default, history.html of several files. Beside --text, --json or "
    "a folder no page is written without it."
)
STUDY = Argument(help="A study file (TOML), or the name of a shipped one.")
Study = Annotated[Path, STUDY]
ResultsFile = Annotated[Path, Argument(help="A results file written by fit or measure.")]
Tables = Annotated[Path | None, Option(help="Folder for every table as CSV, Markdown and LaTeX.")]
Figures = Annotated[Path | None, Option(help="Folder for every figure as PNG, SVG and PDF.")]
Draws = Annotated[Path | None, Option(help="Folder for the draws as Parquet, for R.")]
Records = Annotated[Path | None, Option(help="Folder for a record of Every Eval Ever by model.")]
Items = Annotated[
    list[str] | None,
    Option("--item", help="Item of a crowd to show in place of the contested ones; repeatable."),
]
Out = Annotated[Path | None, Option(help="Results file; <study>.results.nc by default.")]
Page = Annotated[Path | None, Option("--out", help=PAGE_HELP)]
NoScript = Annotated[bool, Option("--no-script", help="HTML without weights by hand: no script.")]
Text = Annotated[bool, Option("--text", help="Print every table; write no HTML.")]
Set = Annotated[list[str] | None, Option("--set", help="key=value over the study file.")]
Seed = Annotated[int | None, Option(help="Seed, in place of the study's.")]
Quiet = Annotated[
    bool,
    Option("--quiet", "-q", help="The answer alone, or the table that contains it; no progress."),
]
Full = Annotated[bool, Option("--full", help="Every table, not one screen of them.")]
Json = Annotated[bool, Option("--json", help="One JSON document on stdout.")]
Retry = Annotated[
    bool, Option("--retry", help="Sample again, twice as long, until converged; 3 times at most.")
]
Preview = Annotated[
    bool,
    Option("--preview", help="Approximate the fit, marked as no answer, in a file of its own."),
]
Resume = Annotated[bool, Option("--resume", help="Go on from what a killed run kept, if anything.")]
Posterior = Annotated[
    bool,
    Option(
        "--posterior",
        help="Truths from the posterior of the study's ratings; fits of these and a replicate.",
    ),
]
OnCluster = Annotated[
    str | None, Option("--cluster", help="local:N processes, or a scheduler, tcp://...")
]
