"""`frith warm`: compiles ahead, so that the first fit does not wait for it."""

from __future__ import annotations

import time

from frith.cli.console import say, say_note


def warm() -> None:
    """Compile every loop into the cache, so that a first fit or prediction does not wait for it.

    Takes about a minute, once for each version and kind of CPU. The cache is where NUMBA_CACHE_DIR
    says, else beside the installed package; a container runs this when its image is built.
    """
    from frith.learners.warming import warm

    start = time.perf_counter()
    warmed = warm()
    seconds = time.perf_counter() - start
    if not warmed.folder:
        say_note("no folder can be written to, so nothing was kept; set NUMBA_CACHE_DIR to one.")
        return
    say(f"{warmed.loops} compiled loops are in {warmed.folder} ({seconds:.0f} s)")
