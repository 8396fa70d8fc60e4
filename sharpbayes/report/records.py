"""Panel results as records of Every Eval Ever: one JSON file a model, with its uncertainty."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sharpbayes.errors import DataError, SpecError
from sharpbayes.metrics.panel.profile import HEADLINE, metric_range
from sharpbayes.metrics.panel.risk import log_risk_range
from sharpbayes.report.tables.renderer import MAX_LETTERS, slug
from sharpbayes.report.wording import is_approximate
from sharpbayes.storage.files import make_folder, write_text
from sharpbayes.storage.schema import APPROXIMATION

# The version of the schema that the records follow.
VERSION = "0.3.0"
Record = dict[str, Any]


def write_records(results: xr.DataTree, folder: Path) -> list[Path]:
    """Write a record of each model: CVaR, mean and policy score, observed and of the posterior.

    The folder is made if it is not there; files of the same names are replaced.
    """
    if is_approximate(results):
        raise SpecError.at("report --records", f"these results are {APPROXIMATION}, and no record")
    if "profile" not in results.children or "joint" not in results.children:
        raise DataError.at(
            "report --records", "a record is of a model, and these results have none"
        )
    models = [str(model) for model in results["profile"].to_dataset()["model"].values]
    names = [slug(model)[:MAX_LETTERS] or "model" for model in models]
    files = [
        f"{name}.json" if names.count(name) == 1 else f"{name}-{number}.json"
        for number, name in enumerate(names, start=1)
    ]
    records = [describe_model(results, model) for model in models]
    texts = {
        folder / file: json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        for file, record in zip(files, records, strict=True)
    }
    failure = f"{folder}: cannot write records"
    make_folder(folder, failure)
    for path, text in texts.items():
        write_text(path, text, failure)
    return [*texts]


def describe_model(results: xr.DataTree, model: str) -> Record:
    """Describe the results of one model as an aggregate record.

    What results do not know stands as ``unknown``: who made the evaluation, and how the model was
    deployed. A name such as ``maker/model`` has the developer.
    """
    attrs = results.attrs
    time = str(datetime.fromisoformat(attrs["created"]).timestamp())
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    developer = {"developer": model.partition("/")[0]} if "/" in model else {}
    return {
        "schema_version": VERSION,
        "evaluation_id": f"{slug(attrs['title'])}/{model}/{time}",
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_name": attrs["title"],
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "sharpbayes",
            "version": json.loads(attrs["versions"])["sharpbayes"],
            "additional_details": {"status": attrs["status"]},
        },
        "model_info": {"name": model, "id": model, "additional_details": details} | developer,
        "evaluation_results": [*_list_scores(results, model)],
    }


def _list_scores(results: xr.DataTree, model: str) -> Iterator[Record]:
    """List the scores of a model: each metric as observed, and its posterior where there is one."""
    joint = results["joint"].to_dataset().sel(model=model)
    source = {
        "dataset_name": results.attrs["title"],
        "source_type": "other",
        "additional_details": {"data_sha256": str(results.attrs.get("data_sha256", "unknown"))},
    }
    for metric in HEADLINE:
        values = joint.sel(metric=metric)
        scores = {"observed": _describe_estimate(values, "observed", "bootstrap")}
        if "posterior_median" in joint:
            scores["posterior"] = _describe_estimate(values, "posterior_median", "posterior")
            sd = float(results["posterior_profile"][metric].sel(model=model).std())
            error = {"value": sd, "method": "standard deviation of the posterior"}
            scores["posterior"]["uncertainty"]["standard_error"] = error
        for kind, details in scores.items():
            details["uncertainty"]["num_samples"] = results["panel"].sizes["prompt"]
            if np.isfinite(details["score"]):
                yield {
                    "evaluation_result_id": f"{metric}:{kind}",
                    "evaluation_name": results.attrs["title"],
                    "source_data": source,
                    "metric_config": _describe_metric(results, metric),
                    "score_details": details,
                }


def _describe_estimate(values: xr.Dataset, centre: str, source: str) -> Record:
    """Describe an estimate and its interval; a missing interval is left out."""
    lower, upper = map(float, values[f"{source}_interval"].values)
    interval = {
        "lower": lower,
        "upper": upper,
        "confidence_level": float(values.attrs["level"]),
        "method": str(values.attrs[f"{source}_note"]),
    }
    finite = np.isfinite([lower, upper]).all()
    uncertainty = {"confidence_interval": interval} if finite else {}
    return {"score": float(values[centre]), "uncertainty": uncertainty}


def _describe_metric(results: xr.DataTree, metric: str) -> Record:
    """Describe a metric: its name, its unit and its range; less is better in all."""
    profile = results["profile"].to_dataset()
    attrs, (low, high) = profile[metric].attrs, _find_range(results, metric)
    parameters = {"alpha": float(profile.attrs["alpha"])} if metric == "cvar" else {}
    return {
        "metric_id": f"sharpbayes.{metric}",
        "metric_name": attrs["long_name"],
        "metric_unit": "proportion" if attrs["units"] == "1" else attrs["units"],
        "metric_parameters": parameters,
        "lower_is_better": True,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high if np.isfinite(high) else "Infinity",
    }


def _find_range(results: xr.DataTree, metric: str) -> tuple[float, float]:
    """Find the lowest and the highest value of a metric; of log-risk without end in old results."""
    epsilon = results["evidence"].attrs.get("epsilon") if "evidence" in results else None
    if epsilon is None:
        return metric_range(metric, floor=0.0, ceiling=np.inf)
    floor, ceiling = log_risk_range(results["profile"].sizes["dimension"], float(epsilon))
    return metric_range(metric, floor=floor, ceiling=ceiling)
