"""The ledger: accounts, entries that are never edited, and the head of their chain."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0001", None

_KEPT = """
CREATE FUNCTION entry_is_kept() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'entries are neither edited nor deleted'; END $$
"""
_ON_POSTGRES = """
CREATE TRIGGER entry_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
FOR EACH STATEMENT EXECUTE FUNCTION entry_is_kept()
"""
_ON_SQLITE = """
CREATE TRIGGER entry_is_kept_{0} BEFORE {0} ON entry
BEGIN SELECT raise(abort, 'entries are neither edited nor deleted'); END
"""


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("delta", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("total", sa.Text, nullable=False),
    )
    op.create_table(
        "entry",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("account", sa.Text, sa.ForeignKey("account.name"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("request", sa.Text),
        sa.Column("amount", sa.Text, nullable=False),
        sa.Column("spent", sa.Text, nullable=False),
        sa.Column("held", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("salt", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.UniqueConstraint("account", "request", "kind", name="one_entry_a_step"),
    )
    op.create_index("entries_of_an_account", "entry", ["account", "id"])
    op.create_table(
        "ledger_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("entry", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.execute("INSERT INTO ledger_head (id, entry, hash) VALUES (1, 0, '')")
    if op.get_bind().dialect.name == "sqlite":
        for act in ("update", "delete"):
            op.execute(_ON_SQLITE.format(act))
    else:
        op.execute(_KEPT)
        op.execute(_ON_POSTGRES)
