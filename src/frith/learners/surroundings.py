"""What scikit-learn does with the records around a fit, as far as the fit can know: the calls it is in.

A pipeline hands on records that its earlier steps changed by what they learned from all of them, and a
calibrator fits several times and reads exact labels. Neither tells the estimator, so this looks at the
callers: at code only, never at a record.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

CALIBRATED = (
    "one of several fits of a CalibratedClassifierCV, whose epsilons add; its calibrators read exact "
    "labels: not covered"
)
_CALIBRATION, _PIPELINE = CalibratedClassifierCV.__module__, Pipeline.__module__


def assumptions_of_callers() -> tuple[str, ...]:
    """What the guarantee of a fit must say of the calls that it is in."""
    found: dict[str, None] = {}
    for frame in _callers():
        if frame.f_globals.get("__name__") == _CALIBRATION:
            found[CALIBRATED] = None
        elif frame.f_globals.get("__name__") == _PIPELINE:
            steps = _fitted_before(frame.f_locals.get("self"))
            if steps:
                found[f"what {steps} learned from the records before this learner: not covered"] = (
                    None
                )
    return tuple(found)


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _fitted_before(pipeline: object) -> str:
    """The steps of a pipeline before its last that learn something."""
    if not isinstance(pipeline, Pipeline):
        return ""
    steps = [step for _, step in pipeline.steps[:-1] if hasattr(step, "fit")]
    return " and ".join(type(step).__name__ for step in steps if get_tags(step).requires_fit)
