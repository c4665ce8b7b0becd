"""Audits: checks that catch a learner or a mechanism that breaks its promise."""

from frith.audit.canaries import audit_forest
from frith.audit.events import Bound, lower_bound
from frith.audit.ladder import audit_flaw, audit_learner, audit_noise
from frith.audit.outcomes import Outcome, Report

__all__ = [
    "Bound",
    "Outcome",
    "Report",
    "audit_flaw",
    "audit_forest",
    "audit_learner",
    "audit_noise",
    "lower_bound",
]
