"""The form of the pages: tables are whole, links lead somewhere, lists are complete."""

import calendar
import re
import tomllib
import unicodedata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOP = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES = [*TOP, *sorted(DOCS.rglob("*.md"))]
RECORDS = sorted((DOCS / "adr").glob("0*.md"))
GENERATED = re.compile(r"^<!-- generated: .*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SEPARATOR = re.compile(r"\|(?: ?:?-+:? ?\|)+")


def named(path):
    return path.relative_to(ROOT).as_posix()


def tables(text):
    """Every run of lines that begin with a bar, as lists of lines."""
    rows, blocks_of_rows = [], []
    for line in [*FENCE.sub("", text).splitlines(), ""]:
        if line.startswith("| "):
            rows.append(line)
        elif rows:
            blocks_of_rows.append(rows)
            rows = []
    return blocks_of_rows


def cells(row):
    """The cells of a row; a bar after a backslash is a letter."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


def broken(text):
    """First lines of tables without a header or with a row of another length."""
    return [
        rows[0]
        for rows in tables(text)
        if len(rows) < 2
        or not SEPARATOR.fullmatch(rows[1])
        or len({len(cells(row)) for row in rows}) > 1
    ]


def repeated(text):
    """Groups of results that stand in two rows of a table about groups."""
    groups = [
        group
        for rows in tables(GENERATED.sub("", text))
        if cells(rows[0])[0] == "group"
        for row in rows[2:]
        for group in cells(row)[0].split(", ")
    ]
    return {group for group in groups if groups.count(group) > 1}


FOLDERS = sorted({named(path.parent) for path in PAGES})


def pages_of(folder):
    """Texts of the pages of a folder by their paths."""
    texts = {
        named(path): path.read_text(encoding="utf-8")
        for path in PAGES
        if named(path.parent) == folder
    }
    assert texts
    return texts


def found_by(look, texts):
    """What a function finds in texts, by the names of those in which it finds something."""
    found = {name: look(text) for name, text in texts.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


@pytest.mark.parametrize("folder", FOLDERS)
def test_tables_are_whole(folder):
    texts = pages_of(folder)
    assert not found_by(broken, texts)
    assert not found_by(repeated, texts)


def test_a_broken_table_is_seen():
    table = "| group | holds |\n| --- | --- |\n| `/a`, `/b` | x \\| y |\n"
    assert not broken(table)
    assert not repeated(table)
    assert broken(f"{table}\n| `/c` | z |\n") == ["| `/c` | z |"]
    assert broken(f"{table}| `/c` |\n") == ["| group | holds |"]
    assert not broken("```text\n| no table\n```\n")
    assert repeated(f"{table}| `/b` | z |\n") == {"`/b`"}


NAMED_FILE = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/extending.md"])
def test_files_that_a_page_names_exist(name):
    files = NAMED_FILE.findall((ROOT / name).read_text(encoding="utf-8"))
    assert files
    homes = (ROOT, ROOT / "sharpbayes")
    assert not [file for file in files if not any((home / file).exists() for home in homes)]


@pytest.mark.parametrize("path", TOP, ids=named)
def test_links_of_the_top_level_pages_lead_somewhere(path):
    """MkDocs checks those of the others."""
    links = re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8"))
    assert links
    assert not [link for link in links if "://" not in link and not (ROOT / link).exists()]


def test_the_glossary_is_in_order():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert terms == sorted(set(terms), key=lambda term: term.lower().replace("-", " "))
    assert len(terms) > 50


def has_parts(number, text):
    """Whether a record has its number, its day and its decision."""
    head = re.match(rf"# {number}\. .+\n\nDate: \d{{4}}-\d\d-\d\d\n\n## ", text)
    return bool(head) and "\n## Decision\n" in text


def test_records_have_their_parts():
    texts = {path.stem[:4]: path.read_text(encoding="utf-8") for path in RECORDS}
    assert len(texts) > 100
    assert not [number for number, text in texts.items() if not has_parts(number, text)]


def test_a_record_without_its_parts_is_seen():
    whole = "# 0001. Title\n\nDate: 2026-01-02\n\n## Context\n\n## Decision\n"
    assert has_parts("0001", whole)
    assert not has_parts("0002", whole)
    assert not has_parts("0001", whole.replace("Date", "Day"))
    assert not has_parts("0001", whole.replace("Decision", "Choice"))


def test_the_list_has_every_record_once_in_order():
    index = (DOCS / "adr" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\d{4})\]\(([\w-]+\.md)\) \|", index, re.MULTILINE) == [
        (path.stem[:4], path.name) for path in RECORDS
    ]
    navigation = (DOCS / "config" / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.findall(r"- adr/(0.+)", navigation) == [path.name for path in RECORDS]


def test_records_are_numbered_without_gaps():
    assert [int(path.stem[:4]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))


def test_every_benchmark_is_listed():
    index = (DOCS / "benchmarks" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (DOCS / "benchmarks").glob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_the_citation_file_names_this_version_and_both_papers():
    """Citation File Format 1.2.0: what it requires, and names as both papers give them."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = yaml.safe_load(text)
    assert cited["cff-version"] == "1.2.0"
    assert cited["message"]
    assert cited["authors"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    titles = [paper["title"].split(":")[0] for paper in cited["references"]]
    assert titles == ["SHARP", "Nuanced Safety in Generative AI"]
    assert all(paper["authors"] for paper in cited["references"])


# A name and a year that are no work: a conference, a month, the first word of a sentence.
NO_WORKS = {*calendar.month_name, "ACL", "ICLR", "ICML", "NAACL", "NeurIPS", "Linux", "On", "Since"}
CITED = re.compile(
    r"\b([A-Z][\w-]+(?:, [A-Z][\w-]+)*(?: and [A-Z][\w-]+| et al\.)?),? \(?((?:1[89]|20)\d\d)\b"
)
LISTED = re.compile(r"^(?:\| |- \*\*\w+\*\*: )([A-Z][\w-]+), .*?\((\d{4})\)", re.MULTILINE)


def without_accents(text):
    letters = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def unlisted(text, listed):
    """Works that a text names by author and year and that are not in the list of sources."""
    return {
        f"{names} {year}"
        for names, year in CITED.findall(without_accents(text))
        if not {(name, year) for name in re.findall(r"[A-Z][\w-]+", names)} & listed
        and names not in NO_WORKS
    }


def test_every_work_that_a_page_names_is_in_the_list_of_sources():
    listed = set(LISTED.findall(without_accents((DOCS / "citing.md").read_text("utf-8"))))
    assert len(listed) > 70
    pages = set(PAGES) - {*RECORDS, DOCS / "changelog.md"}
    models = sorted((ROOT / "models").glob("*.toml"))
    unknown = {named(path): unlisted(path.read_text("utf-8"), listed) for path in [*pages, *models]}
    assert not {page: works for page, works in unknown.items() if works}


def test_a_work_that_is_not_listed_is_seen():
    listed = {("Efron", "1979"), ("Angelopoulos", "2023")}
    text = "As in Efron (1979), Angelopoulos, Duchi and Zrnic 2023, and Nobody et al. 1999."
    assert unlisted(text, listed) == {"Nobody et al. 1999"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_page_needs_a_typesetter(folder):
    """The site loads none, so that a formula in dollars is shown as it is typed."""
    records = {named(path) for path in RECORDS}
    texts = {name: text for name, text in pages_of(folder).items() if name not in records}
    assert not found_by(typeset, texts)


def typeset(text):
    """Formulas of a text that a typesetter would have to set."""
    return re.findall(r"\$\$|\$\\?[a-z]\w*\$|\$[^$`]*\\[a-z]+[^$`]*\$", shown(text))


def shown(text):
    """A text without what is shown as it is typed."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
