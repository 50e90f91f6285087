"""Judges' versions without the rules by which answers are read, which every label now names for itself.

The hash of a judge held how its prompt fences texts, the number of the reading rules and the further names of the
grade: to read answers better would have made history of every grade. Labels get ``reading`` (none for those of
before, which are read again) and ``rereads`` (the label whose answer another label reads again); attempts get
``thoughts``. Labels, batches and designs follow to the versions that come of the shorter definitions.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)

VERSIONS = sa.table(
    "versions",
    sa.column("version", ID),
    sa.column("kind", sa.Text),
    sa.column("definition", sa.JSON),
    sa.column("created_at", TIME),
)
LABELS = sa.table("labels", sa.column("version", ID))
BATCHES = sa.table("batches", sa.column("key", ID), sa.column("version", ID), sa.column("extra", sa.JSON))
DESIGNS = sa.table("designs", sa.column("design_id", SEQ), sa.column("parameters", sa.JSON))
INDEXES = {
    "labels_by_query": ["collection", "labeler_id", "version", "query_id"],
    "labels_by_content": ["version", "content_sha"],
}


def upgrade() -> None:
    op.add_column("labels", sa.Column("reading", sa.Text))
    op.add_column("labels", sa.Column("rereads", SEQ))
    op.add_column("attempts", sa.Column("thoughts", sa.Text))
    connection = op.get_bind()
    new: dict[str, str] = {}
    aliases: dict[str, list[str]] = {}
    known = {row.version for row in connection.execute(sa.select(VERSIONS.c.version))}
    judges = sa.select(VERSIONS).where(VERSIONS.c.kind == "judge").order_by(VERSIONS.c.created_at)
    for row in connection.execute(judges).all():
        asked = what_is_asked(row.version, row.definition)
        if asked is None:
            continue
        new[row.version] = digest(asked)
        aliases[row.version] = row.definition["prompt"]["answer"][2]
        # Judges that differed only in how their answers were read are one.
        if new[row.version] not in known:
            known.add(new[row.version])
            values = {"version": new[row.version], "kind": row.kind, "definition": asked, "created_at": row.created_at}
            connection.execute(VERSIONS.insert().values(values))
    if not new:
        return
    for name in INDEXES:
        op.drop_index(name, "labels")
    for old, version in new.items():
        connection.execute(LABELS.update().where(LABELS.c.version == old).values(version=version))
    for name, columns in INDEXES.items():
        op.create_index(name, "labels", columns)
    for row in connection.execute(sa.select(BATCHES).where(BATCHES.c.version.in_(list(new)))).all():
        # What of a batch's answers is still to come is read with the names that it was asked under.
        extra = {**row.extra, "aliases": aliases[row.version]}
        changed = BATCHES.update().where(BATCHES.c.key == row.key)
        connection.execute(changed.values(version=new[row.version], extra=extra))
    for row in connection.execute(sa.select(DESIGNS)).all():
        graded_by = (row.parameters or {}).get("judge_version")
        if graded_by in new:
            parameters = {**row.parameters, "judge_version": new[graded_by]}
            connection.execute(
                DESIGNS.update().where(DESIGNS.c.design_id == row.design_id).values(parameters=parameters)
            )
    connection.execute(VERSIONS.delete().where(VERSIONS.c.version.in_(list(new))))


def what_is_asked(version: str, definition: Any) -> dict[str, Any] | None:
    """The definition without what only decides how answers are read; None where it is none of a prompt of ours, or
    not what its version is the hash of."""
    prompt = definition.get("prompt") if isinstance(definition, Mapping) else None
    if not isinstance(prompt, Mapping) or not {"answer", "fencing", "reading"} <= prompt.keys():
        return None
    as_hashed = next((each for each in (definition, with_numbers(definition)) if digest(each) == version), None)
    if as_hashed is None or len(prompt["answer"]) != 3:
        return None
    kept = {name: value for name, value in as_hashed["prompt"].items() if name not in ("fencing", "reading")}
    asked = {**kept, "answer": prompt["answer"][:2], "fenced": prompt["fencing"] is not None}
    return {**as_hashed, "prompt": asked}


def with_numbers(value: Any) -> Any:
    """JSON has no numbers for names; what was hashed may have had them."""
    if isinstance(value, Mapping):
        numbers = all(re.fullmatch(r"-?\d+", key) for key in value)
        return {int(key) if numbers else key: with_numbers(one) for key, one in value.items()}
    return [with_numbers(one) for one in value] if isinstance(value, list) else value


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
