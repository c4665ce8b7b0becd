"""The server: members, tokens, sessions, tables, batches, grants, jobs, releases."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0002", "0001"


def upgrade() -> None:
    op.create_table(
        "member",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, unique=True),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("disabled", sa.Text),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("expires", sa.Text, nullable=False),
        sa.Column("revoked", sa.Text),
    )
    op.create_table(
        "browser_session",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("token", sa.Text, sa.ForeignKey("token.id"), nullable=False),
        sa.Column("csrf", sa.Text, nullable=False),
        sa.Column("expires", sa.Text, nullable=False),
    )
    op.create_table(
        "registered_table",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("signed", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.create_table(
        "batch",
        sa.Column("table", sa.Text, sa.ForeignKey("registered_table.name"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("disjoint", sa.Boolean, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.create_table(
        "table_grant",
        sa.Column("table", sa.Text, sa.ForeignKey("registered_table.name"), primary_key=True),
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), primary_key=True),
        sa.Column("columns", sa.Text),
        sa.Column("epsilon", sa.Text),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), nullable=False),
        sa.Column("table", sa.Text, sa.ForeignKey("registered_table.name"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("body_hash", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("accounts", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("passes", sa.Integer, nullable=False),
        sa.Column("doing", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("started", sa.Text),
        sa.Column("finished", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("lease", sa.Text),
        sa.Column("release", sa.Text),
        sa.Column("problem", sa.Text),
    )
    op.create_index("jobs_by_state", "job", ["state", "created"])
    op.create_index("jobs_by_body", "job", ["table", "version", "body_hash"])
    op.create_table(
        "request_key",
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, sa.ForeignKey("job.id"), nullable=False),
    )
    op.create_table(
        "release",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, sa.ForeignKey("job.id"), nullable=False, unique=True),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.create_table(
        "journal",
        sa.Column("job", sa.Text, sa.ForeignKey("job.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("answers", sa.LargeBinary, nullable=False),
    )
