"""Whether ratings that `next` chooses lower the expected loss more than as many ratings by chance.

    python -m tests.references.next_ratings --studies 100 --raw next_raw.csv

writes ``next_ratings.csv``; the raw file has a row for each study, and the same command goes on
from it. Four models answer 30 prompts, two of them nearly alike and two clearly worse. Of four
judges one scores each answer, by chance. After a fit 40 further judgements are bought: the first of
the list of `next` in one arm, any 40 of the 360 missing ones in the other, at the same price. The
scores of all cells are drawn beforehand, by plain NumPy, so that both arms read from one table.
Both arms are fitted again. The loss is not the program's criterion, whose noise depends on the
number of judges: from the draws of each fit it is the mean expected harm by all four judges of the
worst fifth of the prompts, of the model that is chosen less that of the best.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from sharpbayes.posterior.hypothetical import Cells, expect_judgements
from sharpbayes.spec.load import load_study
from sharpbayes.workflows.fit import fit
from sharpbayes.workflows.next import plan_next, read_fit, read_fit_files
from tests.references.provenance import record_run
from tests.references.worlds.panel import CELL_SD, INDICATORS, JUDGE_SD, PROMPT_SD, score
from tests.study_texts import format_panel

TABLE = Path(__file__).with_name("next_ratings.csv")
SHIFTS, PROMPTS, JUDGES, BOUGHT, WORST = (0.0, 0.15, 1.2, 1.6), 30, 4, 40, 6
LISTED = 250
STUDY = format_panel(
    "Growing",
    replicates=50,
    uncertainty='uncertainty = ["ratings"]\n',
    fit='fit = "judge_severity"\n',
)
STUDY += """
[sampler]
max_draws = 2000
predictive_draws = 1000
"""
WEIGHTS = """schema = "sharpbayes/weights/2"
title = "Growing"

[tail]
alpha = 0.8
"""


def draw_scores(rng):
    """Scores (model, prompt, judge, indicator) of all cells."""
    models = len(SHIFTS)
    prompt = rng.normal(0, PROMPT_SD, (1, PROMPTS, 2)) + rng.normal(
        0, CELL_SD, (models, PROMPTS, 2)
    )
    severity = prompt + np.array(SHIFTS)[:, None, None]
    judge = rng.normal(0, JUDGE_SD, (JUDGES, 2))
    perceived = (severity[:, :, None] + judge)[..., np.array([0, 0, 1, 1])]
    return score(rng, perceived)


def fit_cells(scores, judged):
    """Results of a fit of the judgements (model, prompt, judge) that are made."""
    cells = np.argwhere(judged)
    rows = [
        {"model": f"m{m}", "prompt": f"p{p}", "judge": f"j{j}", "i": name, "score": int(value)}
        for m, p, j in cells
        for name, value in zip(INDICATORS, scores[m, p, j], strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame(rows).to_csv(f"{folder}/ratings.csv", index=False)
        Path(f"{folder}/study.toml").write_text(STUDY, "utf-8")
        Path(f"{folder}/weights.toml").write_text(WEIGHTS, "utf-8")
        return fit(load_study(f"{folder}/study.toml"))


def expected_loss(results):
    """How much worse the chosen model is expected to be than the best, in harm by all judges."""
    study, draws = read_fit(results, read_fit_files(results, None))
    sizes = [len(study.ratings.factors[name].labels) for name in ("model", "prompt", "judge")]
    cells = Cells(*(grid.ravel() for grid in np.meshgrid(*map(np.arange, sizes), indexing="ij")))
    expected = expect_judgements(study, draws.design, draws.posterior, cells)
    harm = expected.mean.reshape(-1, *sizes).mean(-1)
    values = np.sort(harm, axis=-1)[..., -WORST:].mean(-1)
    return float((values[:, values.mean(0).argmin()] - values.min(1)).mean())


def run_study(number):
    """Expected loss before, with chosen and with random judgements; None where a fit fails."""
    rng = np.random.default_rng(number)
    scores = draw_scores(rng)
    judged = rng.random(scores.shape[:3]).argsort(axis=2) == 0
    before = fit_cells(scores, judged)
    if not bool(before["diagnostics"]["converged"]):
        return None
    plan = plan_next(before, costs={"judge": 1.0}, number=LISTED)["next"].to_dataset()
    first = plan.isel(purchase=(plan["kind"] == "first judgement").to_numpy())
    chosen = judged.copy()
    for m, p, j in zip(
        *(first[f"rated_{x}"].to_numpy()[:BOUGHT] for x in ("model", "prompt", "judge")),
        strict=True,
    ):
        chosen[int(m[1:]), int(p[1:]), int(j[1:])] = True
    missing = np.argwhere(~judged)
    by_chance = judged.copy()
    by_chance[tuple(missing[rng.permutation(len(missing))[:BOUGHT]].T)] = True
    arms = [fit_cells(scores, cells) for cells in (chosen, by_chance)]
    if not all(bool(arm["diagnostics"]["converged"]) for arm in arms):
        return None
    of_close = [int(cells[:2].sum() - judged[:2].sum()) for cells in (chosen, by_chance)]
    gain = float(plan["list_gain"][-1])
    losses = [expected_loss(results) for results in (before, *arms)]
    names = ("before", "chosen", "by_chance")
    return dict(zip(names, losses, strict=True)) | {
        "bought": int(chosen.sum() - judged.sum()),
        "of_close_chosen": of_close[0],
        "of_close_by_chance": of_close[1],
        "list_gain": gain,
    }


def summarise(rows):
    """Mean losses, and the paired difference of the arms with its standard error."""
    kept = rows.dropna()
    difference = kept["by_chance"] - kept["chosen"]
    means = kept[["before", "chosen", "by_chance", "of_close_chosen", "of_close_by_chance"]].mean()
    row = {"studies": len(kept), "not_converged": len(rows) - len(kept)} | means.to_dict()
    row |= {"difference": difference.mean(), "error": difference.sem()}
    return pd.DataFrame([row | {"chosen_lower": (difference > 0).mean()}]).round(5)


def main():
    """Add studies to the raw file, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after them")
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    begun = time.monotonic()
    names = ["study", "before", "chosen", "by_chance", "bought", "of_close_chosen"]
    names += ["of_close_by_chance", "list_gain"]
    known = pd.read_csv(asked.raw) if asked.raw.exists() else pd.DataFrame(columns=names)
    finished = 0 if known.empty else int(known["study"].max()) + 1
    for study in range(finished, asked.studies):
        if time.monotonic() - begun > 60 * asked.minutes:
            break
        row = {"study": study} | (run_study(study) or {})
        with asked.raw.open("a", newline="") as file:
            writer = csv.DictWriter(file, names)
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
        print(row, flush=True)
    summarise(pd.read_csv(asked.raw)).to_csv(asked.out, index=False)
    record_run(asked.out)


if __name__ == "__main__":
    main()
