"""The processes: the server, its workers, how they start and how they shut down."""
