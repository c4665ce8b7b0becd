"""What is ready in the process from which every job is forked: imported code and compiled kernels.

Only a forkserver imports this module. It starts no thread of Python's, opens no connection and draws
no noise: whatever is here is copied into every job, and two jobs must not begin with the same
randomness. The learners run once with a source that draws nothing, on records made up from a domain.
"""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import opendp.measurements  # noqa: F401 - what a job imports
from sqlalchemy.orm import configure_mappers

import frith.server.run.cage  # noqa: F401 - what a job imports
from frith.curator import Curator
from frith.domain import Categorical, Domain, Numeric
from frith.domain.synthetic import synthetic_table
from frith.engines import open_table
from frith.learners import learners_for
from frith.privacy.budget import Budget
from frith.privacy.sources import ExactSource

_RECORDS = 5_000  # declared, so that the flagship takes steps and buys cells


def _warm_up() -> None:
    """Load or compile the kernels of every learner."""
    attributes = (Categorical("a", ("x", "y", "z")), Numeric("b", 0, 1))
    two, three = (Categorical("label", v) for v in (("no", "yes"), ("low", "mid", "high")))
    for label in (two, three, Numeric("label", 0, 1)):
        domain = Domain(attributes, label, records=_RECORDS)
        records = synthetic_table(domain, 10, np.random.default_rng(0))
        for kind in learners_for(domain).values():
            curator = Curator(
                open_table(records, domain, threads=1), Budget.of(1), source=ExactSource()
            )
            make: Any = kind
            make(domain=domain).learn(curator)


configure_mappers()
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the worker ends this process and its jobs
_warm_up()
