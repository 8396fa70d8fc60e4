"""Exports of Label Studio, made by its own converter from annotations as its server stores them.

    uv pip install --python /tmp/logs-env/bin/python label-studio-sdk==2.1.2
    /tmp/logs-env/bin/python tests/data/logs/make_label_studio.py tests/data/logs/label_studio

The converter writes JSON, JSON_MIN and CSV of one project: three annotators, eight texts, a rating
and a choice for each; one annotation is skipped and one has no rating.
"""

import json
import sys
import tempfile
from pathlib import Path

from label_studio_sdk.converter import Converter

CONFIG = """
<View>
  <Text name="text" value="$text"/>
  <Rating name="severity" toName="text" maxRating="5"/>
  <Choices name="unsafe" toName="text" choice="single">
    <Choice value="no"/><Choice value="yes"/>
  </Choices>
</View>
"""


def result(name, kind, value):
    """One region as the server stores it."""
    return {
        "id": f"{name}-1",
        "from_name": name,
        "to_name": "text",
        "type": kind,
        "origin": "manual",
        "value": {kind: value},
    }


def annotation(item, person):
    number = 100 * item + person
    severity = (item * 3 + person * 2) % 5 + 1
    results = [
        result("severity", "rating", severity),
        result("unsafe", "choices", ["yes" if severity > 3 else "no"]),
    ]
    if (item, person) == (2, 1):
        results = results[1:]
    skipped = (item, person) == (5, 2)
    return {
        "id": number,
        "completed_by": person + 1,
        "result": [] if skipped else results,
        "was_cancelled": skipped,
        "ground_truth": False,
        "created_at": f"2026-01-0{item}T10:0{person}:00.000000Z",
        "updated_at": f"2026-01-0{item}T10:0{person}:30.000000Z",
        "lead_time": 10.5 + person,
    }


def project():
    return [
        {
            "id": item,
            "annotations": [annotation(item, person) for person in range(3)],
            "predictions": [],
            "data": {"text": f"Text {item}, with a comma", "topic": "ab"[item % 2]},
        }
        for item in range(1, 9)
    ]


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "project.json"
        source.write_text(json.dumps(project()), encoding="utf-8")
        converter = Converter(CONFIG, folder)
        for kind, name in (("JSON", "full.json"), ("JSON_MIN", "min.json"), ("CSV", "export.csv")):
            exported = Path(folder) / kind
            converter.convert(str(source), str(exported), kind, is_dir=False)
            [path] = [path for path in exported.iterdir() if path.is_file()]
            (out / name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
