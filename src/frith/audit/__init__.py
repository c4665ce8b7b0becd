"""Audits: checks that catch a learner or a mechanism that breaks its word."""
