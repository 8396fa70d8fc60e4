"""Small studies of a crowd on disk, labelled by the crowd itself, for tests that read a table."""

STUDY = """schema = "sharpbayes/study/2"
title = "T"
seed = 1
[crowd]
data = "{data}"
roles = {{ item = "item", rater = "rater", score = "score" }}
scale = {{ kind = "ordinal", min = 0, max = 4 }}
labels = {{ from = "crowd", cut = 2 }}
"""


def write_study(folder, data):
    """Write the study of a table with the columns item, rater and score; return its path."""
    path = folder / "s.toml"
    path.write_text(STUDY.format(data=data), encoding="utf-8")
    return path
