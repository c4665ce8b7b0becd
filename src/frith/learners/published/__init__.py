"""The papers' own forms, for comparison: `as_published=True`. They keep no guarantee.

`curator` shows learners what their papers let them see. DPDF and C4.5 have algorithms of their own,
in `gini` and `c45`. The random forests have none: as published they differ in the number of records
alone, which this curator tells exactly and free of charge.
"""
