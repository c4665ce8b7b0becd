"""Tables, what may be spent on them and by whom, and their accounts in the ledger.

Reservations are made when a job is queued (`server/jobs/queue.py`) and become charges when it starts
(`server/jobs/lifecycle.py`). This folder says what they may be.
"""
