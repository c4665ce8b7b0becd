"""Tables, what may be spent on them and by whom, and their accounts in the ledger.

Reservations are made when a job is queued: see `server/jobs/queue.py`.
"""
