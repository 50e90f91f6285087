"""The data card of a release: its contents, who graded it and how, and what is left out.

It states only what is known. Text from elsewhere (names, prompts, examples) is escaped or put into fences that it
cannot close; only the description is kept as Markdown, as the author wrote it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from quati_pool.data_sets.base import About
from quati_pool.records import State
from quati_pool.release.about import ReleaseConfig
from quati_pool.release.output import Output
from quati_pool.release.pool_records import pool_reasons
from quati_pool.release.state import Labelled, Release, ReleasedAudit, ReleasedEstimates
from quati_pool.text.characters import one_line, possible
from quati_pool.text.markdown import escape_markdown, pipe_table
from quati_pool.text.pluralize import counted

Cell = str | int

_LICENSES = {
    "apache-2.0", "bsd-2-clause", "bsd-3-clause", "cc", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
    "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0",
    "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0",
    "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "gfdl", "gpl-3.0", "mit", "odbl", "odc-by",
    "pddl", "unlicense",
}  # fmt: skip
"""Licences that the Hugging Face Hub knows by these names; any other is ``other`` there, with a ``license_name``."""

# The Hub accepts ISO 639 codes; other language names appear only in the text.
_LANGUAGE = re.compile(r"[a-z]{2,3}\Z")
_SIZES = {
    10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M",
    10**8: "10M<n<100M", 10**9: "100M<n<1B", 10**10: "1B<n<10B",
}  # fmt: skip

# Values of a definition up to this length go into the table; longer or multi-line values are shown below it.
_SHORT = 100
_STATES = [*(state.value for state in State), "tied", "never asked", "not given"]
_STATE_NOTES = {
    "tied": "Tied: people's grades have no majority, and no lead has decided.",
    "not given": "Not given: people graded a part of the pool, and were not given these pairs.",
}


@dataclass(frozen=True)
class Part:
    """A part of the release: its name, its split (None in formats without splits), its number of rows, its folder if
    that is not its name, and the labeler whose grades it holds, None for other data."""

    name: str
    split: str | None
    rows: int
    folder: str | None = None
    labeler: str | None = None


def header(release: Release, rows: int, configs: Sequence[Mapping[str, Any]] = ()) -> str:
    """The front matter of a test collection; ``rows`` is its size, the number of passages."""
    tags = ["information-retrieval", "test-collection", "qrels", "quati-pool"]
    return front_matter(release.about, release.name, rows, configs, ["text-retrieval"], tags)


def front_matter(
    about: ReleaseConfig,
    name: str,
    rows: int,
    configs: Sequence[Mapping[str, Any]],
    tasks: Sequence[str],
    tags: Sequence[str],
) -> str:
    """The YAML front matter between ``---`` lines that the Hugging Face Hub reads.

    ``name`` is the title where ``about`` has none; ``configs`` are the configurations for ``datasets``, as
    ``configuration`` describes them; ``rows`` is the size of the data set; ``tasks`` are task categories of the Hub.
    """
    fields: dict[str, Any] = {"pretty_name": one_line(about.title or name)}
    languages = [language for language in about.languages if _LANGUAGE.match(language)]
    if languages:
        fields["language"] = languages
    if about.license is not None:
        fields |= _license(about.license)
    fields["task_categories"] = list(tasks)
    fields["tags"] = list(tags)
    fields["size_categories"] = [_size(rows)]
    if configs:
        fields["configs"] = list(configs)
    # YAML indents continuation lines, so a value cannot begin a line and end the front matter with ``---``.
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n\n"


def configuration(output: Output, name: str, files: Mapping[str, str]) -> dict[str, Any]:
    """The entry for ``header`` of the configuration ``name``; ``files`` is the name of the written file of each split,
    or a pattern of several, such as ``corpus/*.parquet``."""
    return {
        "config_name": name,
        # datasets caches a local folder by its name and configurations alone. Without a digest of their content, it
        # would return the rows of an earlier export to a folder of that name.
        "description": f"SHA-256 {output.digest(*files.values())}",
        "data_files": [{"split": split, "path": path} for split, path in files.items()],
    }


def _license(text: str) -> dict[str, str]:
    name = re.sub(r"[^a-z0-9.]+", "-", one_line(text).lower()).strip("-")
    if name in _LICENSES:
        return {"license": name}
    return {"license": "other", "license_name": name or "other"}


def _size(rows: int) -> str:
    return next((name for below, name in _SIZES.items() if rows < below), "10B<n<100B")


def card(release: Release, parts: Sequence[Part], notes: Sequence[str] = ()) -> str:
    """The body of the card in GitHub-flavored Markdown; ``notes`` are sentences on what this format leaves out."""
    about = release.about
    sections = introduction(about, release.name)
    sections += ["## Contents", _contents(parts), *map(line, notes), _drafted(release), _chosen_by_grades(release)]
    if release.labelers:
        sections += ["## Grades", _main(release), _grades(release), _outside(release), _left_out(release)]
        sections += [] if release.estimates is None else _estimates(release.estimates)
        sections += _audits(release.audits) if release.audits else []
        sections += ["## How the pairs were graded", *(_labeler(labelled) for labelled in release.labelers)]
    if release.sources:
        sections += ["## Built from", *(section for source in release.sources for section in _source(source))]
    sections += citation(about)
    if release.provenance:
        sections += [
            "## Provenance",
            "\n".join(f"- {line(name)}: {line(value)}" for name, value in _flattened(release.provenance)),
        ]
    return "\n\n".join(section for section in sections if section) + "\n"


def introduction(about: ReleaseConfig, name: str) -> list[str]:
    """The first sections of a card: title, description, license."""
    sections = [f"# {line(about.title or name)}"]
    if about.description and about.description.strip():
        sections.append(possible(about.description.strip()))
    facts = [f"- License: {line(about.license) if about.license else 'not stated'}"]
    if about.languages:
        facts.append(f"- Language: {line(', '.join(about.languages))}")
    if about.url:
        facts.append(f"- Home: {line(about.url)}")
    return [*sections, "\n".join(facts)]


def citation(about: ReleaseConfig) -> list[str]:
    """The sections of a card on how to cite the data set; empty if that is not known."""
    if not about.citation or not about.citation.strip():
        return []
    return ["## Citation", _fenced(about.citation.strip(), "bibtex" if _is_bibtex(about.citation) else "")]


def _source(source: About) -> list[str]:
    """A data set that the collection was built from, with its own licence and citation."""
    facts = [f"- License: {line(source.license) if source.license else 'not stated by the data set'}"]
    facts += [f"- Home: {line(source.url)}"] if source.url else []
    described = [line(source.description)] if source.description else []
    cited = (source.citation or "").strip()
    title = f"### {line(source.title or source.name)} ({line(source.name)})"
    return [title, *described, "\n".join(facts), *([_fenced(cited, "bibtex")] if cited else [])]


def _contents(parts: Sequence[Part]) -> str:
    splits = any(part.split for part in parts)
    columns = [
        "Configuration" if splits else "File",
        *(["Split"] if splits else []),
        "Rows",
        "Graded by",
    ]
    rows: list[list[Cell]] = [
        [one_line(part.name), *([part.split or ""] if splits else []), part.rows, one_line(part.labeler or "")]
        for part in parts
    ]
    return table(columns, rows)


def drafted(by: Mapping[str, int], total: int, units: str) -> str:
    """Which programs drafted how many of ``total`` units, by their names, without a full stop: ``37 of 200 questions
    (18.5 %) were drafted by gpt-4o``."""

    def share(count: int) -> str:
        return f"{100 * count / total:.1f} %"

    (first, count), *others = sorted(by.items())
    was = "was" if count == 1 else "were"
    parts = [f"{count:,} of {total:,} {units} ({share(count)}) {was} drafted by {line(first)}"]
    parts += [f"{count:,} ({share(count)}) by {line(model)}" for model, count in others]
    return ", ".join(parts)


def _chosen_by_grades(release: Release) -> str:
    """What an adaptive pool cannot be used for; empty for any other pool."""
    reasons = pool_reasons(release)
    methods = {name: count for name, count in reasons.items() if name not in ("depth", "extra", "random", "kept")}
    if not methods:
        return ""
    chosen = ", ".join(f"{line(name)}: {count:,}" for name, count in sorted(methods.items()))
    drawn = reasons["random"]
    at_random = (
        f" {counted(drawn, 'pair was', 'pairs were')} drawn at random, with known probabilities." if drawn else ""
    )
    return (
        f"The pool is adaptive: of its {reasons.total():,} pairs earlier grades chose some ({chosen}), with "
        "probabilities that are not known. They are no random sample of what the systems returned, and a system that "
        f"did not feed the pool finds fewer of its documents judged than in a depth pool.{at_random}"
    )


def _drafted(release: Release) -> str:
    """How many queries programs drafted, as their file says; empty if none. It does not say who accepted them."""
    return f"{drafted(release.drafted_by, len(release.queries), 'queries')}." if release.drafted_by else ""


def _main(release: Release) -> str:
    """A sentence that names the main labeler, if there are several; otherwise empty."""
    several = len(release.labelers) > 1
    return f"The main labeler is {line(release.labelers[0].labeler)}." if several else ""


def _grades(release: Release) -> str:
    """A table of the number of pairs per labeler and grade."""
    scale = sorted(release.grades)
    columns = ["Labeler", "Kind", "Graded pairs"]
    columns += [one_line(f"{grade} {release.grades[grade]}") for grade in scale]
    rows: list[list[Cell]] = []
    for labelled in release.labelers:
        counts = Counter(labelled.qrels.relevance.tolist())
        grades = [counts[grade] for grade in scale]
        rows.append([one_line(labelled.labeler), _kind(labelled), len(labelled.qrels), *grades])
    return table(columns, rows)


def _outside(release: Release) -> str:
    """A list of the labelers that graded pairs outside the pool, with the number of these grades."""
    return "\n".join(
        f"- Of the {len(labelled.qrels):,} grades by {line(labelled.labeler)}, {labelled.outside:,} are of pairs "
        "outside the pool."
        for labelled in release.labelers
        if labelled.outside
    )


def _estimates(found: ReleasedEstimates) -> list[str]:
    """What systems would score if people had graded every pair."""
    rows: list[list[Cell]] = [
        [
            one_line(one.run_tag),
            f"{one.estimate:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
            f"{one.people_only:.3f}",
            f"{one.judge_only:.3f}",
        ]
        for one in found.systems
    ]
    columns = ["System", one_line(found.measure), "95 % interval", "People only", "Judge alone"]
    note = "People only: without the judge's grades. Judge alone: under the grades of "
    note += f"{line(found.judge)}, which is no estimate of people's."
    doubt = [] if found.without_majority is None else [f"{line(found.without_majority)}."]
    return ["## Estimates", line(found.statement), *doubt, table(columns, rows), note]


def _audits(found: Sequence[ReleasedAudit]) -> list[str]:
    """What fools the judges."""
    note = (
        "Probes changed pairs in ways that must not raise a grade, must lower it, or must not move it, and the judges "
        "were asked about these pairs. The excess is the share of pairs whose grade moved as it must not, less that "
        "of controls, which were changed without what the probe is about; its interval is of 95 %. A judge fails a "
        "probe if the interval lies above the bound, for all pairs or for one way of changing them, and passes if it "
        "lies at or below the bound and no way of changing pairs speaks against that."
    )
    return ["## Audits of judges", note, "\n".join(f"- {line(one.verdicts)}" for one in found)]


def _kind(labelled: Labelled) -> str:
    return "label file" if labelled.kind == "file" else labelled.kind


def _left_out(release: Release) -> str:
    found = {state for labelled in release.labelers for state, count in labelled.left_out.items() if count}
    if not found:
        return "Every pair of the pool has a grade by every labeler."
    states = [*(state for state in _STATES if state in found), *sorted(found.difference(_STATES))]
    rows: list[list[Cell]] = [
        [one_line(labelled.labeler), *(labelled.left_out.get(state, 0) for state in states)]
        for labelled in release.labelers
    ]
    lead = "Pairs of the pool that have no grade, by the state they are in; they are unjudged, not irrelevant:"
    counts = table(["Labeler", *(one_line(state) for state in states)], rows)
    return "\n\n".join([lead, counts, *(note for state, note in _STATE_NOTES.items() if state in found)])


def _labeler(labelled: Labelled) -> str:
    sections = [f"### {line(labelled.labeler)}", f"Kind: {_kind(labelled)}."]
    if labelled.version is not None:
        sections.append(
            f"Version: `{line(labelled.version)}`."
            if labelled.version.isalnum()
            else f"Version: {line(labelled.version)}."
        )
    if labelled.definition is not None:
        settings = list(_flattened(labelled.definition))
        short = [(name, value) for name, value in settings if _is_short(value)]
        if short:
            rows: list[list[Cell]] = [[one_line(name), one_line(value)] for name, value in short]
            sections.append(table(["Setting", "Value"], rows))
        for name, value in settings:
            if not _is_short(value):
                sections += [f"{line(name)}:", _fenced(value, "text")]
    return "\n\n".join(sections)


def _flattened(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The dotted name and the value of each setting; nulls are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flattened(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(inner, (Mapping, list, tuple)) for inner in value):
        for place, inner in enumerate(value, 1):
            yield from _flattened(inner, f"{name}.{place}")
    elif isinstance(value, str):
        yield name, value
    elif value is not None:
        yield name, json.dumps(value, ensure_ascii=False)


def _is_short(value: str) -> bool:
    return len(value) <= _SHORT and not re.search(r"[\r\n]", value)


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A pipe table; columns with numbers are right-aligned."""
    right = [any(isinstance(row[column], int) for row in rows) for column in range(len(headings))]
    shown = ([cell if isinstance(cell, str) else f"{cell:,}" for cell in row] for row in rows)
    return pipe_table(headings, shown, right)


def line(text: str) -> str:
    """A text as one escaped line of Markdown."""
    return escape_markdown(one_line(text))


def _fenced(text: str, language: str) -> str:
    """A code block that the text cannot close: its fence is longer than any in the text."""
    text = possible(text.replace("\r\n", "\n").replace("\r", "\n"))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _is_bibtex(text: str) -> bool:
    return text.lstrip().startswith("@")
