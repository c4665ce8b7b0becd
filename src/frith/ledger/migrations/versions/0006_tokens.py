"""Tokens know what made them. Where earlier ones come from is not known."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0006", "0005"


def upgrade() -> None:
    op.add_column("token", sa.Column("parent", sa.Text))
    op.add_column("token", sa.Column("minter", sa.Text))
    op.create_index("tokens_by_parent", "token", ["parent"])
