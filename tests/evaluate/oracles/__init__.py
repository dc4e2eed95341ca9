"""Independent implementations of every metric: scikit-learn, scipy, or slow transcriptions of the definition.

`ORACLES` has one for each row of METRICS and each kind that the row applies to.  They take a `Case`, and look
at draws, targets, a reference and out-of-distribution inputs point by point.
"""

from .calibration import OF_CALIBRATION
from .cases import CASES, Oracle
from .classes import OF_CLASSES
from .closeness import OF_CLOSENESS
from .conformal import OF_CONFORMAL
from .detection import OF_DETECTION
from .reals import OF_REALS

__all__ = ["CASES", "ORACLES"]

ORACLES: dict[tuple[str, str], Oracle] = {
    **OF_CLASSES,
    **OF_CALIBRATION,
    **OF_CONFORMAL,
    **OF_REALS,
    **OF_CLOSENESS,
    **OF_DETECTION,
}
