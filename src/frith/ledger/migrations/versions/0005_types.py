"""Tables and batches keep the types of their columns. Those of earlier ones are not compared."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0005", "0004"


def upgrade() -> None:
    for table in ("registered_table", "batch"):
        op.add_column(table, sa.Column("types", sa.Text))
