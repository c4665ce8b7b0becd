"""A forest on paper: a report, a certificate, and a model card."""

from frith.forest.report.card import make_card, write_card
from frith.forest.report.certificate import make_certificate, write_certificate
from frith.forest.report.page import make_report, write_report

__all__ = [
    "make_card",
    "make_certificate",
    "make_report",
    "write_card",
    "write_certificate",
    "write_report",
]
