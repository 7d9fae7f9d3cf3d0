"""Audits: what is installed is as private as it says, and the audit itself can fail.

exact        the law of whole transcripts, computed on small cases       proofs/audit.md
"""
