"""Where state is kept: one database, SQLite in a file or PostgreSQL, with its migrations."""

from frith.store.database import Database, StoreError

__all__ = ["Database", "StoreError"]
