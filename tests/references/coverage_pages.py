"""Pages of the tables of intervals, of claims about pairs and of the gate.

python -m tests.references.coverage_pages
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
PAGES = HERE.parents[1] / "docs" / "benchmarks"
Row = dict[str, str]
LABELS = {"mean": "mean log-risk", "policy_score": "policy score", "cvar": "CVaR 95"}


def read_rows(name: str) -> list[Row]:
    """Rows of a committed table."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def markdown(header: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    rows = [list(header), ["---"] * len(list(header)), *map(list, lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def percent(rows: list[Row], column: str, choose: Callable[..., float] = min) -> str:
    """The smallest, or largest, share of some rows in percent."""
    return f"{100 * choose(float(row[column]) for row in rows):.1f}"


def coverage_table(rows: list[Row], metrics: tuple[str, ...]) -> str:
    """Coverage by world and number of prompts, the lowest of the metrics, for each interval."""
    prompts = list(dict.fromkeys(row["prompts"] for row in rows))
    prompts.sort(key=int)
    kinds = ("studentized", "bca", "percentile")
    lines = []
    for world in dict.fromkeys(row["world"] for row in rows):
        line = [world]
        for kind in kinds:
            for n in prompts:
                wanted = {"world": world, "prompts": n, "interval": kind}
                chosen = [
                    row
                    for row in rows
                    if row["metric"] in metrics and wanted.items() <= row.items()
                ]
                line.append(percent(chosen, "holds"))
        lines.append(line)
    return markdown(["world", *(f"{kind}, {n}" for kind in kinds for n in prompts)], lines)


def rare_harm_table(rows: list[Row]) -> str:
    """Coverage and width of both intervals of both metrics, by world and number of prompts."""
    lines = []
    designs = dict.fromkeys((row["world"], row["prompts"]) for row in rows)
    for world, prompts in designs:
        by = {
            (row["metric"], row["interval"]): row
            for row in rows
            if (row["world"], row["prompts"]) == (world, prompts)
        }
        line = [world, prompts, percent([by["policy_score", "program"]], "few")]
        for metric in ("policy_score", "mean"):
            pair = [by[metric, kind] for kind in ("program", "studentized")]
            line += [percent([row], "holds") for row in pair] + [row["width"] for row in pair]
        lines.append(line)
    columns = ("held", "studentized alone", "width", "studentized alone, width")
    names = [f"{metric}: {column}" for metric in ("score", "mean") for column in columns]
    return markdown(["world", "prompts", "few carry", *names], lines)


def tied_tails_table(rows: list[Row]) -> str:
    """Coverage of CVaR by the program and by resamples alone, by world and number of prompts."""
    programs, alone = (
        [row for row in rows if row["interval"] == kind] for kind in ("program", "studentized")
    )
    lines = [
        [
            *(program["world"], program["prompts"]),
            *(percent([program], column) for column in ("shown", "tied", "holds")),
            percent([resamples], "holds"),
            *(
                percent([row], "holds_tied") if row["holds_tied"] else ""
                for row in (program, resamples)
            ),
            *(program["width_tied"], resamples["width_tied"]),
        ]
        for program, resamples in zip(programs, alone, strict=True)
    ]
    header = (
        "world",
        "prompts",
        "have an interval",
        "tail of one value",
        "held",
        "resamples alone",
    )
    tied = (f"tail of one value: {name}" for name in ("held", "resamples alone", "width"))
    return markdown([*header, *tied, "resamples alone, width"], lines)


def ties_at_var_table(rows: list[Row]) -> str:
    """Shares of studies with a false statement, with the rule on ties and without."""
    names = {
        "lowest": "named lowest",
        "distinguishable": "called distinguishable",
        "passes": "passes the gate",
    }
    lines = [
        [
            *(names[row["statement"]], row["estimator"], row["ties"], row["prompts"]),
            *(percent([row], name) for name in ("severe", "without", "now")),
        ]
        for row in rows
    ]
    header = ["false statement", "estimator", "ties", "prompts", "severe, %", "without", "now"]
    return markdown(header, lines)


def lost_answers_table(rows: list[Row]) -> str:
    """Shares of candidates that pass although, or because, nobody scored some of their answers."""
    lines = [
        [
            row["world"],
            row["rows"],
            *(percent([row], name) for name in ("lost", "complete", "without", "now")),
        ]
        for row in rows
    ]
    header = ["lost are", "their scores", "lost, %", "all scored", "without", "now"]
    return markdown(header, lines)


def lost_limits_table(rows: list[Row]) -> str:
    """Shares of studies in which a limit is kept by answers that lack scores."""
    limits = {"dimension harm": "CVaR of the dimension", "policy_score": "policy score"}
    lines = [
        [
            row["world"],
            *(row["models"], row["rows"], percent([row], "lost"), limits[row["limit"]]),
            *(percent([row], name) for name in ("complete", "without", "now")),
        ]
        for row in rows
    ]
    header = ["lost are", "models", "their scores", "lost, %", "limit on"]
    return markdown([*header, "all scored", "without", "now"], lines)


def lost_order_table(rows: list[Row]) -> str:
    """Shares of studies in which a model is the lower one by answers that lack scores."""
    names = {"cvar": "CVaR", "policy_score": "policy score"}
    columns = [f"{name}_{when}" for name in names for when in ("without", "now")]
    header = [f"{name}, {when}, %" for name in names.values() for when in ("without", "now")]
    lines = [
        [
            *(row["world"], row["rows"], percent([row], "lost")),
            *(percent([row], column) for column in columns),
        ]
        for row in rows
    ]
    return markdown(["lost are", "their scores", "lost, %", *header], lines)


def rare_gate_table(rows: list[Row]) -> str:
    """Shares of candidates that pass, by the bounds of the program and by resamples."""
    lines = [
        [
            row["prompts"],
            *(f"{100 * float(row[side]):.0f}" for side in ("candidate", "reference", "margin")),
            *(percent([row], column) for column in ("passes", "by_resamples")),
            row["pairs"],
        ]
        for row in rows
    ]
    header = ["prompts", "candidate, %", "reference, %", "margin, %", "passes, %"]
    return markdown([*header, "by resamples alone, %", "pairs"], lines)


def severe_gate_table(rows: list[Row]) -> str:
    """Shares of candidates with rare severe answers that pass, and of unchanged ones."""
    lines = [
        [
            f"{percent([row], 'severe')}% at {row['score']}" if float(row["severe"]) else "none",
            *(row["prompts"], row["margin"]),
            *(percent([row], column) for column in ("without", "now")),
        ]
        for row in rows
    ]
    return markdown(["severe answers", "prompts", "margin", "without", "now"], lines)


def severe_fit_table(rows: list[Row]) -> str:
    """Shares of candidates that pass by a fit, by the bootstrap and by both, by design."""
    lines = [
        [
            f"{percent([row], 'severe')}% at {row['score']}" if float(row["severe"]) else "none",
            *(row["prompts"], row["margin"]),
            *(percent([row], column) for column in ("fit", "bootstrap", "now", "mixed")),
        ]
        for row in rows
    ]
    header = ["severe answers", "prompts", "margin", "by the fit alone, %", "by the bootstrap, %"]
    return markdown([*header, "now, %", "fits that mixed, %"], lines)


def unequal_generations_table(rows: list[Row]) -> str:
    """Shares of studies that order equal models, by who answered which prompts more often."""
    names = {"mean": "mean", "policy_score": "policy score", "cvar": "CVaR"}
    columns = [f"{name}_{when}" for name in names for when in ("alike", "now")]
    header = [f"{name}, {when}, %" for name in names.values() for when in ("before", "now")]
    lines = [[row["answers"], *(percent([row], column) for column in columns)] for row in rows]
    return markdown(["answers", *header], lines)


def share_orders_table(rows: list[Row]) -> str:
    """Shares of studies that order equal models, by how many prompts have half of the weight."""
    names = {"mean": "mean", "policy_score": "policy score"}
    columns = [f"{name}_{when}" for name in names for when in ("before", "now")]
    header = [f"{name}, {when}, %" for name in names.values() for when in ("before", "now")]
    lines = [[row["rare"], *(percent([row], column) for column in columns)] for row in rows]
    return markdown(["prompts of the rare category", *header], lines)


def label_samples_table(rows: list[Row]) -> str:
    """Shares of studies in which labelled prompts are said to be no random sample."""
    lines = [
        [
            *(row["scores"], row["prompts"], row["labelled"]),
            "severe ones more often" if float(row["selection"]) else "at random",
            *(percent([row], column) for column in ("means", "ranks")),
        ]
        for row in rows
    ]
    return markdown(["scores", "prompts", "labelled", "chosen", "means, %", "ranks, %"], lines)


def pair_metrics(rows: list[Row], number: str) -> Iterator[tuple[str, str, Row, Row]]:
    """Yield each world and number of a column, with its rows of the mean and the policy score."""
    by = {(row["world"], row[number], row["metric"]): row for row in rows}
    for key in dict.fromkeys((row["world"], row[number]) for row in rows):
        yield *key, by[(*key, "mean")], by[(*key, "policy_score")]


def rare_order_table(rows: list[Row]) -> str:
    """Shares of studies that call the second model lower, by world and number of prompts."""
    lines = []
    for world, prompts, mean, score in pair_metrics(rows, "prompts"):
        values = [f"{float(row['difference']):+.3f}" for row in (mean, score)]
        shares = [percent([mean], name) for name in ("called_lower", "stated")]
        shares += [percent([score], name) for name in ("called_lower", "stated")]
        lines.append([world, prompts, percent([mean], "shows_none"), *values, *shares])
    header = ["world", "prompts", "shows no end, %", "mean log-risk, nats", "policy score"]
    by_mean = ["called lower by the mean, %", "and the answer says so, %"]
    return markdown([*header, *by_mean, "by the policy score, %", "without condition, %"], lines)


def unequal_judges_table(rows: list[Row]) -> str:
    """Shares of studies of equal models that are compared and ordered, by design."""
    lines = []
    for row in rows:
        shares = [percent([row], name) for name in ("compared", "mean", "policy_score", "cvar")]
        absent = f"{100 * float(row['absent']):g}"
        lines.append([row["prompts"], absent, row["severity"], row["missing"], *shares])
    header = ["prompts", "rows absent, %", "harsher by, steps", "judges.missing", "compared, %"]
    return markdown([*header, "false by the mean, %", "policy score, %", "CVaR, %"], lines)


def named_judges_table(rows: list[Row], sentence: str) -> str:
    """How often a sentence names judges who did nothing, and the one who did, by design."""
    sizes = ("releases", "prompts", "judges")
    if sentence == "contradict":
        sizes = ("models", "prompts", "judges", "dimensions")
    shares = ("false_before", "false", "named_before", "named")
    lines = [
        [row["world"], *(row[name] for name in sizes)]
        + [percent([row], name) if row[name] else "" for name in shares]
        + [row["studies"]]
        for row in rows
        if row["sentence"] == sentence
    ]
    header = ["falsely named, each by itself, %", "falsely named, corrected, %"]
    header += ["rightly named, each by itself, %", "rightly named, corrected, %", "studies"]
    return markdown(["judges", *sizes, *header], lines)


def label_order_table(rows: list[Row]) -> str:
    """Shares of studies in which labels call the second model lower, by world and labels."""
    lines = []
    for world, labelled, mean, score in pair_metrics(rows, "labelled"):
        shares = [percent([mean], name) for name in ("shows_none", "called_lower", "stated")]
        lines.append([world, labelled, *shares, percent([score], "called_lower")])
    header = ["world", "labelled", "shows no end, %", "called lower by the mean, %"]
    return markdown([*header, "and the answer says so, %", "by the policy score, %"], lines)


def clustered_prompts_table(rows: list[Row]) -> str:
    """Intervals that hold and false differences, by world, design and metric."""
    lines, keys = [], ("world", "scenarios", "variants", "metric")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in rows):
        chosen = {r["taken_as"]: r for r in rows if tuple(r[name] for name in keys) == key}
        ways = [[chosen["independent"]], [chosen["clusters"]]]
        shares = [percent(way, name) for name in ("holds", "distinguishable") for way in ways]
        lines.append([*key[:3], LABELS[key[3]], *shares])
    header = ["world", "scenarios", "variants", "metric", "holds, independent, %"]
    false = ["called distinguishable, independent, %", "by clusters, %"]
    return markdown([*header, "by clusters, %", *false], lines)


def clustered_items_table(rows: list[Row]) -> str:
    """Intervals that hold and false differences of groups, by world, design and metric."""
    lines, keys = [], ("world", "scenarios", "items", "raters", "metric")
    chosen = [row for row in rows if row["metric"] in {"wra", "hm"}]
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in chosen):
        ways = {r["taken_as"]: [r] for r in chosen if tuple(r[name] for name in keys) == key}
        columns = ("holds", "distinguishable", "harsher")
        ordered = [ways["independent"], ways["clusters"]]
        shares = [percent(way, name) for name in columns for way in ordered]
        lines.append([*key[:4], key[4].upper(), *shares, percent(ordered[0], "named")])
    sizes = ["world", "scenarios", "items of each", "raters of a group", "metric"]
    kinds = ("holds", "groups called distinguishable by it", "one called harsher")
    header = [text for kind in kinds for text in (f"{kind}, independent, %", "by clusters, %")]
    return markdown([*sizes, *header, "column named, %"], lines)


def cohesion_table(rows: list[Row]) -> str:
    """Intervals of agreement that hold and their width, by world and design."""
    lines, keys = [], ("world", "items", "raters", "ratings", "taken_as")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in rows):
        chosen = {r["measure"]: r for r in rows if tuple(r[name] for name in keys) == key}
        ratings = {"0": "all", "99": "one rater all, others 30"}.get(key[3], key[3])
        design = [*key[:3], ratings, key[4]]
        measures = [chosen[name] for name in ("irr", "xrr", "gai")]
        shares = [percent([row], "holds") for row in measures]
        widths = [f"{float(row['width']):.2f}" for row in measures]
        gai = [percent([measures[2]], name) for name in ("known", "not_one")]
        lines.append([*design, *shares, *widths, *gai])
    sizes = ["world", "items", "raters of a group", "ratings of a group an item", "items taken as"]
    names = ("IRR", "XRR", "GAI")
    header = [*(f"{name} holds, %" for name in names), *(f"{name}, width" for name in names)]
    return markdown([*sizes, *header, "GAI has an interval, %", "that excludes 1, %"], lines)


def matched_items_table(rows: list[Row]) -> str:
    """Shares of studies in which GAI of a group differs from 1, by who rated which items."""
    lines = [
        [
            row["ratings"],
            "differ" if float(row["seen"]) else "alike",
            *(f"{float(row[column]):.2f}" for column in ("gai", "matched")),
            *(percent([row], column) for column in ("p_below", "starred")),
        ]
        for row in rows
    ]
    header = ["ratings of an item", "groups", "GAI", "of the same mix of items"]
    return markdown([*header, "p < 0.05, %", "has a star, %"], lines)


def harshness_table(rows: list[Row]) -> str:
    """How often one of several equal groups is called harsher, by design."""
    shares = ("distinguishable", "each_grouping", "holds")
    lines = [
        [*list(row.values())[:5], *(percent([row], name) for name in shares), row["width"][:4]]
        for row in rows
    ]
    header = ["ratings of a rater", "raters of groups", "items", "sd of biases", "groupings"]
    header += ["one is called harsher, %", "by Holm within each grouping, %"]
    return markdown([*header, "intervals of 95% hold, %", "width"], lines)


def label_reversals_table(rows: list[Row]) -> str:
    """Who is said to run against the labels, by design, and by the rules of before."""
    columns = list(rows[0])[:9]
    lines = [
        [
            *(row[name] for name in columns[:-1]),
            "nobody" if row["reversed"] == "0" else "one",
            *(percent([row], name) for name in ("named", "named_before")),
        ]
        for row in rows
    ]
    header = ["who", "how many", "items of each", "variants", "unsafe", "scores above 0"]
    header += ["relation", "groupings", "runs against the labels", "named, %"]
    return markdown([*header, "by the rule of before, %"], lines)


def clustered_tests_table(rows: list[Row]) -> str:
    """False alarms of tests, by test, world and design."""
    lines, keys = [], ("test", "world", "scenarios", "variants")
    for key in sorted(
        dict.fromkeys(tuple(row[name] for name in keys) for row in rows), key=lambda key: key[0]
    ):
        chosen = {r["taken_as"]: r for r in rows if tuple(r[name] for name in keys) == key}
        lines.append(
            [*key, *(percent([chosen[way]], "alarms") for way in ("independent", "clusters"))]
        )
    header = ["what holds", "world", "scenarios", "variants", "denied, independent, %"]
    return markdown([*header, "by clusters, %"], lines)


def crossed_clusters_table(rows: list[Row]) -> str:
    """False differences under templates that cross scenarios, and how often templates are named."""
    names = ("distinguishable", "said", "distinguishable_unsaid")
    lines = [
        [row["world"], LABELS[row["metric"]], *(percent([row], name) for name in names)]
        for row in rows
    ]
    header = ["world", "metric", "called distinguishable, %", "templates named, %"]
    return markdown([*header, "distinguishable, none named, %"], lines)


def clustered_fits_table(rows: list[Row]) -> str:
    """Posterior intervals that hold, and studies that are sure of a difference, by metric."""
    names = ("holds", "sure_of_lower", "converged")
    lines = [
        [
            LABELS[row["metric"]],
            row["taken_as"],
            percent([row], names[0]),
            row["posterior_sd"],
            *(percent([row], name) for name in names[1:]),
            row["studies"],
        ]
        for row in sorted(rows, key=lambda row: row["metric"])
    ]
    header = ["metric", "prompts taken as", "holds, %", "posterior sd", "sure of lower, %"]
    return markdown([*header, "converged, %", "studies"], lines)


def claims_table(rows: list[Row]) -> str:
    """False claims and differences found, the worst of the worlds, by design."""
    lines = []
    designs = dict.fromkeys((row["prompts"], row["models"], row["equal"]) for row in rows)
    for n, models, equal in designs:
        chosen = [r for r in rows if (r["prompts"], r["models"], r["equal"]) == (n, models, equal)]
        unequal = [row for row in chosen if row["equal"] == "some"]
        lines.append(
            [
                *(n, models, equal),
                percent(chosen, "false_claims", max),
                percent(chosen, "false_claims_pairwise", max),
                f"{percent(unequal, 'found')} to {percent(unequal, 'found', max)}"
                if unequal
                else "",
            ]
        )
    header = ["prompts", "models", "equal", "false, jointly", "false, pair by pair", "found"]
    return markdown(header, lines)


def updates_table(rows: list[Row]) -> str:
    """Updates against fresh fits, a line for each step of each study."""
    columns = {
        "data": "data",
        "study": "study",
        "step": "step",
        "ratings": "ratings",
        "new": "new_ratings",
        "draws by": "method",
        "k": "pareto_k",
        "effective draws": "effective_draws",
        "means, rms": "mean_rms",
        "largest": "mean_max",
        "sds, rms": "sd_rms",
        "two fresh fits, rms": "again_mean_rms",
        "fresh, s": "fresh_seconds",
        "update, s": "update_seconds",
        "share": "share",
    }
    return markdown(columns, ([row[name] or "-" for name in columns.values()] for row in rows))


def preview_table(rows: list[Row]) -> str:
    """Previews against fits, a line for each headline metric."""
    columns = {
        "data": "data",
        "metric": "metric",
        "units": "units",
        "means, rms": "mean_rms",
        "largest": "mean_max",
        "smallest ratio of sds": "sd_ratio_low",
        "largest ratio": "sd_ratio_high",
        "k": "pareto_k",
        "fit, s": "fit_seconds",
        "preview, s": "preview_seconds",
    }
    return markdown(columns, ([row[name] for name in columns.values()] for row in rows))


def scenarios_table(rows: list[Row], columns: dict[str, str]) -> str:
    """Shares of pairs of releases in percent, a row for each scenario."""
    lines = [
        [row["scenario"], row["pairs"], *(percent([row], column) for column in columns.values())]
        for row in rows
    ]
    return markdown(["candidate", "pairs", *columns], lines)


def gate_table(rows: list[Row]) -> str:
    """What the gate and its rivals say of pairs of releases."""
    columns = {
        "passes": "gate_open",
        "undecided": "gate_undecided",
        "not as safe": "gate_shut",
        "promised": "promised_open",
        "passes, mean": "mean_open",
        "passes, CVaR": "cvar_open",
        "t": "t_alarm",
        "Wilcoxon": "wilcoxon_alarm",
        "intervals apart": "intervals_alarm",
    }
    return scenarios_table(rows, columns)


def gate_posterior_table(rows: list[Row]) -> str:
    """What the gate says of pairs of releases by the posterior, and by the bootstrap."""
    columns = {
        "passes": "posterior_open",
        "undecided": "posterior_undecided",
        "not as safe": "posterior_shut",
        "promised": "promised",
        "passes, mean": "posterior_mean_open",
        "passes, CVaR": "posterior_cvar_open",
        "disputed": "disputed",
        "bootstrap passes": "bootstrap_open",
        "bootstrap not as safe": "bootstrap_shut",
        "mixed": "mixed",
    }
    return scenarios_table(rows, columns)


def peeking_table(rows: list[Row]) -> str:
    """How often each rule is wrong at one look and ever, and right, with Monte Carlo errors."""

    def share(row: Row, name: str) -> str:
        if not row[name]:
            return ""
        return f"{100 * float(row[name]):.1f} ± {100 * float(row[f'{name} mcse']):.1f}"

    rules = ("fixed", "bootstrap score", "bootstrap cvar", "sequence")
    lines = []
    for row in rows:
        truth = "shifted" if float(row["shift"]) else "no difference"
        for rule in rules:
            shares = [share(row, f"{rule} {name}") for name in ("once", "ever", "right")]
            every = share(row, f"{rule} every") if f"{rule} every" in row else ""
            lines.append([row["world"], truth, row["studies"], rule, *shares, every])
    header = ["world", "truth", "studies", "rule", "wrong once", "wrong ever", "right ever"]
    return markdown([*header, "missed at some prompt"], lines)


def write(page: str, tables: dict[str, str]) -> None:
    """Put tables between the marks of a page."""
    path = PAGES / page
    text = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end of table -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + table + "\n" + rest[rest.index(end) :]
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the pages."""
    coverage = read_rows("coverage_bootstrap.csv")
    levels = ("mean", "volatility", "policy_score")
    differences = (*(f"{name}_difference" for name in levels), "cvar_difference")
    write(
        "coverage_bootstrap.md",
        {
            "cvar": coverage_table(coverage, ("cvar",)),
            "levels": coverage_table(coverage, levels),
            "differences": coverage_table(coverage, differences),
            "tied tails": tied_tails_table(read_rows("tied_tails.csv")),
        },
    )
    rare_gate = rare_gate_table(read_rows("rare_gate.csv"))
    rare_harm = rare_harm_table(read_rows("rare_harm.csv"))
    rare_order = rare_order_table(read_rows("rare_order.csv"))
    rare = {"rare harm": rare_harm, "rare gate": rare_gate, "rare order": rare_order}
    rare |= {"severe gate": severe_gate_table(read_rows("severe_gate.csv"))}
    rare |= {"severe fit": severe_fit_table(read_rows("severe_fit.csv"))}
    rare |= {"label order": label_order_table(read_rows("label_order.csv"))}
    write("rare-harm.md", rare)
    clustered = {
        "clustered prompts": clustered_prompts_table(read_rows("clustered_prompts.csv")),
        "clustered items": clustered_items_table(read_rows("clustered_items.csv")),
        "clustered tests": clustered_tests_table(read_rows("clustered_tests.csv")),
        "crossed clusters": crossed_clusters_table(read_rows("crossed_clusters.csv")),
        "clustered fits": clustered_fits_table(read_rows("clustered_fits.csv")),
    }
    write("clustered-prompts.md", clustered)
    crowd = {"cohesion": cohesion_table(read_rows("cohesion_coverage.csv"))}
    crowd |= {"matched items": matched_items_table(read_rows("matched_items.csv"))}
    crowd |= {"harshness": harshness_table(read_rows("harshness.csv"))}
    crowd |= {"label reversals": label_reversals_table(read_rows("label_reversals.csv"))}
    write("coverage_crowd.md", crowd)
    unequal_judges = unequal_judges_table(read_rows("unequal_judges.csv"))
    claims = {"claims": claims_table(read_rows("claims.csv")), "unequal judges": unequal_judges}
    claims |= {"ties at var": ties_at_var_table(read_rows("ties_at_var.csv"))}
    claims |= {"label samples": label_samples_table(read_rows("label_samples.csv"))}
    claims |= {
        "unequal generations": unequal_generations_table(read_rows("unequal_generations.csv")),
        "share orders": share_orders_table(read_rows("share_orders.csv")),
    }
    named = read_rows("named_judges.csv")
    claims |= {name: named_judges_table(named, name) for name in ("moved", "contradict")}
    write("claims.md", claims)
    write("peeking.md", {"peeking": peeking_table(read_rows("peeking.csv"))})
    posterior = gate_posterior_table(read_rows("gate_posterior.csv"))
    gate = {"gate": gate_table(read_rows("gate.csv")), "gate posterior": posterior}
    gate["lost answers"] = lost_answers_table(read_rows("lost_answers.csv"))
    gate["lost limits"] = lost_limits_table(read_rows("lost_limits.csv"))
    gate["lost order"] = lost_order_table(read_rows("lost_order.csv"))
    write("gate.md", gate)
    write("updates.md", {"updates": updates_table(read_rows("updates.csv"))})
    write("preview.md", {"preview": preview_table(read_rows("preview.csv"))})


if __name__ == "__main__":
    main()
