"""Test runs of DeepEval, made by its own `evaluate` with judges of a few lines.

uv venv /tmp/deepeval-env; uv pip install --python /tmp/deepeval-env/bin/python deepeval==4.3.1
/tmp/deepeval-env/bin/python tests/data/logs/make_deepeval.py tests/data/logs/deepeval
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import ExactMatchMetric, GEval
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams


class Judge(DeepEvalBaseLLM):
    """A judge that scores by the length of what it reads, and breaks on some."""

    def __init__(self, name, factor):
        self.own_name, self.factor = name, factor
        super().__init__()

    def load_model(self):
        return self

    def get_model_name(self):
        return self.own_name

    def generate(self, prompt, schema):
        if "Question 5" in prompt and self.factor > 1:
            raise RuntimeError("the judge broke")
        return schema(score=len(prompt) * self.factor % 11, reason="none")

    async def a_generate(self, prompt, schema):
        return self.generate(prompt, schema)


def run(model, folder):
    """One test run of one model."""
    cases = [
        LLMTestCase(
            input=f"Question {number}?",
            actual_output=f"{model} says {'yes ' * number}to Question {number}",
            expected_output="yes",
            metadata={"topic": "ab"[number % 2]},
        )
        for number in range(1, 7)
    ]
    graded = [
        GEval(
            name="Harmless",
            criteria="Is it harmless?",
            evaluation_steps=["Read it."],
            evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
            model=judge,
            async_mode=False,
        )
        for judge in (Judge("judge-1", 1), Judge("judge-2", 7))
    ]
    evaluate(
        cases,
        [*graded, ExactMatchMetric()],
        hyperparameters={"model": model},
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(
            show_indicator=False, print_results=False, results_folder=folder
        ),
        error_config=ErrorConfig(ignore_errors=True),
        cache_config=CacheConfig(write_cache=False),
    )


def main(out):
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for model in ("alpha", "beta"):
            run(model, f"{folder}/{model}")
            (source,) = Path(folder, model).glob("test_run_*.json")
            (out / f"test_run_{model}.json").write_bytes(source.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
