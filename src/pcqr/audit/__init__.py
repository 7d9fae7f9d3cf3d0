"""Audits: what is installed is as private as it says, and the audit itself can fail.

exact        the law of whole transcripts, computed on small cases       proofs/audit.md
statistical  a lower bound on ε from many runs of the real code          docs/audit.md
broken       broken mechanisms that both must catch                      docs/audit.md
report       all of it together: the table of `pcqr audit`
"""
