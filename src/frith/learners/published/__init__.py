"""The papers' own forms, which do not keep their claims: for comparison only."""
