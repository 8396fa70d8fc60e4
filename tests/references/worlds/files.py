"""Studies of worlds on disk, as a user would write them."""

from pathlib import Path

import numpy as np

from sharpbayes.spec.files import StudyFiles
from sharpbayes.spec.load import load_study
from tests.references.worlds.crowd import CrowdWorld
from tests.references.worlds.panel import PanelWorld

HERE = Path(__file__).parent
END = """
[bootstrap]
replicates = 20
level = 0.9

[sampler]
chains = 2
tune = 300
draws = 300
target_accept = 0.85
predictive_draws = 200
"""
PANEL = """schema = "sharpbayes/study/2"
title = "A world of judges"
seed = {seed}

[panel]
data = "ratings.csv"
layout = "long"
roles = {{ model = "model", prompt = "prompt", judge = "judge", indicator = "indicator", \
score = "score" }}
scales = {{ severity = {{ kind = "ordinal", min = 0, max = 4 }} }}
indicators = {{ bias_a = "severity", bias_b = "severity", fair_a = "severity", \
fair_b = "severity" }}
dimensions = [{{ name = "bias", rms = ["bias_a", "bias_b"] }}, \
{{ name = "fair", rms = ["fair_a", "fair_b"] }}]
fit = "{fit}"
"""
PEOPLE = """
[panel.people]
data = "people.csv"
roles = { model = "model", prompt = "prompt", rater = "rater", indicator = "indicator", \
score = "score" }
"""
CROWD = """schema = "sharpbayes/study/2"
title = "A world of raters"
seed = {seed}
uncertainty = ["ratings", "items"]

[crowd]
data = "ratings.csv"
roles = {{ item = "item", rater = "rater", score = "score" }}
items = {{ data = "items.csv", key = "item" }}
raters = {{ data = "raters.csv", key = "rater" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
groups = [["gender"]]
labels = {{ from = "item", column = "unsafe" }}
fit = "{fit}"
"""


def write_study(
    world: PanelWorld | CrowdWorld, folder: Path, *, seed: int, fit: str = ""
) -> tuple[StudyFiles, dict[str, float]]:
    """Simulate a study of a world into a folder; return it with its truth.

    ``fit`` names the model in place of the one that does not know the world: a shipped one, or a
    file in this folder.
    """
    drawn = world.simulate(np.random.default_rng(seed))
    folder.mkdir(parents=True, exist_ok=True)
    drawn.ratings.to_csv(folder / "ratings.csv", index=False)
    panel = isinstance(world, PanelWorld)
    fit = fit or world.fit
    fit = str(HERE / fit) if fit.endswith(".toml") else fit
    text = (PANEL if panel else CROWD).format(seed=seed, fit=fit)
    if panel and drawn.people is not None:
        drawn.people.to_csv(folder / "people.csv", index=False)
        text += PEOPLE
    if not panel:
        drawn.items.to_csv(folder / "items.csv", index=False)
        drawn.raters.to_csv(folder / "raters.csv", index=False)
    (folder / "study.toml").write_text(text + END, encoding="utf-8")
    return load_study(folder / "study.toml"), drawn.truth
