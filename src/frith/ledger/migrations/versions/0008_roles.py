"""Roles, curators of tables, scopes of tokens, service accounts, proposals.

Until here every curator managed every table and every member: they become operators, and curators of
every table that there is. Columns and tables are only added, and `member.role` stays what it was: roles
are in a column of their own. So an earlier frith can go on beside it, until `frith migrate --finish`.
"""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0008", "0007"


def upgrade() -> None:
    for name in ("assigned_role", "owner", "expires"):
        op.add_column("member", sa.Column(name, sa.Text))
    for name in ("scopes", "session"):
        op.add_column("token", sa.Column(name, sa.Text))
    op.create_table(
        "table_curator",
        sa.Column("table", sa.Text, sa.ForeignKey("registered_table.name"), primary_key=True),
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), primary_key=True),
        sa.Column("created", sa.Text, nullable=False),
    )
    op.execute(
        'INSERT INTO table_curator ("table", member, created) '
        "SELECT registered_table.name, member.name, registered_table.created "
        "FROM registered_table CROSS JOIN member WHERE member.role = 'curator'"
    )
    op.execute(
        "UPDATE member SET assigned_role = CASE role WHEN 'curator' THEN 'operator' ELSE role END"
    )
    op.create_table(
        "proposal",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("table", sa.Text, sa.ForeignKey("registered_table.name"), nullable=False),
        sa.Column("member", sa.Text, sa.ForeignKey("member.name"), nullable=False),
        sa.Column("job", sa.Text),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("decider", sa.Text),
        sa.Column("decided", sa.Text),
    )
    op.create_index("proposals_of_a_table", "proposal", ["table", "state"])
    op.create_index("proposals_by_job", "proposal", ["job"])
    op.create_table(
        "bookmark",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.execute(
        "INSERT INTO bookmark (name, value) "
        "SELECT 'upgraded', '0008' WHERE NOT EXISTS (SELECT 1 FROM member)"
    )
