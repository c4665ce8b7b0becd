"""The private database: analysts ask for forests within a budget, and never see a record."""
