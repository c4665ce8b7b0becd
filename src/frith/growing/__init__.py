"""Steps that learners share: growing, scoring, pruning. Post-processing and public structure only."""
