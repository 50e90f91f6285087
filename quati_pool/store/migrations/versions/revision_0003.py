"""Judges' versions by their identities instead of by where their code lies; the names that later issues need.

A judge's definition held the module and class of its code, and its version is the hash of that: code that moved
made history of every grade. Definitions now hold ``judge/llm@1`` and the like, and labels, batches and designs
follow to the versions that come of it. Phases, states and methods of designs that are reserved become known.

Written out, and never edited: what the code becomes later must not change what this revision made.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
NONCE = sa.text("nonce IS NOT NULL")

KINDS = "kind IN ('judge', 'assessor')"
PHASES = "phase IN ('training', 'blind', 'revealed', 'final', 'repeat', 'probe')"
STATES = (
    "status IN ('ok', 'unparsed', 'off_scale', 'refused', 'truncated', 'failed', "
    "'skipped', 'unsure', 'retracted', 'no_text')"
)
METHODS = (
    "method IN ('all', 'random', 'stratified', 'queries', 'imported', 'random-queries', 'active', 'repeats', 'anchors')"
)

JUDGES = {
    "quati_pool.judging.llm:LlmJudge": "judge/llm@1",
    "quati_pool.judging.lexical:Lexical": "judge/lexical@1",
    "quati_pool.judging.replay:Replay": "judge/replay@1",
}
PLUGIN = re.compile(r"(?P<code>[\w.]+:[\w.]+)(?: \((?P<package>\S+) (?P<version>\S+)\))?")

VERSIONS = sa.table(
    "versions",
    sa.column("version", ID),
    sa.column("kind", sa.Text),
    sa.column("definition", sa.JSON),
    sa.column("created_at", TIME),
)
DESIGNS = sa.table("designs", sa.column("design_id", SEQ), sa.column("parameters", sa.JSON))


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name, create in (("labels", create_labels), ("attempts", create_attempts), ("designs", create_designs)):
            rebuild(name, create)
        op.create_index("attempts_by_label", "attempts", ["label_seq"])
        rename_versions()
        op.create_index("labels_by_query", "labels", ["collection", "labeler_id", "version", "query_id"])
        op.create_index("labels_by_content", "labels", ["version", "content_sha"])
        op.create_index("labels_by_nonce", "labels", ["nonce"], unique=True, sqlite_where=NONCE)
    else:
        for table, constraint, condition in (
            ("labels", "known_phase", PHASES),
            ("labels", "known_status", STATES),
            ("attempts", "known_status", STATES),
            ("designs", "known_method", METHODS),
        ):
            op.drop_constraint(constraint, table, type_="check")
            op.create_check_constraint(constraint, table, condition)
        rename_versions()


def rename_versions() -> None:
    connection = op.get_bind()
    new: dict[str | None, str] = {}
    for row in connection.execute(sa.select(VERSIONS).where(VERSIONS.c.kind == "judge")).all():
        renamed = renamed_definition(row.version, row.definition)
        if renamed is not None:
            new[row.version] = digest(renamed)
            connection.execute(
                VERSIONS.insert().values(
                    version=new[row.version], kind=row.kind, definition=renamed, created_at=row.created_at
                )
            )
    for table in ("labels", "batches"):
        there = sa.table(table, sa.column("version", ID))
        for old, version in new.items():
            connection.execute(there.update().where(there.c.version == old).values(version=version))
    for row in connection.execute(sa.select(DESIGNS)).all():
        if (judged_by := new.get((row.parameters or {}).get("judge_version"))) is not None:
            parameters = {**row.parameters, "judge_version": judged_by}
            connection.execute(
                DESIGNS.update().where(DESIGNS.c.design_id == row.design_id).values(parameters=parameters)
            )
    connection.execute(VERSIONS.delete().where(VERSIONS.c.version.in_(list(new))))


def renamed_definition(version: str, definition: Any) -> dict[str, Any] | None:
    """The definition with the judge's identity; None where it holds none of a former day, or where nothing says
    what that judge is called now: its labels stay under the version they have."""
    code = definition.get("judge") if isinstance(definition, Mapping) else None
    if not isinstance(code, str) or (found := PLUGIN.fullmatch(code)) is None:
        return None
    identity = JUDGES.get(code) or plugin_identity(found)
    # JSON has no numbers for names: the grades of a scale were hashed as numbers.
    as_hashed = next((each for each in (definition, with_numbers(definition)) if digest(each) == version), None)
    if identity is None or as_hashed is None:
        why = "no installed package has that judge" if identity is None else "it is not the hash of its definition"
        say: Callable[[str], None] = context.config.attributes["say"]
        say(f"the labels of version {version[:12]} (the judge {code}) keep it, as {why}; they stay readable under it")
        return None
    return {**as_hashed, "judge": identity}


def plugin_identity(found: re.Match[str]) -> str | None:
    for point in entry_points(group="quati_pool.judges"):
        if point.dist is None or point.dist.name != found["package"]:
            continue
        judge = loaded(point)
        # An entry point may name a class where a package shows it, not where its code is.
        if found["code"] in (point.value, f"{getattr(judge, '__module__', '')}:{getattr(judge, '__qualname__', '')}"):
            declared = vars(judge).get("id") if isinstance(judge, type) else None
            return f"{declared or f'judge/{point.name}'}@1 ({found['package']} {found['version']})"
    return None


def loaded(point: EntryPoint) -> Any:
    """What an entry point names; None where that cannot be had, which hinders no label of another's."""
    try:
        return point.load()
    except (Exception, SystemExit):
        return None


def with_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        # Names of one mapping are numbers all of them or none: others could not have been sorted.
        numbers = all(re.fullmatch(r"-?\d+", key) for key in value)
        return {int(key) if numbers else key: with_numbers(one) for key, one in value.items()}
    return [with_numbers(one) for one in value] if isinstance(value, list) else value


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def rebuild(name: str, create: Callable[[], None]) -> None:
    """SQLite changes a table's conditions only by a new table, which has no index yet. References by other tables
    stay as they are, as foreign keys are off and renaming is the one of old."""
    former = f"{name}_0002"
    connection = op.get_bind()
    for index in sa.inspect(connection).get_indexes(name):
        op.drop_index(str(index["name"]), name)
    op.execute("PRAGMA legacy_alter_table = ON")
    op.rename_table(name, former)
    op.execute("PRAGMA legacy_alter_table = OFF")
    create()
    columns = ", ".join(f'"{column["name"]}"' for column in sa.inspect(connection).get_columns(name))
    op.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {former}")
    # Numbers that were given out once are never given out again.
    op.execute(f"DELETE FROM sqlite_sequence WHERE name = '{name}'")
    op.execute(f"UPDATE sqlite_sequence SET name = '{name}' WHERE name = '{former}'")
    op.drop_table(former)


def create_labels() -> None:
    op.create_table(
        "labels",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("labeler_id", ID, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("query_id", ID, nullable=False),
        sa.Column("doc_id", ID, nullable=False),
        sa.Column("content_sha", ID, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("relevance", sa.Integer),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("rationale", sa.Text),
        sa.Column("shared_from", SEQ, sa.ForeignKey("labels.seq", name="shared_from_a_label")),
        sa.Column("assignment_id", SEQ),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.Column("nonce", ID),
        sa.CheckConstraint(KINDS, name="known_kind"),
        sa.CheckConstraint(PHASES, name="known_phase"),
        sa.CheckConstraint(STATES, name="known_status"),
        sa.CheckConstraint("(status = 'ok') = (relevance IS NOT NULL)", name="grade_if_and_only_if_ok"),
        sqlite_autoincrement=True,
    )


def create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("seq", SEQ, primary_key=True),
        sa.Column("label_seq", SEQ, sa.ForeignKey("labels.seq", name="attempt_of_a_label"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("problem", sa.Text),
        sa.Column("finish_reason", sa.Text),
        sa.Column("output", sa.Text),
        sa.Column("model", sa.Text),
        sa.Column("endpoint", sa.Text),
        sa.Column("response_id", sa.Text),
        sa.Column("fingerprint", sa.Text),
        sa.Column("input_tokens", sa.BigInteger),
        sa.Column("cached_tokens", sa.BigInteger),
        sa.Column("output_tokens", sa.BigInteger),
        sa.Column("reasoning_tokens", sa.BigInteger),
        sa.Column("cost", sa.Double),
        sa.Column("seconds", sa.Double),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("extra", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(STATES, name="known_status"),
        sqlite_autoincrement=True,
    )


def create_designs() -> None:
    op.create_table(
        "designs",
        sa.Column("design_id", SEQ, primary_key=True),
        sa.Column("collection", ID, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("frame_sha", ID, nullable=False),
        sa.Column("frame_pairs", sa.BigInteger, nullable=False),
        sa.Column("strata", sa.JSON, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(METHODS, name="known_method"),
        sqlite_autoincrement=True,
    )
