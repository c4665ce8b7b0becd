"""Who calls: members and their tokens, sessions, and how much a caller may ask at a time."""
