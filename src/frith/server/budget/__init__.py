"""Tables, what may be spent on them and by whom, and their accounts in the ledger."""
