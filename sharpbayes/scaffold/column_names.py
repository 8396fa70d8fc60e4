"""Roles of columns, inferred from the words of their names."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from sharpbayes.errors import DataError, format_list

# Last words of the names of columns by role, the likeliest first.
ROLES = {
    "model": "model llm system assistant chatbot engine checkpoint release generator candidate",
    "prompt": "prompt item question task scenario conversation dialogue query instruction behavior "
    "behaviour goal case test document passage segment seg id",
    "judge": "judge grader scorer rater evaluator annotator assessor reviewer person coder",
    "item": "item prompt image conversation text dialogue comment post message sentence tweet "
    "stimulus statement utterance snippet sample task document doc passage paragraph article video "
    "clip audio segment seg case id",
    "rater": "rater annotator worker user participant respondent labeller labeler grader judge "
    "evaluator reviewer subject person coder",
    "indicator": "indicator metric criterion criteria measure question aspect dimension rubric",
    "score": "score rating label level severity harm value answer harmfulness toxicity judgement "
    "judgment grade annotation",
    "trial": "trial retrial rejudgement rejudgment rerating regrade replicate rep repeat "
    "repetition iteration",
    "sample": "sample chunk generation run epoch turn attempt",
    "category": "category type kind topic violation subject",
    "cluster": "cluster scenario behaviour behavior goal story",
    "time": "timestamp time datetime date at",
}
# The same in German, French, Spanish, Portuguese and Italian, without accents.
FOREIGN = {
    "model": "modell modele modelo modello",
    "prompt": "frage aufgabe pregunta pergunta domanda consigne invite",
    "judge": "bewerter prufer gutachter juge juez juiz giudice evaluateur evaluador avaliador",
    "item": "beitrag kommentar commentaire comentario commento texte texto testo",
    "rater": "bewerter annotateur anotador annotatore",
    "score": "bewertung wertung schweregrad punktzahl puntuacion pontuacao gravite gravedad "
    "gravidade gravita schaden dommage dano danno punteggio",
    "category": "kategorie categorie categoria",
}
WORDS = {role: [*words.split(), *FOREIGN.get(role, "").split()] for role, words in ROLES.items()}
KNOWN = {word for words in WORDS.values() for word in words}
# Words that say that a column is an id; "prompt id" is a prompt.
ID_WORDS = {"id", "name", "key", "uid", "uuid", "code", "index", "number", "no", "nr", "hash"}
# A panel with a column of one of these words has a row for each score; "severity" may be one
# indicator among several.
SCORE_WORDS = ("score", "rating", "value")
# Stands for the data file in errors about its columns, until what reads the file names it.
UNNAMED = "init"
# How programs and forms call a prompt (Inspect), a participant (Qualtrics), an item (Mechanical
# Turk) and who scored, with how
# unlikely that is beside other names.
SCORED_BY = ("rated", "scored", "judged", "graded", "reviewed", "labelled", "labeled", "annotated")
SCORERS = ("your name", "your email", "email", "email address", *(f"{x} by" for x in SCORED_BY))
USUAL = {
    "sample id": (("prompt", "item"), 0),
    "response id": (("rater",), len(KNOWN)),
    "call index": (("trial",), 0),
    "hit id": (("item",), len(KNOWN)),
    **dict.fromkeys(SCORERS, (("judge", "rater"), len(KNOWN))),
}
# Words that make `n_judges` a count of judges, and `n_ratings` one of ratings.
COUNTS = {"n", "num", "number", "count"}
COUNTED = ("model", "prompt", "judge", "item", "rater", "score", "indicator")
REPEATED, TRUTH = ("trial", "sample"), {"true", "false"}
SCORING = ("judge", "rater")
# Roles of who answers and who scores, and how long their names are at most.
NAMED, MAX_NAME = ("model", "judge"), 200
# What somebody should have said, and did not.
TRUTHS = {"expected", "gold", "ground"}
# Numbers that are no scores by their name.
MEASURES = {
    *("token", "tokens", "latency", "second", "seconds", "ms", "time", "duration", "cost", "price"),
    *("length", "word", "words", "chars", "characters", "count", "seed", "temperature", "year"),
    *("age", "date", "timestamp", "version", "row", "rank", "confidence", "probability", "size"),
    *("order", "position", "index", "number", "id", "n", "num", "std", "stdev", "variance"),
    *("diff", "difference", "delta", "entropy", "mean", "median", "average", "avg", "majority"),
    *("temp", "round", "rounds", "turns"),
}
# What a program says of its own work, as the last word of a name.
TECHNICAL = {"ok", "cached", "truncated", "retried", "redacted", "done"}
# With a word of who scores, one of these numbers repeated judgements.
REPEATS = {*WORDS["trial"], *WORDS["sample"]}
JUDGING = {*WORDS["judge"], "scoring", "judging", "judgement", "judgment", "grading", "rating"}
# A column of a word of models and one of these names the models where no other column does.
VERSIONS = {"version", "variant", "checkpoint", "release", "revision"}
# What a judge writes about an answer, and no item of its own.
REMARKS = {"comment", "text", "message"}
# What a model gave, which is an item where a column has its id.
RESPONSES = {"response", "answer", "completion", "output"}
# How words begin that name a family of models.
FAMILIES = (
    *("gpt", "chatgpt", "openai", "claude", "anthropic", "gemini", "gemma", "google", "llama"),
    *("mistral", "mixtral", "qwen", "deepseek", "grok", "vicuna", "falcon", "olmo", "cohere"),
)
# How names begin of people who score.
PEOPLE = ("human", "expert", "annotator", "rater", "judge", "grader", "reviewer")
# What else scores, as a word of a name.
PROGRAMS = {"llm", "ai", "classifier", "detector", "autograder"}
# Last words of names that say that much of it is good, unless a word denies it.
GOOD = {
    *("safe", "safety", "harmless", "harmlessness", "benign", "good", "quality", "helpful"),
    *("helpfulness", "honest", "honesty", "truthful", "truthfulness", "factuality", "accurate"),
    *("accuracy", "correct", "correctness", "faithful", "faithfulness", "groundedness"),
    *("appropriate", "appropriateness", "acceptable", "acceptability", "fair", "fairness"),
    *("soundness", "trustworthiness", "passed"),
}
DENIALS = {"not", "non", "no", "lack", "poor", "low", "loss", "without"}
# Words of a name that say that it is a score, and not of what.
SCORED = {"score", "rating", "level", "value", "grade", "label", "judgement", "judgment"}
# The entry of an object of JSON that is what the object is called: `prompt.text`.
CONTENT = re.compile(r"(?<=.)\.(text|content)$")
# Times of answering are not times of day.
DURATIONS = {"response", "reaction", "lead", "elapsed"}


def split_name(name: object) -> list[str]:
    """Return the words of a column's name in small letters and the singular.

    >>> split_name("LLM judge"), split_name("modelID"), split_name("worker_ids")
    (['llm', 'judge'], ['model', 'id'], ['worker', 'id'])
    >>> split_name("Modèle")
    ['modele']
    """
    words: list[str] = []
    plain = unicodedata.normalize("NFKD", str(name)).encode("ascii", "ignore").decode()
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain):
        word = part.lower()
        word = word[:-1] if word.endswith("s") and word[:-1] in KNOWN | ID_WORDS else word
        joined = re.fullmatch(rf"({'|'.join(sorted(KNOWN))})(id|name|model)", word)
        words += joined.groups() if joined else [word]
    return words


def quote(name: object) -> str:
    """Return a name in quotation marks; one column of a table may have none."""
    return f'"{name}"' if str(name) else "(the column without a name)"


def title_columns(names: Iterable[object]) -> list[str]:
    """Return names of columns as a list shows them; one that is missing as its place.

    >>> title_columns(["id", ""])
    ['id', 'column 2 without a name']
    """
    titles = (str(name) or f"column {place} without a name" for place, name in enumerate(names, 1))
    return [*titles]


def strip_id(words: Sequence[str]) -> list[str]:
    """Return the words of a name without those of an id, if others are left."""
    return [word for word in words if word not in ID_WORDS] or [*words]


def last_word(name: object) -> str:
    """Return the word of a name that says what the column is; empty where it has no words.

    >>> last_word("LLM judge"), last_word("prompt category"), last_word("Prompt ID")
    ('judge', 'category', 'prompt')
    """
    return next(reversed(strip_id(split_name(name))), "")


def is_named_score(name: object) -> bool:
    """Tell whether a column is named as a score, or stands under such a name in JSON.

    >>> is_named_score("severity_label"), is_named_score("scores.hate"), is_named_score("topic")
    (True, True, False)
    """
    parts = str(name).split(".")
    return any(last_word(part) in WORDS["score"] for part in parts) and not is_count(parts[-1])


def is_count(name: str) -> bool:
    """Tell whether a name says how many there are of something.

    >>> is_count("n_ratings"), is_count("number of judges"), is_count("number")
    (True, True, False)
    """
    first, *others = split_name(name) or [""]
    return first in COUNTS and bool(others)


def says_truth(name: str) -> bool:
    """Tell whether a name is that of what should have been said, and not of a score.

    >>> says_truth("ground_truth_label"), says_truth("expected_label"), says_truth("label")
    (True, True, False)
    """
    return bool(TRUTHS & {*split_name(name)})


def is_technical(name: str) -> bool:
    """Tell whether a name says how a program worked: ``parse_ok``, ``is_cached``."""
    return last_word(name) in TECHNICAL


def says_good(name: str) -> bool:
    """Return whether a name says that a high score is good.

    >>> [says_good(name) for name in ("safety_score", "is_safe", "not safe", "safety_violation")]
    [True, True, False, False]
    """
    words = [word for word in strip_id(split_name(name)) if word not in SCORED]
    return bool(words) and words[-1] in GOOD and not DENIALS & {*words}


def is_scorer(word: str) -> bool:
    """Tell whether a word of a name is one of who scores: a family of models, or people.

    >>> is_scorer("gpt"), is_scorer("ai"), is_scorer("aim")
    (True, True, False)
    """
    return word.startswith((*FAMILIES, *PEOPLE)) or word in PROGRAMS


def is_model(text: str) -> bool:
    """Tell whether a text begins as names of models do, or does after the name of a maker.

    >>> is_model("GPT-4o"), is_model("meta-llama/Llama-3-8B"), is_model("alpha")
    (True, True, False)
    """
    parts = (re.sub(r"\W", "", part) for part in text.lower().split("/"))
    return any(part.startswith(FAMILIES) for part in parts)


def infer_roles(
    data: pd.DataFrame, wanted: Sequence[str], declared: Mapping[str, str]
) -> dict[str, str]:
    """Return columns by role: those given, then those with a usual name, each column once.

    >>> table = pd.DataFrame(columns=["Item ID", "worker_id", "LLM judge", "Harm", "persona"])
    >>> infer_roles(table, ["item", "judge", "score"], {})
    {'item': 'Item ID', 'judge': 'LLM judge', 'score': 'Harm'}
    """
    roles = {role: declared[role] for role in wanted if role in declared}
    for role in (role for role in wanted if role not in roles):
        free = [str(name) for name in data.columns if str(name) not in roles.values()]
        ranked = [(_rank(CONTENT.sub("", n), role) or _rank(n, role), n) for n in free]
        likely = [(rank, name) for rank, name in ranked if rank is not None]
        likely = [(rank, name) for rank, name in likely if not _says_nothing(data[name], role)]
        likely = [(rank, name) for rank, name in likely if not _numbers_rows(data, name, role)]
        if role in ("prompt", "item", "score"):  # the name of the only task is no prompt
            likely = [pair for pair in likely if len(pd.unique(data[pair[1]])) > 1] or likely
        if role == "judge" and "model" in roles:
            _refuse_scores_of_judges(data, [name for _, name in likely])
        roles |= {role: min(likely, key=lambda pair: pair[0])[1]} if likely else {}
    return roles


def find_model(data: pd.DataFrame, declared: Mapping[str, str]) -> dict[str, str]:
    """Return the only column whose values are names of models where no column is named so.

    Judges may be models, too; their columns are left out.

    >>> find_model(pd.DataFrame({"target": ["gpt-4o", "claude-3"] * 2, "harm": list("1234")}), {})
    {'model': 'target'}
    """
    if "model" in infer_roles(data, ("model",), declared):
        return {}
    free = [str(name) for name in data.columns if name not in declared.values()]
    names = [
        name
        for name in free
        if not any(_rank(name, role) for role in ("judge", "rater"))
        and all(is_model(str(text)) for text in pd.unique(data[name]))
        and 1 < data[name].nunique() < len(data)
    ]
    return {"model": names[0]} if len(names) == 1 else {}


def _says_nothing(values: pd.Series, role: str) -> bool:
    """Tell whether a column has no value, or none that its role could have.

    Lists are no scores, long texts name nobody, nor do true and false who scored, and one number
    for all rows is no repeat. A table without rows says nothing.
    """
    if role in REPEATED:
        return len(values) > 1 and len(pd.unique(values)) == 1
    if role == "score" and holds_lists(values):
        return True
    if role in NAMED and any(len(str(text)) > MAX_NAME for text in pd.unique(values)):
        return True
    if role in SCORING and {str(text).lower() for text in pd.unique(values)} <= TRUTH:
        return len(values) > 0  # `expert_annotator`: whether one is
    return len(values) > 0 and not any(str(text).strip() for text in values)


def holds_lists(values: pd.Series) -> bool:
    """Tell whether the cells of a column are lists, as JSON or Python writes them."""
    texts = {str(text).strip() for text in pd.unique(values)} - {""}
    return bool(texts) and all(text[0] == "[" and text[-1] == "]" for text in texts)


def _numbers_rows(data: pd.DataFrame, name: str, role: str) -> bool:
    """Whether a column that could be a prompt or a repeat has another value in each of many rows.

    A plain id may be one of rows, and so may what a model generated; an id of samples is one where
    a plain id repeats, as in data frames of Inspect.
    """
    words = split_name(name)
    repeating = [n for n in data.columns if split_name(n) == ["id"] and not data[n].is_unique]
    is_id = role == "prompt" and (words == ["id"] or (words == ["sample", "id"] and repeating))
    return bool(is_id or role == "sample") and len(data) > 1 and data[name].is_unique


def _refuse_scores_of_judges(data: pd.DataFrame, names: list[str]) -> None:
    """Raise DataError where several columns are called judges and hold numbers: their scores."""
    numeric = [name for name in names if pd.to_numeric(data[name], errors="coerce").notna().any()]
    if len(numeric) > 1:
        problem = (
            f"{format_list(numeric)} hold numbers, as where each has the scores of one judge; give "
            "every judge rows of their own, with columns `judge` and `score` (pandas.melt)"
        )
        raise DataError.at(UNNAMED, problem)


def _rank(name: str, role: str) -> tuple[int, int, bool] | None:
    """How unlikely a column has a role: further words, the word itself, no id; None if not."""
    words = split_name(name)
    usual = " ".join(words[:-1] if words[-1:] == ["model"] else words)  # "graded by model"
    if usual in USUAL:
        roles, further_words = USUAL[usual]
        return (further_words, len(KNOWN), False) if role in roles else None
    is_unscored = (role in COUNTED and is_count(name)) or (role == "score" and says_truth(name))
    plain = strip_id(words)
    if role in REPEATED and {*plain} & JUDGING and plain[-1] in REPEATS:
        return (len(plain), 0, False) if role == "trial" else None  # "scorer epoch", "judge run"
    last, judges = next(reversed(plain), ""), [word for word in plain if word in WORDS["judge"]]
    is_version = role == "model" and last in VERSIONS and bool({*plain} & {*WORDS["model"]})
    is_response = role == "item" and last in RESPONSES and 1 < len(plain) < len(words)
    if is_version or is_response:  # "model version", "llm_response_id"
        return len(plain), len(KNOWN), plain == words
    if is_unscored or (role == "item" and judges and last in REMARKS):  # "grader comment"
        return None
    if role in ("model", "judge") and judges and last in WORDS["model"]:  # "judge model"
        last = judges[0]
    if last not in WORDS[role] or (role == "time" and set(plain) & DURATIONS):
        return None
    return len(plain), WORDS[role].index(last), plain == words
