"""The version, where everything below the package's front page can read it."""

__version__ = "0.1.0"
