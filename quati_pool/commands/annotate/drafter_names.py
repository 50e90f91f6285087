"""The programs that drafted questions and texts, by the names under which releases and reports give them."""

from __future__ import annotations

from collections.abc import Iterable

from quati_pool.store.database import Store


def drafter_names(store: Store, versions: Iterable[str]) -> dict[str, str]:
    """The name of each program by its version; the version itself where the store does not know it."""
    return {version: str((store.definition(version) or {}).get("name", version)) for version in versions}
