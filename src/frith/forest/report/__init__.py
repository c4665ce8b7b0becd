"""A forest on one page: what it promises, where its budget went, what it says, how good it is."""

from frith.forest.report.page import make_report, write_report

__all__ = ["make_report", "write_report"]
