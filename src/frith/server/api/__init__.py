"""The JSON API, one file a subject. `frith.server.auth.middleware` has checked every caller."""
