"""Columns instead of names that are read back: of accounts, and of jobs. Terms are in the chain.

Accounts get the parts of their names, jobs their forest and their round. A job's accounts are those
that its entries name, so the list that jobs carried goes. What the policies, batches and grants are
now is written into the chain, as every later change of them will be.
"""

import hashlib
import json
import secrets
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0004", "0003"

_AT_ONCE = 1_000  # jobs
_INDEXES = {
    "accounts_of_a_table": ("account", "table", "period"),
    "accounts_of_a_member": ("account", "member"),
    "entries_of_a_request": ("entry", "request"),
    "jobs_by_time": ("job", "created", "id"),
    "jobs_of_a_member": ("job", "member", "created", "id"),
    "jobs_of_a_table": ("job", "table", "created", "id"),
    "jobs_of_a_member_on_a_table": ("job", "member", "table", "created", "id"),
    "jobs_by_lease": ("job", "member", "lease"),
    "jobs_by_worker": ("job", "worker", "finished"),
    "jobs_by_release": ("job", "release"),
    "jobs_by_forest": ("job", "forest"),
    "jobs_by_round": ("job", "round"),
}


def upgrade() -> None:
    for name in ("table", "batch", "member"):
        op.add_column("account", sa.Column(name, sa.Text))
    op.add_column("account", sa.Column("period", sa.Integer))
    for name in ("forest", "round"):
        op.add_column("job", sa.Column(name, sa.Text))
    connection = op.get_bind()
    _fill_accounts(connection)
    _fill_jobs(connection)
    op.drop_column("job", "accounts")
    for name, (table, *columns) in _INDEXES.items():
        op.create_index(name, table, columns)
    _bind_terms(connection)


def _fill_accounts(connection: sa.Connection) -> None:
    """An account belongs to a table where its name begins with one: table+batch@period/member."""
    tables = set(connection.scalars(sa.text("SELECT name FROM registered_table")))
    rows = []
    for name in connection.scalars(sa.text("SELECT name FROM account")).all():
        shared, _, member = name.partition("/")
        whole, _, period = shared.partition("@")
        table, _, batch = whole.partition("+")
        if table in tables and (period == "" or period.isdigit()):
            parts = {"t": table, "b": batch or None, "m": member or None}
            rows.append(parts | {"p": int(period) if period else None, "n": name})
    if rows:
        update = 'UPDATE account SET "table" = :t, batch = :b, period = :p, member = :m'
        connection.execute(sa.text(f"{update} WHERE name = :n"), rows)


def _fill_jobs(connection: sa.Connection) -> None:
    last = ""
    some = sa.text("SELECT id, body FROM job WHERE id > :last ORDER BY id LIMIT :limit")
    update = sa.text("UPDATE job SET forest = :forest, round = :round WHERE id = :id")
    while rows := connection.execute(some, {"last": last, "limit": _AT_ONCE}).all():
        last = rows[-1].id
        filled = [{"id": row.id} | _parts(json.loads(row.body)) for row in rows]
        if filled := [row for row in filled if row["forest"] or row["round"]]:
            connection.execute(update, filled)


def _parts(body: dict[str, object]) -> dict[str, str | None]:
    round = body.get("round")
    forest = body.get("forest")
    said = None if round is None else _hashed(json.dumps(round, sort_keys=True))
    return {"forest": None if forest is None else str(forest), "round": said}


def _bind_terms(connection: sa.Connection) -> None:
    tables = "SELECT name, policy, domain, source FROM registered_table"
    for row in connection.execute(sa.text(tables)).all():
        terms = _hashed(json.dumps([row.policy, row.domain, row.source]))
        _append(connection, row.name, f"policy of {row.name}: {terms}")
    batches = 'SELECT "table", name, disjoint, source FROM batch'
    for row in connection.execute(sa.text(batches)).all():
        terms = _hashed(json.dumps([bool(row.disjoint), row.source]))
        _append(connection, row.table, f"batch {row.name} of {row.table}: {terms}")
    grants = 'SELECT "table", member, columns, epsilon FROM table_grant'
    for row in connection.execute(sa.text(grants)).all():
        terms = _hashed(json.dumps([row.columns, row.epsilon]))
        _append(connection, row.table, f"grant of {row.table} to {row.member}: {terms}")


def _append(connection: sa.Connection, table: str, purpose: str) -> None:
    """An entry as the book writes it, which never changes: it is in the hashes."""
    first = 'SELECT min(name) FROM account WHERE "table" = :t AND member IS NULL'
    name = connection.scalar(sa.text(first), {"t": table})
    if name is None:  # nothing was ever sold of it, and nothing will be
        return
    last = "SELECT spent, held FROM entry WHERE account = :n ORDER BY id DESC LIMIT 1"
    sums = connection.execute(sa.text(last), {"n": name}).one()
    unit = connection.scalar(sa.text("SELECT unit FROM account WHERE name = :n"), {"n": name})
    head = connection.execute(sa.text("SELECT entry, hash FROM ledger_head")).one()
    at, salt = datetime.now(UTC).isoformat(timespec="seconds"), secrets.token_hex(16)
    row = {"id": head.entry + 1, "account": name, "kind": "terms", "request": None, "amount": "0"}
    row |= {"spent": sums.spent, "held": sums.held, "unit": unit, "purpose": purpose, "at": at}
    written = _hashed(json.dumps([head.hash, salt, *row.values()]))
    row |= {"salt": salt, "hash": written}
    del row["unit"]
    names = ", ".join(f'"{column}"' for column in row)
    values = ", ".join(f":{column}" for column in row)
    connection.execute(sa.text(f"INSERT INTO entry ({names}) VALUES ({values})"), row)
    move = sa.text("UPDATE ledger_head SET entry = :id, hash = :hash")
    connection.execute(move, {"id": row["id"], "hash": written})


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
