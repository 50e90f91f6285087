"""Reads label files for commands: checks them against the scale, and determines whether people gave the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from quati_pool.agreement.pool_join import UnmatchedRow, join_to_pool, lacks_ids
from quati_pool.errors import FrameError, InputError
from quati_pool.files.artifacts import unfinished
from quati_pool.files.label_files import LabelFile, read_label_file
from quati_pool.files.pools import read_pool_rows
from quati_pool.project.config import LabelFileConfig, PoolConfig
from quati_pool.project.workspace import Workspace
from quati_pool.records import GRADES, LabelerKind


def read_label_source(
    name: str,
    folder: Path,
    settings: LabelFileConfig | LabelFile,
    scale: Mapping[int, str] | None,
    *,
    negative: bool = True,
) -> LabelFile:
    """Reads the file of the labeler ``name``, whose path is relative to ``folder``, unless it is read already.

    Raises InputError if it cannot be read, or has a grade that is not on ``scale``; None allows any, without
    ``negative`` any from 0.
    """
    if isinstance(settings, LabelFileConfig) and settings.data_set and not (folder / settings.path).exists():
        raise InputError(
            folder / settings.path, None, f"{settings.data_set.name} was not read yet; run: quati-pool build"
        )
    read = (
        settings
        if isinstance(settings, LabelFile)
        else read_label_file(
            folder / settings.path,
            settings.format,
            columns=settings.columns,
            grades=scale or GRADES,
            names=settings.grades,
            annotator=settings.annotator,
        )
    )
    below_0 = None if negative else _below_0(read)
    found = below_0 if scale is None else off_scale(read, scale)
    if found is not None and isinstance(settings, LabelFile):
        raise FrameError(
            f"{read.path}, row {found.line}: {found.problem}; name the whole scale, such as scale=range(5)"
        )
    if found is not None:
        raise InputError(read.path, found.line, f"{name}: {found.problem}; {found.remedy}")
    return read


class OffScale(NamedTuple):
    """Grades off a scale: the first line with one, the problem, and the remedy."""

    line: int
    problem: str
    remedy: str


def off_scale(read: LabelFile, scale: Collection[int]) -> OffScale | None:
    """The grades of a file that are not on ``scale``; None if all are."""
    counts = Counter(read.relevance)
    off = sorted(grade for grade in counts if grade is not None and grade not in scale)
    if not off:
        return None
    place = next(place for place, grade in enumerate(read.relevance) if grade in off)
    labels = sum(counts[grade] for grade in off)
    undrawn = " (keep -1 on the scale where infAP is to read it as a pair that was not drawn)" if -1 in off else ""
    return OffScale(
        read.lines[place],
        f"the grade {read.relevance[place]} is not on the scale {', '.join(map(str, sorted(scale)))} "
        f"(off it: {', '.join(map(str, off))}, in {labels:,} of {len(read):,} labels)",
        f"name the whole scale with --scale (grades: in pool.yaml), or say what is not a grade: --grade {off[-1]}=none"
        f"{undrawn}",
    )


def _below_0(read: LabelFile) -> OffScale | None:
    """The first grade of a file that is below 0, as some qrels mark pairs that nobody judged; None if there is none."""
    place = next((place for place, grade in enumerate(read.relevance) if grade is not None and grade < 0), None)
    if place is None:
        return None
    grade = read.relevance[place]
    remedy = f"where it marks pairs that were not judged, give --grade {grade}=none, else the whole scale with --scale"
    if read.inclusion is not None:
        remedy = (
            "leave out the rows of pairs that were not drawn; where it marks drawn pairs that could not be judged, "
            f"give --grade {grade}=none"
        )
    return OffScale(read.lines[place], f"the grade {grade} is below 0", remedy)


def kind_of(settings: LabelFileConfig, read: LabelFile) -> LabelerKind:
    """``assessor`` for labels given by people, as declared or implied by the format of an annotation tool; else
    ``file``, since it is unknown who gave them."""
    return "assessor" if settings.person or read.by_people else "file"


def join_files(
    files: Mapping[str, LabelFile], queries: Mapping[str, str], config: PoolConfig | None, pool: Path | None = None
) -> tuple[dict[str, LabelFile], list[UnmatchedRow]]:
    """The same files, those without ids joined to the pairs of ``pool``, or else of the workspace's pool if there is
    one; and the rows that were joined to no pair. See ``pool_join``."""
    built = Workspace(config.folder).pool if config is not None else None
    path = pool or (built if built is not None and unfinished(built) is None else None)
    if path is None or not any(map(lacks_ids, files.values())):
        return dict(files), []
    return join_to_pool(files, (pair for _, pair in read_pool_rows(path)), queries)


def need_pool(files: Iterable[LabelFile], queries: Mapping[str, str]) -> bool:
    """Whether some files have only ids, others only texts, and no file or query maps one to the other."""
    files = list(files)

    def apart(identity: str, text: str) -> bool:
        having = [file for file in files if getattr(file, identity) is not None]
        return 0 < len(having) < len(files) and all(getattr(file, text) is None for file in having)

    return (apart("query_id", "query") and not queries) or apart("doc_id", "text")
