"""A retrieval task of MTEB: a dataset in the layout that its loader reads, and the module that defines the task."""

from __future__ import annotations

import re
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from quati_pool.files.digests import digest
from quati_pool.records import Qrels
from quati_pool.release import base
from quati_pool.release.card import Part, card, configuration, header
from quati_pool.release.checks import holding_all_graded
from quati_pool.release.errors import ReleaseError
from quati_pool.release.output import Output
from quati_pool.release.parquet import passage_batches, qrels_table, write_shards, write_table
from quati_pool.release.state import Release

_MODULE = '''"""A retrieval task of MTEB: import {task}, then mteb.evaluate(model, tasks=[{task}()])."""

from __future__ import annotations

from pathlib import Path

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata


class {task}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name={task!r},
        # The folder of this file and a digest of its data, as MTEB keeps results by the revision; once it is published,
        # the name of its repository, and the revision of a commit.
        dataset={{"path": str(Path(__file__).resolve().parent), "revision": {revision!r}}},
        description={description!r},
        reference={reference!r},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[{split!r}],
        eval_langs={languages!r},
        main_score="ndcg_at_10",
        date=None,
        domains=None,
        task_subtypes=None,
        license={license!r},
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation={citation!r},
    )
'''

# MTEB's names of languages by ISO 639-1 codes; others are given with --set languages.
_LANGUAGES = {
    "ar": "arb-Arab", "bn": "ben-Beng", "de": "deu-Latn", "en": "eng-Latn", "es": "spa-Latn", "fa": "fas-Arab",
    "fi": "fin-Latn", "fr": "fra-Latn", "hi": "hin-Deva", "id": "ind-Latn", "it": "ita-Latn", "ja": "jpn-Jpan",
    "ko": "kor-Hang", "nl": "nld-Latn", "pl": "pol-Latn", "pt": "por-Latn", "ru": "rus-Cyrl", "sv": "swe-Latn",
    "sw": "swh-Latn", "te": "tel-Telu", "th": "tha-Thai", "tr": "tur-Latn", "uk": "ukr-Cyrl", "vi": "vie-Latn",
    "yo": "yor-Latn", "zh": "cmn-Hans",
}  # fmt: skip
_LICENSES = {
    "mit", "cc-by-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-3.0", "cc-by-nc-4.0",
    "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0", "cc-by-nd-4.0", "odc-by", "apache-2.0", "cc0-1.0",
    "bsd-3-clause", "gpl-3.0", "lgpl-3.0", "cdla-sharing-1.0", "mpl-2.0",
}  # fmt: skip
_LANGUAGE = re.compile(r"[a-z]{3}-[A-Z][a-z]{3}\Z")
_SHARD = 256_000_000
_PASSAGES = pa.schema([("_id", pa.string()), ("text", pa.string())])


class MtebParameters(base.Parameters):
    split: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", description="the split that holds the grades")] = "test"
    languages: Annotated[
        list[str],
        Field(
            default_factory=list,
            description="the languages as MTEB writes them, such as por-Latn; by default those of release:",
        ),
    ]
    task: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="the name of the task; by default the collection's"),
    ] = None


class Mteb(base.Format):
    """Writes the first labeler's grades as a retrieval task: ``corpus``, ``queries`` and ``qrels`` in Parquet, the data
    card that names them, and ``task.py``, which defines the task for MTEB."""

    id = "export/mteb"
    revision = 2
    name = "mteb"
    summary = "a retrieval task of MTEB: its dataset and the module that defines it"
    Parameters = MtebParameters
    parameters: MtebParameters

    def fill(self, release: Release, output: Output) -> dict[str, Any]:
        languages = self._languages(release)
        split, main = self.parameters.split, release.labelers[0]
        passages = holding_all_graded(release, release.passages())
        batches = (batch.rename_columns(_PASSAGES.names) for batch in passage_batches(passages))
        counts: dict[str, Any] = {"passages": write_shards(output, "corpus", _PASSAGES, batches, _SHARD)}
        queries = pa.table(
            {
                "_id": pa.array([query.query_id for query in release.queries], pa.string()),
                "text": pa.array([query.query for query in release.queries], pa.string()),
            }
        )
        counts["queries"] = write_table(output, "queries/00000.parquet", queries)
        counts["pairs"] = write_table(output, f"qrels/{split}.parquet", _qrels(main.qrels))
        parts = [
            Part("corpus", "corpus", counts["passages"]),
            Part("queries", "queries", counts["queries"]),
            Part("default", split, counts["pairs"], "qrels", main.labeler),
        ]
        configs = [
            configuration(output, "corpus", {"corpus": "corpus/*.parquet"}),
            configuration(output, "queries", {"queries": "queries/*.parquet"}),
            configuration(output, "default", {split: f"qrels/{split}.parquet"}),
        ]
        output.text("README.md", header(release, counts["passages"], configs) + card(release, parts))
        output.text("task.py", self._module(release, languages, digest(configs)))
        return counts

    def _languages(self, release: Release) -> list[str]:
        """The languages as MTEB writes them; raises ReleaseError where they are not known."""
        named = self.parameters.languages or [_LANGUAGES.get(one, one) for one in release.about.languages]
        wrong = next((one for one in named if not _LANGUAGE.match(one)), None)
        if wrong is not None or not named:
            what = f"the language {wrong!r} is not one of MTEB" if named else "MTEB asks for a task's languages"
            raise ReleaseError(f"{release.name}: {what}; name them as in --set languages=[por-Latn]")
        return named

    def _module(self, release: Release, languages: list[str], revision: str) -> str:
        about = release.about
        stated = (about.license or "").strip().lower()
        address = (about.url or "").strip()
        return _MODULE.format(
            task=self.parameters.task or _class_name(release.name),
            description=about.description or about.title or release.name,
            reference=address if address.startswith(("http://", "https://")) else None,
            revision=revision,
            split=self.parameters.split,
            languages=languages,
            license=stated if stated in _LICENSES or stated.startswith("https://") else "not specified",
            citation=about.citation or "",
        )


def _class_name(name: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[:1].upper() + word[1:] for word in words) or "Collection"
    return joined if joined[0].isalpha() else f"Collection{joined}"


def _qrels(qrels: Qrels) -> pa.Table:
    return qrels_table(qrels).rename_columns(["query-id", "corpus-id", "score"])
