"""The step ``url``: drops or keeps pages by their URL (top-level domain, domain, pattern)."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field

from quati_pool.errors import MissingExtraError
from quati_pool.files.artifacts import file_digest
from quati_pool.preparation.base import KEPT, ComponentEnvironment, DropReasons, Filter
from quati_pool.preparation.base import Parameters as BaseParameters
from quati_pool.preparation.batch import Batch
from quati_pool.preparation.domain_lists import domain, read_domains, top_level_domain
from quati_pool.preparation.hosts import host_of, is_address

_MISSING, _MALFORMED, _TLD, _DOMAIN, _PATTERN = range(1, 6)
_PATTERN_REACH = 2000
_HOSTS_REMEMBERED = 1 << 15
_SHOWN = 60


def _pattern(expression: str) -> str:
    try:
        _compiled(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{expression!r} is not a regular expression ({error}); see Python's module re") from None
    return expression


def _compiled(expression: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # Python warns about expressions that later versions may read differently, which does not concern users.
        warnings.simplefilter("ignore")
        return re.compile(expression)


Tlds = list[Annotated[str, AfterValidator(top_level_domain)]]
Domains = list[Annotated[str, AfterValidator(domain)]]
Patterns = list[Annotated[str, AfterValidator(_pattern)]]
Unknown = Literal["keep", "drop"] | None


class _Rule(NamedTuple):
    """The decision on a host or URL: the code of the drop reason, 0 to keep it, and what was found."""

    code: int
    detail: str


class Url(Filter):
    """Keeps or drops a page by its URL alone.

    The top-level domain is the last label of the host; IP addresses have none. A domain covers its subdomains.
    Hosts and lists are compared in lower case and punycode, so ``são-paulo.br`` is ``xn--so-paulo-rza.br``. Drop lists
    take precedence over keep lists. If there are keep lists of hosts (top-level domains, domains, a file of domains),
    the host must be in one of them; if there are patterns to keep, the URL must also match one of them.

    Pages without a URL, and those whose URL has no valid host, are kept if there are only drop lists, and dropped if
    there is any keep list; ``missing`` and ``malformed`` override this. The Quati paper (arXiv 2404.06976,
    section 3.1) drops ``.pt``.

    Patterns are Python regular expressions, searched in the first 2,000 characters of the URL as written; they are
    case-sensitive. There is no time limit: an expression with nested repetition, such as ``(a+)+$``, may take
    practically for ever on a URL written to exploit it.
    """

    id = "preparation/url"
    summary = "drops or keeps pages by top-level domain, domain, or pattern in their URL"

    class Parameters(BaseParameters):
        drop_tlds: Tlds = Field(default_factory=list, description="Top-level domains to drop, such as pt.")
        keep_tlds: Tlds = Field(
            default_factory=list, description="Top-level domains to keep; hosts in no keep list are dropped."
        )
        drop_domains: Domains = Field(default_factory=list, description="Domains to drop, with their subdomains.")
        keep_domains: Domains = Field(
            default_factory=list, description="Domains to keep, with subdomains; hosts in no keep list are dropped."
        )
        drop_domains_file: str | None = Field(
            None, description="A file of domains to drop, one per line; # begins a comment."
        )
        keep_domains_file: str | None = Field(
            None, description="A file of domains to keep, one per line; # begins a comment."
        )
        drop_patterns: Patterns = Field(
            default_factory=list,
            description="Regular expressions; a URL that matches one anywhere is dropped. Avoid nested "
            "repetitions: (a+)+.",
        )
        keep_patterns: Patterns = Field(
            default_factory=list, description="Regular expressions; a URL that matches none anywhere is dropped."
        )
        missing: Unknown = Field(
            None, description="keep or drop pages without URL; null: drop where there is a keep list."
        )
        malformed: Unknown = Field(
            None, description="keep or drop pages whose URL names no host; null: as for missing."
        )

    parameters: Parameters

    def __init__(self, parameters: Parameters, environment: ComponentEnvironment | None = None) -> None:
        super().__init__(parameters, environment)
        self._lists: tuple[frozenset[str], frozenset[str]] | None = None
        self._hosts: dict[str, _Rule] = {}
        self._drop = [_compiled(expression) for expression in parameters.drop_patterns]
        self._keep = [_compiled(expression) for expression in parameters.keep_patterns]
        keeps = bool(
            parameters.keep_tlds or parameters.keep_domains or parameters.keep_domains_file or parameters.keep_patterns
        )
        self._keeps_hosts = bool(parameters.keep_tlds or parameters.keep_domains or parameters.keep_domains_file)
        unknown = "drop" if keeps else "keep"
        self._missing_goes = (parameters.missing or unknown) == "drop"
        self._malformed_goes = (parameters.malformed or unknown) == "drop"

    @classmethod
    def require(cls) -> None:
        if importlib.util.find_spec("idna") is None:
            raise MissingExtraError("the step url", "prepare", "idna")

    def check(self) -> None:
        """Reads the files of domains; raises InputError for an invalid domain."""
        self._domains()

    def key(self) -> dict[str, Any]:
        paths = zip(("drop", "keep"), map(self._path, self._files()), strict=True)
        return {"idna": version("idna"), **{role: file_digest(path) for role, path in paths if path}}

    @property
    def reasons(self) -> Sequence[str]:
        return ("no URL", "malformed URL", "top-level domain", "domain", "pattern")

    def notes(self) -> Sequence[str]:
        settings = self.parameters.model_dump(exclude={"missing", "malformed"})
        if any(settings.values()) or self._missing_goes or self._malformed_goes:
            return ()
        return ("url drops nothing: it has no list, no pattern, and keeps pages without URL",)

    def apply(self, batch: Batch) -> DropReasons:
        rules = [self._rule(url) for url in batch.url]
        codes = np.array([rule.code for rule in rules], dtype=np.int16)
        return DropReasons(codes, lambda row: rules[row].detail)

    def _rule(self, url: str) -> _Rule:
        if not url or url.isspace():
            return _Rule(_MISSING, "the page has no URL") if self._missing_goes else _STAYS
        host = host_of(url)
        if host is None:
            if self._malformed_goes:
                return _Rule(_MALFORMED, f"{_short(url)} names no host")
        else:
            rule = self._hosts.get(host)
            if rule is None:
                if len(self._hosts) >= _HOSTS_REMEMBERED:
                    self._hosts.clear()
                rule = self._hosts[host] = self._of_host(host)
            if rule.code:
                return rule
        return self._of_patterns(url[:_PATTERN_REACH]) if self._drop or self._keep else _STAYS

    def _of_host(self, host: str) -> _Rule:
        tld = "" if is_address(host) else host.rpartition(".")[2]
        if tld in self.parameters.drop_tlds:
            return _Rule(_TLD, f".{tld} is among those to drop: {_short(host)}")
        drop, keep = self._domains()
        covering = [host] if not tld else _covering(host)
        for name in covering:
            if name in drop:
                return _Rule(_DOMAIN, f"{name} is among those to drop: {_short(host)}")
        if not self._keeps_hosts or tld in self.parameters.keep_tlds or not keep.isdisjoint(covering):
            return _STAYS
        if keep:
            return _Rule(_DOMAIN, f"{_short(host)} is in none of the domains to keep")
        return _Rule(_TLD, f"{'.' + tld if tld else 'an address'} is not among those to keep: {_short(host)}")

    def _of_patterns(self, url: str) -> _Rule:
        for pattern in self._drop:
            if pattern.search(url):
                return _Rule(_PATTERN, f"{_short(url)} contains {_short(pattern.pattern)}")
        if self._keep and not any(pattern.search(url) for pattern in self._keep):
            return _Rule(_PATTERN, f"{_short(url)} contains none of the patterns to keep")
        return _STAYS

    def _files(self) -> tuple[str | None, str | None]:
        return self.parameters.drop_domains_file, self.parameters.keep_domains_file

    def _path(self, file: str | None) -> Path | None:
        return self.environment.folder / file if file else None

    def _domains(self) -> tuple[frozenset[str], frozenset[str]]:
        """The domains to drop and to keep, from the parameters and from the files."""
        if self._lists is None:
            drop, keep = (read_domains(path) if path else frozenset() for path in map(self._path, self._files()))
            # Avoids a needless copy of a list of millions.
            self._lists = (
                drop.union(self.parameters.drop_domains) if self.parameters.drop_domains else drop,
                keep.union(self.parameters.keep_domains) if self.parameters.keep_domains else keep,
            )
        return self._lists


_STAYS = _Rule(KEPT, "")


def _covering(host: str) -> list[str]:
    """The host and all domains that contain it: a.b.c, b.c, c."""
    labels = host.split(".")
    return [".".join(labels[place:]) for place in range(len(labels))]


def _short(text: str) -> str:
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return ascii(shown) if not shown.isprintable() else shown
