"""What each job and each member stores, and when each worker was last seen."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "0007", "0006"


def upgrade() -> None:
    for table in ("job", "member"):
        op.add_column(
            table, sa.Column("stored", sa.BigInteger, nullable=False, server_default=sa.text("0"))
        )
    op.execute(
        "UPDATE job SET stored = coalesce("
        "(SELECT length(document) FROM release WHERE release.job = job.id), 0)"
    )
    op.execute(
        "UPDATE member SET stored = coalesce("
        "(SELECT sum(job.stored) FROM job WHERE job.member = member.name), 0)"
    )
    op.create_table(
        "worker",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("seen", sa.Text, nullable=False),
    )
