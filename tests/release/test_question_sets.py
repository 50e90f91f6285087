"""The card of a data set of questions: what it says, and that texts in it cannot become Markdown or HTML."""

from __future__ import annotations

from pathlib import Path

import yaml

from quati_pool.release.about import ReleaseConfig
from quati_pool.release.output import Output
from quati_pool.release.question_sets import AspectAgreement, HumanScore, QuestionFacts, card, write_dataset

FACTS = QuestionFacts(
    unit="question",
    units={"train": 8, "validation": 1, "test": 1},
    split_by="texts",
    seed=3,
    people=1,
    rounds={"subject": 0, "create": 10},
    out={"question": {"repeated": 2, "decontextualised": 1}},
    open={"derived": 1},
    human=[HumanScore("en", 56.19, 20.0, 5), HumanScore("pt", None, None, 0)],
    agreement=[AspectAgreement("sense", 0.88461, None, 5)],
    derived_by={"pegasus": 4, "<b>ptt5</b>": 1},
)


def test_the_card_says_what_is_known() -> None:
    said = card(ReleaseConfig(title="Sea", license="cc-by-4.0", citation="@misc{sea}"), "sea", FACTS)
    assert said.startswith("# Sea\n\n- License: cc-by-4.0\n")
    assert "10 questions; splits are over texts, drawn at random with the seed 3." in said
    assert "| train | 8 |" in said
    assert "1 person took part; the files number them, and name nobody." in said
    assert "| create | 10 |" in said
    assert "subject" not in said
    assert "| en | 56.2 | 20.0 | 5 |" in said
    # Undefined is not zero.
    assert "| pt | undefined | undefined | 0 |" in said
    assert "| sense | 0.885 | undefined | 5 |" in said
    assert "- question: 1 decontextualised, 2 repeated" in said
    assert "Not finished when this was released: 1 item of kind derived." in said
    assert "<b>" not in said
    assert "pegasus 4" in said
    assert said.rstrip().endswith("```bibtex\n@misc{sea}\n```")


def test_titles_cannot_end_the_front_matter(tmp_path: Path) -> None:
    about = ReleaseConfig(title="---\n# <script>alert(1)</script> | x", description="words")
    records = {"question": {"train": [{"question_id": "A1", "question": {"en": "Why?"}}], "test": []}}
    rows = write_dataset(Output(tmp_path), about, "sea", records, FACTS)
    assert rows == {"question": 1}
    assert not (tmp_path / "question" / "test.parquet").exists()
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    header, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert yaml.safe_load(header)["task_categories"] == ["question-answering"]
    assert "<script>" not in body
