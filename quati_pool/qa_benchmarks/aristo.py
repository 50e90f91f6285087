"""Aristo: the science questions of ARC, OpenBookQA and, where they are at hand, Regents, as one set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from quati_pool.qa_benchmarks import arc, openbookqa
from quati_pool.qa_benchmarks.base import SPLITS, Benchmark, Case, MissingDataError, Task
from quati_pool.qa_benchmarks.expectations import Expectations, Loaded
from quati_pool.qa_benchmarks.multiple_choice import MultipleChoice
from quati_pool.qa_benchmarks.question_files import QuestionFiles
from quati_pool.text.pluralize import counted

SOURCE = "https://allenai.org/data"
_REGENTS = QuestionFiles(
    "Regents",
    SOURCE,
    {
        Case(split, "en"): (f"{name}.jsonl",)
        for split, name in (("train", "train"), ("validation", "dev"), ("test", "test"))
    },
)


class _Source(NamedTuple):
    """One of the sets: where its files are read from, and the setting that its cases have there."""

    title: str
    files: QuestionFiles
    folder: str
    setting: str = ""
    optional: bool = False


_SOURCES = (
    _Source("ARC easy", arc.FILES, "arc", "easy"),
    _Source("ARC challenge", arc.FILES, "arc", "challenge"),
    _Source("OpenBookQA", openbookqa.FILES, "openbookqa"),
    _Source("Regents", _REGENTS, "regents", optional=True),
)


class _Sets:
    """Reads the sets of a split together. Each set is in the folder of its name or, but for Regents, in the folder
    itself."""

    settings: ClassVar[Mapping[str, str]] = {}

    def cases(self, data: Path) -> list[Case]:
        """The splits that every set but Regents has answers for; raises MissingDataError where there is none."""
        there = [{case.split for _, case in _found(data, source, keyed=True)} for source in _SOURCES]
        required = [splits for splits, source in zip(there, _SOURCES, strict=True) if not source.optional]
        cases = [Case(split, "en") for split in SPLITS if all(split in splits for splits in required)]
        if not cases:
            absent = [
                source.title
                for source, splits in zip(_SOURCES, there, strict=True)
                if not splits and not source.optional
            ]
            which = ", ".join(absent) or "a split that ARC easy, ARC challenge and OpenBookQA all have"
            raise MissingDataError(
                f"{data} lacks {which}; put the files of ARC ({arc.SOURCE}) and OpenBookQA ({openbookqa.SOURCE}) into "
                "its folders arc and openbookqa"
            )
        return cases

    def files(self, data: Path, case: Case) -> list[Path]:
        """The file of each set."""
        found = [
            source.files.files(folder, there)
            for source in _SOURCES
            for folder, there in _found(data, source)
            if there.split == case.split
        ]
        return [path for paths in found for path in paths]

    def load(self, data: Path, case: Case) -> Loaded:
        """The questions of all sets, and a note on their numbers. A question that an earlier set has, in whatever
        split, is left out: Regents and ARC share some, and one to be tested on would be learned from."""
        questions: list[MultipleChoice] = []
        counts: list[str] = []
        notes: list[str] = []
        earlier: set[str] = set()
        for source in _SOURCES:
            splits = {there.split: source.files.load(folder, there) for folder, there in _found(data, source)}
            if (loaded := splits.get(case.split)) is None:
                counts.append(f"no {source.title}")
            else:
                new = [question for question in loaded.questions if question.id not in earlier]
                questions += new
                counts.append(f"{len(new):,} of {source.title}")
                if (known := len(loaded.questions) - len(new)) > 0:
                    of_set = counted(known, "question", "questions")
                    notes.append(f"{case.split}: {of_set} of {source.title} left out, as another set has them too")
                notes += loaded.notes
            earlier.update(question.id for each in splits.values() for question in each.questions)
        return Loaded(questions, [f"{case.split}: {', '.join(counts)}", *notes])


def _found(data: Path, source: _Source, *, keyed: bool = False) -> Iterator[tuple[Path, Case]]:
    """The cases of a set that are in the folder, each with the folder it is read from; ``keyed``: those alone that were
    released with answers."""
    for folder in (data / source.folder, *([] if source.optional else [data])):
        try:
            cases = source.files.cases(folder) if keyed else source.files.there(folder)
        except MissingDataError:
            continue
        of_set = [case for case in cases if case.setting == source.setting]
        if of_set:
            yield from ((folder, case) for case in of_set)
            return


class Aristo(Benchmark):
    """``arc/`` and ``openbookqa/`` with the files of these benchmarks, or these files themselves, and ``regents/`` with
    ``{train,dev,test}.jsonl`` of the same format, if there is one. Contexts are read from a choice's ``para``."""

    id = "benchmark/aristo"
    name = "aristo"
    title = "Aristo"
    summary = "ARC easy and challenge, OpenBookQA and, where the folder has them, Regents, as one set"
    license = "those of ARC and OpenBookQA; see the sources"
    citation = (
        "Clark, Etzioni, Khashabi, Khot, Mishra, Richardson, Sabharwal, Schoenick, Tafjord, Tandon, Bhakthavatsalam, "
        "Groeneveld, Guerquin and Schmitz. From 'F' to 'A' on the N.Y. Regents Science Exams. 2019, arXiv 1909.01958"
    )
    source = SOURCE
    tasks: ClassVar[Mapping[str, Task]] = {"expectations": Expectations(_Sets())}
