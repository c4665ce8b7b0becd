"""Alembic's entry: migrations run in the transaction that `Database.upgrade` has begun."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table="frith_version", transactional_ddl=False)
context.run_migrations()
