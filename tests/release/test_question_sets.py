"""The card of a data set of questions: what it says, and that texts in it cannot become Markdown or HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from quati_pool.release.about import ReleaseConfig
from quati_pool.release.output import Output
from quati_pool.release.question_sets import (
    AspectAgreement,
    HumanScore,
    Naturalness,
    QuestionFacts,
    QuestionSizes,
    Verified,
    card,
    write_dataset,
)

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


def test_the_card_says_how_many_questions_programs_drafted_and_nothing_without_drafts() -> None:
    of_200 = replace(FACTS, units={"train": 160, "validation": 20, "test": 20}, drafted_by={"gpt-4o": 37})
    said = card(ReleaseConfig(), "sea", of_200)
    assert "\n\n37 of 200 questions (18.5 %) were drafted by gpt-4o; people accepted them.\n\n" in said
    two = card(ReleaseConfig(), "sea", replace(of_200, drafted_by={"qwen": 3, "<i>gpt": 1}))
    assert "1 of 200 questions (0.5 %) was drafted by " in two
    assert "gpt, 3 (1.5 %) by qwen; people accepted them." in two
    assert "<i>" not in two
    assert "against the author's. The author of a drafted question's answer is the program.\n" in said
    assert "drafted" not in card(ReleaseConfig(), "sea", FACTS)


def test_the_card_says_how_many_texts_programs_translated_and_nothing_without_translations() -> None:
    said = card(ReleaseConfig(), "sea", replace(FACTS, translated_by={"gpt-4o": 1200, "<b>qwen": 3}))
    lead = "Texts that began as a program's translation and that people checked or corrected: "
    (sentence,) = (one for one in said.split("\n\n") if one.startswith(lead))
    assert sentence.endswith(", gpt-4o 1,200.")
    assert "qwen 3, " in sentence
    assert "<b>" not in sentence
    assert "translation" not in card(ReleaseConfig(), "sea", FACTS)


def test_the_card_of_questions_on_constraints_says_how_they_were_drawn_verified_and_rated() -> None:
    sizes = [
        QuestionSizes("all", 4, 12, (2.25, 2.0), 0.125, (1203.5, 7.0), (3.0, 3.0)),
        QuestionSizes("test", 1, 3, (2.0, 2.0), None, None, None),
    ]
    facts = QuestionFacts(
        unit="question",
        units={"train": 9, "validation": 0, "test": 3},
        split_by="clusters",
        seed=1,
        people=4,
        rounds={"write": 15},
        verified=Verified(0.8, 0.5523, 0.93, 15, 2, 0.4444, None),
        sizes=sizes,
        naturalness=Naturalness(
            "<i>WebQs</i> | x", 3, 2, (3.5, 3.0, 4.0), (2.5, None, None), (1.0, None, None), 0.75, 0.0304
        ),
    )
    said = card(ReleaseConfig(), "logic", facts)
    assert "splits are over clusters, drawn at random with the seed 1." in said
    assert "| all | 12 | 4 | 2.2 (2.0) | 12.5 % | 1,203.5 (7.0) | 3.0 (3.0) |" in said
    assert "| test | 3 | 1 | 2.0 (2.0) | undefined | undefined | none |" in said
    assert "No constraint is in two splits; entities may be" in said
    assert "(docs/constraints.md)" in said
    assert "Of 15 questions that people wrote, both verifiers agree that 80.0 % (95 % interval over clusters" in said
    assert "55.2 to 93.0 %) ask exactly what their constraints say" in said
    assert "Krippendorff's α 0.444, Gwet's AC1 undefined." in said
    assert "<i>" not in said
    assert "| these | 3.50 | 3.00 to 4.00 |" in said
    assert "| difference | 1.00 | undefined |" in said
    assert "Mean difference of clusters: 0.75; randomisation test: p 0.03." in said
    shared = card(ReleaseConfig(), "logic", replace(facts, shared_constraints=1, verified=None, naturalness=None))
    assert "1 constraint is in several splits, as the clusters are of several draws; entities may be" in shared
    assert "## Verification" not in shared
    # Questions from texts are said to be nothing of this.
    assert "constraint" not in card(ReleaseConfig(), "sea", FACTS)


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
