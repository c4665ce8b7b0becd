"""The API, one file a subject. Every route is behind the door of `frith.server.auth.middleware`."""
