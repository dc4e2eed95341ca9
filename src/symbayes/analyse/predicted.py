"""The predictions of a run at all the inputs on which it is evaluated."""

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
"""The severity of a shift whose name does not give one."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The predictives of one run at all places.

    Attributes:
        test: at the test inputs.
        ood: at out-of-distribution inputs, by the name of their set.
        shifted: at the test inputs, shifted, by the name of the shift.
        validation: at the validation inputs, with their targets.
        note: what recalibration found, in words.
        before: at the test inputs before recalibration, with the predictions of every draw; None without it.
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
    """The inputs on which runs are evaluated.

    Attributes:
        test: examples that none of the runs was trained on.
        ood: out-of-distribution inputs, by the name of their set.
        shifted: the test inputs, shifted, by the name of the shift.
        validation: examples on which recalibration and conformal sets are fitted.
        recalibrate: the name of a map of probabilities, if the predictives are to be recalibrated.
        energies: whether to compute energies of the outputs.
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
        """The places from the arguments of `compare`."""
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
        """The number of inputs at all places together."""
        foreign = sum(len(x) for x in self.ood.values())
        held_out = 0 if self.validation is None else len(self.validation)
        return len(self.test) * (1 + len(self.shifted)) + foreign + held_out

    def in_batches(self, size: int) -> Iterator[Places]:
        """The test inputs and the shifted ones in batches of `size`, without any other inputs."""
        for start in range(0, len(self.test), size):
            some = slice(start, start + size)
            shifted = {name: x[some] for name, x in self.shifted.items()}
            yield replace(self, test=self.test[some], shifted=shifted, ood={}, validation=None)

    def held_out(self, run: Opened) -> tuple[Predictive, np.ndarray] | None:
        """The predictive of a run at the validation inputs, and their targets, if there are any."""
        if self.validation is None:
            return None
        return self._predict(run, self.validation.x), np.asarray(self.validation.y)

    def predict(self, run: Opened, x: Any, held_out: tuple[Predictive, np.ndarray] | None) -> Predictive:
        """The predictive of a run at further inputs, recalibrated if that is wanted."""
        found = self._predict(run, x)
        if self.recalibrate is None or held_out is None:
            return found
        return Recalibration.fit(self.recalibrate, *held_out).apply(found)

    def judge(self, run: Opened, held_out: tuple[Predictive, np.ndarray] | None = None) -> Judged:
        """The predictives of a run at all places; those at validation inputs may be given."""
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
    """Images under a shift such as fog, or fog:5 with a severity."""
    kind, _, severity = name.partition(":")
    require(severity in ("", *"12345"), f"write a shift as name or name:severity, from 1 to 5, not {name!r}")
    return shifted_images(np.asarray(x), kind, int(severity or SEVERITY))
