"""RoMQA: questions with sets of answers, in clusters of related questions; the worst of each measures robustness.

The task ``closed`` is to choose among a question's candidates; ``gold`` is the same with each candidate's evidence;
``open`` is to list answers; ``evidence`` is to retrieve the evidence of answers from that of all candidates. Measures
of answers are in percent (the released script gives shares from 0 to 1):

- ``F1``, ``precision``, ``recall``, ``accuracy`` of all answers against the right candidates;
- ``P@k``, ``complete F1@k``, ``complete recall@k``, ``complete accuracy@k`` of the first k = 1, 10, 100 answers
  against the complete answers, and ``complete F1``, ``complete precision`` … of all; P@k is precision, divided by
  the answers given where these are fewer than k;
- ``cluster_min <measure>`` of each: the lowest value among a cluster's questions, averaged over the clusters.

Answers match by the exact name (its canonical Wikidata label); aliases are not accepted, as in the released script.
Zhong, Shi, Yih, Zettlemoyer, Findings of EMNLP 2023, arXiv 2210.14353.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from quati_pool.errors import InputError
from quati_pool.files.problems import quoted
from quati_pool.qa_benchmarks.base import (
    SPLITS,
    AnswerTask,
    AnswerTaskRun,
    Benchmark,
    Case,
    Collection,
    RetrievalTask,
    Task,
    Topic,
)
from quati_pool.qa_benchmarks.romqa_files import SOURCE, Question, RomqaFiles, find, gives_retrieved, missing, read
from quati_pool.qa_benchmarks.romqa_task_run import (
    EXAMPLES,
    FEW_SHOT,
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    AnswerSetTaskRun,
    QuestionView,
    drawn,
)
from quati_pool.records import id_problem
from quati_pool.text.pluralize import counted

RETRIEVED = "retrieved"

# The measures that come first in tables.
_CLOSED_FIRST = (
    *("F1", "cluster_min F1", "precision", "recall", "accuracy", "cluster_min accuracy"),
    *("P@10", "cluster_min P@10"),
)
_OPEN_FIRST = (
    *("P@1", "P@10", "cluster_min P@10", "P@100", "complete F1", "cluster_min complete F1"),
    *("complete recall", "complete accuracy"),
)


class _AnswerSets(AnswerTask):
    """Answering the questions of one kind of file, with or without examples from its training file."""

    kinds: ClassVar[tuple[str, ...]]
    """The kinds of files that the task can use; for each split, the file of the first kind that has one is read."""
    first: ClassVar[tuple[str, ...]]
    shown: ClassVar[QuestionView]

    def cases(self, data: Path) -> list[Case]:
        files = self._files(data)
        return [
            Case(split, "en", setting)
            for split, path in files.answered.items()
            for setting in self._settings(split, path, files)
        ]

    def files(self, data: Path, case: Case) -> list[Path]:
        """The split's file and, in the few-shot setting, that of the examples."""
        answered = self._files(data).answered
        return [answered[case.split], *([answered["train"]] if case.setting == FEW_SHOT else [])]

    def task_run(self, data: Path, case: Case, seed: int) -> AnswerTaskRun:
        files = self._files(data)
        path = files.answered[case.split]
        shown = self._shown(case.setting)
        questions = read(path, evidence=shown.evidence, retrieved=shown.retrieved)
        if not any(question.complete for question in questions):
            raise InputError(path, None, "no question has a complete answer; expected some under complete_answer")
        notes = [f"{other.name} has no answers, and so no rows" for other in files.unanswered.values()]
        if "train" not in files.answered:
            notes.append("without a training file there are no few-shot rows: examples never come from another split")
        if case.setting == "" and not shown.candidates:
            notes.append("predict-all gives the candidates, which a system in the open setting does not see")
        examples: list[Question] = []
        if case.setting == FEW_SHOT:
            train = files.answered["train"]
            examples = drawn(read(train, evidence=shown.evidence), questions, shown, seed)
            ids = ", ".join(quoted(example.id) for example in examples) or "none"
            notes.append(
                f"{case.split}: a few-shot model is shown these questions of {train.name} (seed {seed}): {ids}"
            )
        cut = shown.cut(questions)
        if cut:
            limits = f"descriptions after {LONGEST_DESCRIPTION} characters, other texts after {LONGEST_TEXT:,}"
            longer = counted(cut, "text is", "texts are")
            notes.append(f"{case.split}: {longer} cut for the model ({limits})")
        return AnswerSetTaskRun(case, questions, shown, self.first, examples, notes)

    def settings(self) -> Mapping[str, str]:
        """The setting besides zero-shot."""
        return {FEW_SHOT: f"a model is shown {EXAMPLES} questions of the training file first"}

    def _files(self, data: Path) -> RomqaFiles:
        return _first_of(data, self.kinds)

    def _settings(self, split: str, path: Path, files: RomqaFiles) -> list[str]:
        return ["", FEW_SHOT] if split != "train" and "train" in files.answered else [""]

    def _shown(self, setting: str) -> QuestionView:
        return self.shown


class ClosedTask(_AnswerSets):
    """Choosing among a question's candidates, from closed files, or from gold ones for splits without a closed file."""

    name = "closed"
    summary = "chooses the answers among a question's candidates; set F1 and the worst question of each cluster"
    kinds = ("closed", "gold")
    first = _CLOSED_FIRST
    shown = QuestionView(candidates=True)


class GoldTask(_AnswerSets):
    """An upper bound for retrieval: the model reads each candidate's evidence."""

    name = "gold"
    summary = "chooses among candidates that come with their evidence; measured like closed"
    kinds = ("gold",)
    first = _CLOSED_FIRST
    shown = QuestionView(candidates=True, evidence=True)


class OpenTask(_AnswerSets):
    """Answering from the question alone or, in the setting ``retrieved``, with the texts that the file gives for it."""

    name = "open"
    summary = "lists the answers, best first; precision of the first k and the worst question of each cluster"
    kinds = ("open",)
    first = _OPEN_FIRST
    shown = QuestionView(candidates=False)

    def settings(self) -> Mapping[str, str]:
        """The settings of all tasks that ask for answers, and ``retrieved``."""
        return {**super().settings(), RETRIEVED: "a model reads the texts that the file gives for the question"}

    def _settings(self, split: str, path: Path, files: RomqaFiles) -> list[str]:
        return super()._settings(split, path, files) + ([RETRIEVED] if gives_retrieved(path) else [])

    def _shown(self, setting: str) -> QuestionView:
        return QuestionView(candidates=False, retrieved=setting == RETRIEVED)


class EvidenceTask(RetrievalTask):
    """Retrieval of the evidence for a question's answers.

    The corpus consists of the distinct evidence texts of all candidates in all gold files with answers; a question's
    relevant texts (1) are those of its right candidates. Those of its other candidates are unjudged, as evidence of a
    wrong candidate may still be relevant to the question.
    """

    name = "evidence"
    summary = "finds the evidence of a question's answers; nDCG@10 and its worst question of each cluster"

    def cases(self, data: Path) -> list[Case]:
        return [Case(split, "en") for split in _first_of(data, ("gold",)).answered]

    def files(self, data: Path, case: Case) -> list[Path]:
        """All files with answers, as the corpus is built from all of them."""
        return list(_first_of(data, ("gold",)).answered.values())

    def collection(self, data: Path, case: Case) -> Collection:
        files = _first_of(data, ("gold",))
        texts: dict[str, str] = {}
        queries: list[Topic] = []
        qrels: list[tuple[str, str, int]] = []
        dropped = bare = 0
        for split, path in files.answered.items():
            for question in read(path, evidence=True):
                relevant: set[str] = set()
                for candidate in question.candidates:
                    for text in filter(str.strip, candidate.evidence):
                        doc_id = text_id(text)
                        texts[doc_id] = text
                        if candidate.is_answer:
                            relevant.add(doc_id)
                if split != case.split:
                    continue
                if not question.complete:
                    dropped += 1
                elif not relevant:
                    bare += 1
                else:
                    query_id = _query_id(path, question.id)
                    queries.append(Topic(query_id, question.question, question.cluster_id, question.drafted_by))
                    qrels += [(question.id, doc_id, 1) for doc_id in sorted(relevant)]
        path = files.answered[case.split]
        if not queries:
            raise InputError(path, None, "no question has evidence of an answer; expected it in its candidates")
        names = ", ".join(path.name for path in files.answered.values())
        notes = [f"corpus: the {len(texts):,} distinct evidence texts of {names}"]
        notes += [
            f"{other.name} has no answers; its evidence is not in the corpus" for other in files.unanswered.values()
        ]
        for count, lacking in ((dropped, "complete answer"), (bare, "evidence of an answer")):
            if count:
                notes.append(f"{case.split}: {counted(count, 'question', 'questions')} without {lacking} left out")
        return Collection(sorted(texts.items()), queries, qrels, "en", notes=notes)


def text_id(text: str) -> str:
    """The doc_id of an evidence text: a hash of its content, the same in every file and split."""
    return "evidence-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _query_id(path: Path, question_id: str) -> str:
    problem = "begins with '#'" if question_id.startswith("#") else id_problem(question_id)
    if problem is not None:
        message = f"id {quoted(question_id)} {problem}; expected what can be a query_id: no white space, no '#' first"
        raise InputError(path, None, message)
    return question_id


def _first_of(data: Path, kinds: Sequence[str]) -> RomqaFiles:
    """Each split's file, of the first of ``kinds`` that has one; raises MissingDataError where no file has answers."""
    found = [find(data, kind) for kind in kinds]
    answered = {split: path for one in reversed(found) for split, path in one.answered.items()}
    unanswered = {
        split: path for one in reversed(found) for split, path in one.unanswered.items() if split not in answered
    }
    if not answered:
        raise missing(data, " or ".join(kinds), unanswered.values())
    return RomqaFiles({split: answered[split] for split in sorted(answered, key=SPLITS.index)}, unanswered)


def _by_name(*tasks: Task) -> dict[str, Task]:
    return {task.name: task for task in tasks}


class Romqa(Benchmark):
    """The benchmark RoMQA and its tasks."""

    id = "benchmark/romqa"
    name = "romqa"
    title = "RoMQA"
    summary = "English questions with many answers over much evidence, in clusters that measure robustness"
    license = "CC BY-NC (the repository and its scripts; the data come from Wikidata and T-REx)"
    citation = (
        "Victor Zhong, Weijia Shi, Wen-tau Yih, Luke Zettlemoyer: RoMQA: A Benchmark for Robust, Multi-evidence, "
        "Multi-answer Question Answering. Findings of EMNLP 2023, arXiv 2210.14353"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = _by_name(ClosedTask(), OpenTask(), GoldTask(), EvidenceTask())
