"""What a run predicts at all the inputs where it is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbayes.analyse.recalibrated import Recalibration
from symbayes.data import Dataset, Examples, Scaling
from symbayes.data.shifts import shift as shifted_images
from symbayes.engine import Opened
from symbayes.posterior import Predictive
from symbayes.posterior.prediction import predictions
from symbayes.specs import require

SEVERITY = 3
"""Of a shift whose name does not say it."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictives of one run, by where they are.

    Attributes:
        test: at the test inputs.
        ood: at out-of-distribution inputs, by the name of their set.
        shifted: at the test inputs, shifted, by the name of the shift.
        validation: at the validation inputs, with their targets.
        note: what recalibration found, in words.
        before: at the test inputs before recalibration, with what every draw says; None without it.
    """

    test: Predictive
    ood: Mapping[str, Predictive] = field(default_factory=dict)
    shifted: Mapping[str, Predictive] = field(default_factory=dict)
    validation: tuple[Predictive, np.ndarray] | None = None
    note: str = ""
    before: Predictive | None = None

    def unscaled(self, scaling: Scaling | None) -> Judged:
        """The same in the targets' units before they were standardised."""
        if scaling is None:
            return self
        held_out = self.validation
        return replace(
            self,
            test=self.test.unscaled(scaling),
            ood={name: one.unscaled(scaling) for name, one in self.ood.items()},
            shifted={name: one.unscaled(scaling) for name, one in self.shifted.items()},
            validation=held_out and (held_out[0].unscaled(scaling), scaling.undo(held_out[1])),
        )


@dataclass(frozen=True, eq=False)
class Places:
    """The inputs at which runs are judged.

    Attributes:
        test: examples that none of the runs was trained on.
        ood: out-of-distribution inputs, by the name of their set.
        shifted: the test inputs, shifted, by the name of the shift.
        validation: examples on which recalibration and conformal sets are fitted.
        recalibrate: the name of a map of probabilities, if the predictives are to be recalibrated.
        energies: whether energies of the outputs are wanted.
    """

    test: Examples
    ood: Mapping[str, Any] = field(default_factory=dict)
    shifted: Mapping[str, Any] = field(default_factory=dict)
    validation: Examples | None = None
    recalibrate: str | None = None
    energies: bool = False

    @classmethod
    def of(
        cls,
        on: Examples | Dataset,
        ood: Any = None,
        shift: str | Sequence[str] | None = None,
        validation: Examples | None = None,
        recalibrate: str | None = None,
        metrics: Sequence[str] | None = None,
    ) -> Places:
        """From what `compare` is given."""
        if isinstance(on, Dataset):
            validation = on.validation if validation is None else validation
            on = on.test
        if validation is not None and len(validation) == 0:
            validation = None
        require(
            recalibrate is None or validation is not None,
            "recalibration is fitted on validation examples, and there are none: give validation=",
        )
        foreign = ood if isinstance(ood, Mapping) else {} if ood is None else {"elsewhere": ood}
        names = [] if shift is None else [shift] if isinstance(shift, str) else shift
        return cls(
            on,
            {name: getattr(inputs, "x", inputs) for name, inputs in foreign.items()},
            {name: _shifted(on.x, name) for name in names},
            validation,
            recalibrate,
            any(name.lower().endswith("-energy") for name in metrics or ()),
        )

    @property
    def examples(self) -> int:
        """How many inputs there are at all places."""
        foreign = sum(len(x) for x in self.ood.values())
        held_out = 0 if self.validation is None else len(self.validation)
        return len(self.test) * (1 + len(self.shifted)) + foreign + held_out

    def in_batches(self, size: int) -> Iterator[Places]:
        """The test inputs, and these shifted, so many at a time, and no others."""
        for start in range(0, len(self.test), size):
            some = slice(start, start + size)
            shifted = {name: x[some] for name, x in self.shifted.items()}
            yield replace(self, test=self.test[some], shifted=shifted, ood={}, validation=None)

    def held_out(self, run: Opened) -> tuple[Predictive, np.ndarray] | None:
        """What a run predicts at the validation inputs, and their targets, if there are any."""
        if self.validation is None:
            return None
        return self._predict(run, self.validation.x), np.asarray(self.validation.y)

    def predict(self, run: Opened, x: Any, held_out: tuple[Predictive, np.ndarray] | None) -> Predictive:
        """What a run predicts at further inputs, recalibrated if that is wanted."""
        found = self._predict(run, x)
        if self.recalibrate is None or held_out is None:
            return found
        return Recalibration.fit(self.recalibrate, *held_out).apply(found)

    def judge(self, run: Opened, held_out: tuple[Predictive, np.ndarray] | None = None) -> Judged:
        """What a run predicts at all of them; what it predicts of validation examples may be given."""
        held_out = self.held_out(run) if held_out is None else held_out
        found = Judged(
            self._predict(run, self.test.x),
            {name: self._predict(run, x) for name, x in self.ood.items()},
            {name: self._predict(run, x) for name, x in self.shifted.items()},
            held_out,
        )
        return found if self.recalibrate is None else _recalibrated(found, self.recalibrate)

    def _predict(self, run: Opened, x: Any) -> Predictive:
        predictive: Any = run.predict(x)
        law = getattr(run.likelihood, "energies", None)
        if not self.energies or law is None:
            return predictive
        # Probabilities do not tell energies, so the networks are run once more.
        return replace(predictive, energies=predictions(run.network, law(), run.draws, x))


def _recalibrated(judged: Judged, name: str) -> Judged:
    assert judged.validation is not None
    held_out, y = judged.validation
    fitted = Recalibration.fit(name, held_out, y)
    return Judged(
        fitted.apply(judged.test),
        {where: fitted.apply(one) for where, one in judged.ood.items()},
        {where: fitted.apply(one) for where, one in judged.shifted.items()},
        (fitted.apply(held_out), y),
        fitted.map.words,
        judged.test,
    )


def _shifted(x: Any, name: str) -> np.ndarray:
    """Images under a shift such as fog, or fog:5 with its severity."""
    kind, _, severity = name.partition(":")
    require(
        severity in ("", *"12345"), f"a shift is written name or name:severity, from 1 to 5, not {name!r}"
    )
    return shifted_images(np.asarray(x), kind, int(severity or SEVERITY))
