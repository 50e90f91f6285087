"""Data sets of the library ir_datasets, by their names; those of a user's module as ``FILE.py:NAME``.

ir_datasets fetches a data set when it is first read, and keeps it in its own folder (``IR_DATASETS_HOME``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from quati_pool.component_files import import_file
from quati_pool.data_sets.base import About, DataSet, Judgement
from quati_pool.errors import ConfigError, MissingExtraError, QuatiPoolError
from quati_pool.files.digests import file_digest
from quati_pool.records import Query
from quati_pool.registry import nearest

_TAG, _BLANK = re.compile(r"<[^>]*>"), re.compile(r"\s+")
# The user's module that registered a data set, by the name of the data set: of several data sets of one name the
# library has the first, and does not tell where it is from.
_REGISTERED: dict[str, ModuleType] = {}


class IrDataset(DataSet):
    """A data set of ir_datasets.

    Raises MissingExtraError where the library is not installed, ConfigError for a name it does not know, for a file
    that cannot be imported, and for a name in a file that was registered before, by something else.
    """

    def __init__(self, name: str, folder: Path) -> None:
        try:
            import ir_datasets
        except ImportError:
            raise MissingExtraError(f"the data set {name}", "ir-datasets", "ir_datasets") from None
        self.name = name
        self._library: Any = ir_datasets
        self._file, self._id = _split(name, folder)
        before = set(ir_datasets.registry)
        module = None if self._file is None else _imported(self._file)
        try:
            self._data: Any = ir_datasets.load(self._id)
        except KeyError:
            hint = nearest(self._id, ir_datasets.registry)
            hint = hint if hint.startswith("did") else "see https://ir-datasets.com"
            raise ConfigError(f"ir_datasets has no data set {self._id!r}; {hint}") from None
        finally:
            if module is not None:
                # Loading may register a name too, that of a pattern.
                _REGISTERED.update(dict.fromkeys(set(ir_datasets.registry) - before, module))
        self._exported = {} if module is None else _exported_files(module)
        if module is not None:
            if self._exported:
                # Other code may have imported it before; where its names are another's, it cannot be imported.
                _REGISTERED.update(dict.fromkeys(module.QRELS, module))
            self._check_registered_by(module)

    def _check_registered_by(self, module: ModuleType) -> None:
        """Raises ConfigError where something else registered the name before."""
        first = _REGISTERED.get(self._id)
        if first is module:
            return
        if first is not None and first.__file__ == module.__file__:
            raise ConfigError(f"{self._file} was changed after it registered {self._id!r}; start Python again")
        place = "ir_datasets or other code" if first is None else first.__file__
        raise ConfigError(f"{self.name}: {place} registered {self._id!r} first; give one of the two another name")

    def files(self) -> list[Path]:
        return [] if self._file is None else [self._file, *self._exported]

    def passages(self, text: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        with self._reading("docs"):
            yield from ((doc.doc_id, self._text(doc, text, "\n")) for doc in self._data.docs_iter())

    def queries(self, query: Sequence[str] | None = None, narrative: str = "narrative") -> Iterator[Query]:
        with self._reading("queries"):
            for one in self._data.queries_iter():
                told = getattr(one, narrative, None)
                yield Query(one.query_id, self._text(one, query, " "), str(told) if told else None)

    def judgements(self, split: str | None = None) -> Iterator[Judgement]:
        if split is not None:
            raise ConfigError(f"{self.name}: ir_datasets gives splits names of their own, such as {self._id}/{split}")
        with self._reading("qrels"):
            yield from (Judgement(one.query_id, one.doc_id, one.relevance) for one in self._data.qrels_iter())

    def about(self) -> About:
        known: dict[str, Any] = {}
        if hasattr(self._data, "documentation"):
            known = self._data.documentation() or {}
        license_text = known.get("license") or known.get("licence")
        description = known.get("desc")
        return About(
            self.name,
            known.get("pretty_name"),
            _plain(license_text) if license_text else None,
            known.get("bibtex") or self._citations(known.get("bibtex_ids") or []),
            _plain(description) if description else None,
            None if self._file else f"https://ir-datasets.com/{self._id.partition('/')[0]}.html#{self._id}",
        )

    def _citations(self, names: Sequence[str]) -> str | None:
        found = [self._bibliography[name] for name in names if name in self._bibliography]
        return "\n\n".join(found) or None

    @cached_property
    def _bibliography(self) -> dict[str, str]:
        """The entries of the library's bibliography by their names."""
        path = Path(self._library.__file__).parent / "docs" / "bibliography.bib"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        entries = re.split(r"(?m)^(?=@)", text)
        return {found[1]: entry.strip() for entry in entries if (found := re.match(r"@\w+\{([^,\s]+),", entry))}

    def _text(self, one: Any, fields: Sequence[str] | None, between: str) -> str:
        if fields is None:
            return str(one.default_text())
        for field in fields:
            if not hasattr(one, field):
                raise ConfigError(
                    f"{self.name}: {type(one).__name__} has no field {field!r}; {nearest(field, one._fields)}"
                )
        return between.join(str(value) for field in fields if (value := getattr(one, field)))

    @contextmanager
    def _reading(self, part: str) -> Iterator[None]:
        if not self._data.has(part):
            raise ConfigError(f"{self.name} has no {part}; name a data set of ir_datasets that has them")
        try:
            if self._exported:
                path = Path(getattr(self._data, f"{part}_path")())
                # The library may have kept the exported documents, and would read those.
                if file_digest(path) != self._exported[path]:
                    raise ConfigError(f"{path} was changed after the export; export it again")
            yield
        except (QuatiPoolError, GeneratorExit):
            raise
        except Exception as error:  # of many kinds: network, disk, checks of the downloaded files
            words = f"{type(error).__name__}: {' '.join(str(error).split())}"
            home = self._library.util.home_path()
            raise ConfigError(
                f"the {part} of {self.name} cannot be read ({words}); ir_datasets fetches them when they are first "
                f"read: check the network, or place its files in {home}"
            ) from error


def _imported(file: Path) -> ModuleType:
    try:
        return import_file(file)[0]
    except Exception as error:  # from the user's code
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ConfigError(f"{file} cannot be imported ({words}); fix it, or check the path") from error


def _exported_files(module: ModuleType) -> dict[Path, str]:
    """The data files of an export with their SHA-256, which its module lists; none of another module."""
    return {module.FOLDER / name: sha for name, sha in getattr(module, "EXPORTED_FILES", {}).items()}


def _split(name: str, folder: Path) -> tuple[Path | None, str]:
    """The file and the name of a data set written as ``FILE.py:NAME``; no file for one of the library."""
    file, mark, data_set = name.partition(".py:")
    return (folder / f"{file}.py", data_set) if mark else (None, name)


def _plain(html: str) -> str:
    """The words of a description in HTML."""
    import html as markup

    return _BLANK.sub(" ", markup.unescape(_TAG.sub(" ", html))).strip()
