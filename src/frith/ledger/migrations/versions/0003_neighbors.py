"""Accounts carry their neighbors. Those of earlier accounts are not known until somebody says them."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
    op.add_column("account", sa.Column("neighbors", sa.Text))
