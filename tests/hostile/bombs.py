"""Small files that stand for more than any machine holds, one function a file."""

import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEGA = 1_000_000
RATINGS = {"item": [*"aabb"], "rater": [*"xyxy"], "score": [0, 1, 2, 3]}


def parquet(columns, **options):
    """The bytes of a Parquet file."""
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content, write_statistics=False, **options)
    return content.getvalue()


def repeated(text, rows):
    """A column with one text in each row, which is there once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), [text])


def one_cell():
    """A cell of 200 MB in 7 kB."""
    note = ["x" * (200 * MEGA), "", "", ""]
    options = {"compression": "zstd", "use_dictionary": False}
    return parquet(RATINGS | {"item": note}, **options)


def repeats(rows=20_000):
    """A text of 3.4 MB in twenty thousand rows."""
    text = np.random.default_rng(0).integers(97, 122, 3_400_000, dtype=np.uint8).tobytes().decode()
    raters = [f"r{number}" for number in range(rows)]
    columns = {"item": repeated(text, rows), "rater": raters, "score": [1] * rows}
    return parquet(columns, compression="none")


def shared_starts():
    """Texts of 1 MB that each differ from the one before in their end alone."""
    rows = 400
    notes = ["y" * MEGA + str(number) for number in range(rows)]
    columns = {"item": notes, "rater": ["a"] * rows, "score": [1] * rows}
    encoding = {"item": "DELTA_BYTE_ARRAY", "rater": "PLAIN", "score": "PLAIN"}
    options = {"use_dictionary": False, "column_encoding": encoding, "write_batch_size": 100}
    return parquet(columns, compression="none", **options)


def constants():
    """Sixty million rows of one number."""
    content = io.BytesIO()
    ones = np.ones(5 * MEGA, np.int64)
    table = pa.table({"item": ones, "rater": ones, "score": ones})
    with pq.ParquetWriter(content, table.schema, compression="zstd") as writer:
        for _ in range(12):
            writer.write_table(table)
    return content.getvalue()


def numbers():
    """Twenty million different numbers by their difference."""
    content = io.BytesIO()
    names = ("item", "rater", "score")
    options = {
        "use_dictionary": False,
        "column_encoding": dict.fromkeys(names, "DELTA_BINARY_PACKED"),
    }
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(content, schema, write_statistics=False, **options) as writer:
        for start in range(0, 20 * MEGA, 2 * MEGA):
            of_rows = np.arange(start, start + 2 * MEGA)
            writer.write_table(pa.table(dict.fromkeys(names, of_rows)))
    return content.getvalue()


def nested():
    """A list of thirty million numbers in a column that no role needs."""
    count = 30 * MEGA
    offsets = pa.array([0, *[count] * 4], pa.int32())
    more = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(count, np.int64)))
    return parquet(RATINGS | {"more": more}, compression="zstd")


def encode(value):
    """A value as JSON."""
    return json.dumps(value).encode()


def inspect(samples, **of_eval):
    """A log of Inspect."""
    return encode({"eval": {"task": "t", "model": "m"} | of_eval, "samples": samples})


def many_scorers():
    """Ten thousand samples, each of its own scorer."""
    scorers = [{"name": f"s{number}"} for number in range(15_000)]
    samples = [
        {"id": number, "epoch": 1, "scores": {f"s{number}": {"value": 1}}}
        for number in range(10_000)
    ]
    return inspect(samples, scorers=scorers)


def scorers_of_one_name():
    """Scorers that are told apart by a number."""
    sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}}
    return inspect([sample] * 1000, scorers=[{"name": "s"}] * 20_000)


def nested_lists():
    """A sample of half a million lists, and two thousand samples of the same scorer."""
    long = {"id": 0, "epoch": 1, "scores": {"s": {"value": [[]] * 500_000}}}
    others = [{"id": n, "epoch": 1, "scores": {"s": {"value": [1]}}} for n in range(1, 2000)]
    return inspect([long, *others])


def many_keys():
    """Metadata of twenty thousand samples, each with keys of its own."""
    return inspect(
        [
            {
                "id": number,
                "epoch": 1,
                "metadata": {f"k{number}_{key}": 1 for key in range(20)},
                "scores": {"s": {"value": 1}},
            }
            for number in range(20_000)
        ]
    )


def unpacked_members():
    """A log with 600 samples of 1 MB of spaces."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", encode({"eval": {"task": "t", "model": "m"}}))
        for number in range(600):
            sample = {"id": number, "epoch": 1, "scores": {}, "pad": " " * MEGA}
            archive.writestr(f"samples/{number}_epoch_1.json", encode(sample))
    return content.getvalue()


def metrics_by_columns():
    """Documents of lm-eval with many metrics and many columns."""
    columns = {f"k{key}": 1 for key in range(3000)}
    document = {"metrics": ["a"] * 20_000, "doc": columns, "a": 1}
    return b"\n".join(encode({"doc_id": number} | document) for number in range(8))


def label_studio(data, tag):
    """An export of one task with thirty thousand annotations."""
    annotations = [
        {
            "completed_by": number,
            "result": [{"from_name": tag.format(number), "value": {"rating": number % 5}}],
        }
        for number in range(30_000)
    ]
    return encode([{"id": 1, "annotations": annotations, "data": data}])


def wide_task():
    """A task with a hundred thousand values, repeated for each annotation."""
    return label_studio({f"k{key}": key for key in range(100_000)}, "r")


def long_task():
    """A text of 2 MB, repeated for each annotation."""
    return label_studio({"text": "x" * (2 * MEGA)}, "r")


def own_tags():
    """A tag for each annotation."""
    return label_studio({}, "r{}")


def promptfoo_variables():
    """Fifty thousand variables and twenty thousand assertions."""
    scores = [{"assertion": {"type": "x", "metric": f"m{n}"}, "score": 1} for n in range(20_000)]
    variables = {f"v{number}": 1 for number in range(50_000)}
    result = {"provider": "p", "vars": variables, "gradingResult": {"componentResults": scores}}
    return encode({"evalId": "", "results": {"results": [result]}})


def deepeval_metadata():
    """Fifty thousand entries of metadata and as many metrics."""
    metrics = [{"name": f"m{number}", "score": 1} for number in range(50_000)]
    metadata = {f"v{number}": 1 for number in range(50_000)}
    return encode({"testCases": [{"name": "a", "metadata": metadata, "metricsData": metrics}]})


def own_metadata():
    """Records of Every Eval Ever, each with a key of its own."""
    record = {
        "schema_version": 1,
        "evaluation_id": "e",
        "model_id": "m",
        "evaluation_name": "e",
        "evaluation": {"score": 1},
    }
    return b"\n".join(
        encode(record | {"sample_id": str(number), "metadata": {f"k{number}": 1}})
        for number in range(60_000)
    )


def own_keys():
    """Lines of JSON with ten thousand columns, one of them in each."""
    return b"\n".join(encode({f"k{number % 9999}": 1}) for number in range(700_000))


def one_long_label():
    """A label of 100 kB among 700,000 short ones."""
    rows = "".join(f"i{number},r,1\n" for number in range(700_000))
    return f"item,rater,score\n{'x' * 100_000},r,1\n{rows}".encode()


def empty_panel():
    """Every row has a model, a prompt and a judge of its own."""
    rows = "".join(f"m{number},p{number},j{number},{number % 5}\n" for number in range(100_000))
    return f"model,prompt,judge,score\n{rows}".encode()


def workbook(sheet):
    """The bytes of a workbook with one sheet of the given rows, in XML."""
    import openpyxl  # noqa: PLC0415 - an optional extra

    content = io.BytesIO()
    openpyxl.Workbook().save(content)
    with zipfile.ZipFile(content) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    members["xl/worksheets/sheet1.xml"] = (
        f'<worksheet xmlns="{space}"><sheetData>{sheet}</sheetData></worksheet>'
    ).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()


def text_row(number, *texts):
    """A row of a sheet with texts."""
    cells = "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in texts)
    return f'<row r="{number}">{cells}</row>'


def sparse_sheet():
    """A workbook with one cell in each row, far to the right."""
    rows = "".join(f'<row r="{n}"><c r="NTP{n}"><v>1</v></c></row>' for n in range(2, 100_000))
    return workbook(text_row(1, *(f"c{number}" for number in range(9999))) + rows)


def last_row():
    """A workbook whose last cell is in the last row that a sheet can have."""
    cells = text_row(2, "a", "x", 1) + text_row(1 << 20, "b", "y", 2)
    return workbook(text_row(1, "item", "rater", "score") + cells)


def row_beyond():
    """A workbook with a row of a number that no sheet has."""
    cells = text_row(2, "a", "x", 1) + text_row(10**9, "b", "y", 2)
    return workbook(text_row(1, "item", "rater", "score") + cells)


def last_corner():
    """A workbook with a cell in the last column of the last row."""
    cell = f'<row r="{1 << 20}"><c r="XFD{1 << 20}"><v>1</v></c></row>'
    return workbook(text_row(1, "item", "rater", "score") + text_row(2, "a", "x", 1) + cell)


def wide_lines():
    """JSON lines of ten thousand columns each, of the same names."""
    others = {f"k{number}": number % 5 for number in range(9996)}
    ratings = [{"item": n % 20, "rater": n // 20, "score": n % 5} for n in range(60)]
    return b"\n".join(encode(rating | others) for rating in ratings)


def wider_lines():
    """JSON lines of a hundred thousand columns each."""
    line = encode({f"k{number}": number % 5 for number in range(100_000)})
    return b"\n".join([line] * 6)


# The name of the file, by its maker.
BOMBS = {
    one_cell: "one_cell.parquet",
    repeats: "repeats.parquet",
    shared_starts: "starts.parquet",
    constants: "constants.parquet",
    numbers: "numbers.parquet",
    many_scorers: "scorers.json",
    nested_lists: "lists.json",
    many_keys: "keys.json",
    unpacked_members: "members.eval",
    metrics_by_columns: "samples_t_2026-01-01T00-00-00.0.jsonl",
    wide_task: "task.json",
    long_task: "text.json",
    own_tags: "tags.json",
    promptfoo_variables: "promptfoo.json",
    deepeval_metadata: "deepeval.json",
    own_metadata: "eee_samples.jsonl",
    own_keys: "lines.jsonl",
    sparse_sheet: "sheet.xlsx",
}
# Files that are refused for another reason than their size, or read.
LARGE = {
    last_row: ("last_row.xlsx", 0),
    row_beyond: ("row_beyond.xlsx", 3),
    last_corner: ("last_corner.xlsx", 3),
    wide_lines: ("wide.jsonl", 0),
    wider_lines: ("wider.jsonl", 3),
}
