"""The one table of methods: a small instance of each, and what it promises.

A new method gets a row here, and with it every check of `test_conformance`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import symbayes as sb

CHAINS = 8
"""As many as the devices of the tests, so that chains spread over any mesh of them."""


@dataclass(frozen=True)
class Row:
    """A method, in instances that run in milliseconds.

    Attributes:
        method: a small instance, with everything that can adapt adapting.
        other: other values of its hyper-parameters, with the same chains and batch.
        independent: an instance whose chains share nothing.
        block_steps: sizes of blocks, with units that span blocks and units that do not divide into them.
        exact: an instance whose draws of a Gaussian posterior have its mean and covariance, or None.
        mode: an instance that ends at a Gaussian posterior's mode, or None.
        longer: the method with more of what extends it, or None.
        normalised: whether it needs a network with batch statistics.
        meshed: the instance whose first block is compared on many devices, where the small one's decisions
            make much of a rounding error; or None.
    """

    method: Any
    other: Any
    independent: Any
    block_steps: tuple[int, ...]
    exact: Any = None
    mode: Any = None
    longer: Any = None
    meshed: Any = None
    normalised: bool = False

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def spread(self) -> Any:
        """The instance whose first block is compared on many devices."""
        return self.meshed or self.method


TUNED: Any = {"trajectory": "chees", "mass": "diagonal", "chains": CHAINS}
AS_USERS = os.environ.get("SYMBAYES_COMPILER") == "default"
"""Compiled as in most tests, a piece of a tree and of microcanonical steps rounds otherwise than the whole;
compiled as users compile, it does not."""
SHORT: Any = {"burn_in": 10, "chains": CHAINS}
DRAWS: Any = {"thin": 6, "draws": 5, **SHORT}
GROWING: Any = {"target_accept": 0.4, "mass": "diagonal", "depth": 7, "chains": CHAINS}
DECAYS: Any = {"schedule": "decaying", "decay": 2}
CYCLES: Any = {"schedule": "cyclical", "cycle": 5, "exploration": 0.4, "precondition": True}

ROWS = (
    Row(
        # Step size, length and mass are found; trajectories of at most some forty steps.
        method=sb.HMC(burn_in=20, draws=5, target_accept=0.5, **TUNED),
        other=sb.HMC(burn_in=24, draws=6, target_accept=0.4, jitter=0.5, adapt=False, **TUNED),
        independent=sb.HMC(step_size=0.05, trajectory=0.3, burn_in=3, draws=5, chains=CHAINS, adapt=False),
        block_steps=(100, 9),
        longer=sb.HMC(burn_in=20, draws=9, target_accept=0.5, **TUNED),
        exact=sb.HMC(step_size=0.05, trajectory=0.2, burn_in=50, draws=1000, chains=CHAINS),
    ),
    Row(
        # Trees of at most 127 leaves, few of which have so many.
        method=sb.NUTS(burn_in=20, draws=5, **GROWING),
        other=sb.NUTS(burn_in=21, draws=3, adapt=False, **GROWING),
        independent=sb.NUTS(step_size=0.1, burn_in=3, draws=5, depth=7, chains=CHAINS, adapt=False),
        block_steps=(400, *((60,) if AS_USERS else ())),
        longer=sb.NUTS(burn_in=20, draws=9, **GROWING),
        meshed=sb.NUTS(step_size=0.05, burn_in=1, draws=1, depth=2, chains=CHAINS, adapt=False),
    ),
    Row(
        # Trajectories of at most some twenty steps.
        method=sb.AdjustedMCLMC(trajectory=0.3, burn_in=5, draws=5, target_accept=0.5, chains=CHAINS),
        other=sb.AdjustedMCLMC(
            trajectory=0.2, burn_in=6, draws=6, target_accept=0.4, jitter=0.5, adapt=False, chains=CHAINS
        ),
        independent=sb.AdjustedMCLMC(
            step_size=0.05, trajectory=0.3, burn_in=3, draws=5, chains=CHAINS, adapt=False
        ),
        block_steps=(20, 3),
        longer=sb.AdjustedMCLMC(trajectory=0.3, burn_in=5, draws=9, target_accept=0.5, chains=CHAINS),
    ),
    Row(
        # Ten draws of burn-in and five more, of six steps each.
        method=sb.MCLMC(thin=6, burn_in=10, draws=5, energy_variance=1e-2, chains=CHAINS),
        other=sb.MCLMC(thin=9, burn_in=20, draws=6, energy_variance=1e-3, chains=CHAINS),
        # Tuning makes much of a rounding error.
        independent=sb.MCLMC(step_size=1.0, length=20.0, thin=2, burn_in=0, draws=3, chains=CHAINS),
        meshed=sb.MCLMC(step_size=1.0, length=20.0, thin=2, burn_in=0, draws=3, chains=CHAINS),
        block_steps=(18, *((4,) if AS_USERS else ())),
        longer=sb.MCLMC(thin=6, burn_in=10, draws=9, energy_variance=1e-2, chains=CHAINS),
    ),
    Row(
        # Three epochs of six optimiser steps, ten draws of burn-in and five more, of six steps each.
        method=sb.MicrocanonicalEnsemble(epochs=3, batch=20, **DRAWS),
        other=sb.MicrocanonicalEnsemble(learning_rate=1e-2, epochs=2, batch=20, thin=7, draws=4, **SHORT),
        independent=sb.MicrocanonicalEnsemble(epochs=1, batch=20, thin=1, draws=2, **SHORT),
        block_steps=(18, *((4,) if AS_USERS else ())),
        longer=sb.MicrocanonicalEnsemble(epochs=3, batch=20, thin=6, draws=9, **SHORT),
    ),
    Row(
        # Eight draws of six steps, with a step size found by trial.
        method=sb.MALA(thin=6, burn_in=3, draws=5, chains=CHAINS),
        other=sb.MALA(thin=60, burn_in=4, draws=6, chains=CHAINS, target_accept=0.7, adapt=False),
        independent=sb.MALA(step_size=0.02, thin=6, burn_in=3, draws=5, chains=CHAINS, adapt=False),
        block_steps=(18, 4),
        longer=sb.MALA(thin=6, burn_in=3, draws=9, chains=CHAINS),
        exact=sb.MALA(thin=8, burn_in=100, draws=1000, chains=CHAINS),
    ),
    Row(
        # Two epochs of burn-in and two cycles of five epochs, each of six steps, with three draws.
        method=sb.SGLD(burn_in=2, thin=1, draws=5, batch=20, chains=CHAINS, **CYCLES),
        other=sb.SGLD(
            learning_rate=1e-3,
            burn_in=3,
            thin=2,
            draws=3,
            batch=20,
            chains=CHAINS,
            schedule="cyclical",
            cycle=4,
            exploration=0.2,
            precondition=True,
        ),
        independent=sb.SGLD(burn_in=2, thin=1, draws=5, batch=20, chains=CHAINS, **CYCLES),
        block_steps=(12, 4),
        longer=sb.SGLD(burn_in=2, thin=1, draws=8, batch=20, chains=CHAINS, **CYCLES),
    ),
    Row(
        # Two epochs of burn-in and five draws of two epochs, each of six steps.
        method=sb.SGHMC(burn_in=2, thin=2, draws=5, batch=20, chains=CHAINS, **DECAYS),
        other=sb.SGHMC(
            learning_rate=1e-3,
            momentum=0.5,
            burn_in=3,
            thin=1,
            draws=6,
            batch=20,
            chains=CHAINS,
            schedule="decaying",
            decay=7,
        ),
        independent=sb.SGHMC(
            burn_in=2, thin=2, draws=5, batch=20, chains=CHAINS, schedule="decaying", decay=2
        ),
        block_steps=(12, 4),
        longer=sb.SGHMC(burn_in=2, thin=2, draws=8, batch=20, chains=CHAINS, **DECAYS),
    ),
    Row(
        # Three epochs of six optimiser steps; eight examples are left over in each.
        method=sb.DeepEnsemble(epochs=3, batch=20, chains=CHAINS, learning_rate=1e-2, schedule="cosine"),
        other=sb.DeepEnsemble(epochs=2, batch=20, chains=CHAINS, learning_rate=3e-3, schedule="constant"),
        independent=sb.DeepEnsemble(epochs=3, batch=20, chains=CHAINS, learning_rate=1e-2),
        block_steps=(12, 4),
        mode=sb.DeepEnsemble(epochs=600, batch=24, chains=CHAINS, learning_rate=3e-2, schedule="cosine"),
    ),
    Row(
        # Three cycles of one epoch of six optimiser steps: the programs of the deep ensemble.
        method=sb.SnapshotEnsemble(epochs=1, draws=3, batch=20, chains=CHAINS, optimizer="adam"),
        other=sb.SnapshotEnsemble(
            learning_rate=3e-3, epochs=2, draws=2, batch=20, chains=CHAINS, optimizer="adam"
        ),
        independent=sb.SnapshotEnsemble(epochs=1, draws=3, batch=20, chains=CHAINS, optimizer="adam"),
        block_steps=(6, 4),
        longer=sb.SnapshotEnsemble(epochs=1, draws=5, batch=20, chains=CHAINS, optimizer="adam"),
    ),
    Row(
        method=sb.CheckpointEnsemble(epochs=3, thin=2, draws=2, batch=20, chains=CHAINS),
        other=sb.CheckpointEnsemble(
            learning_rate=1e-2, epochs=4, thin=1, draws=3, batch=20, chains=CHAINS, schedule="step"
        ),
        independent=sb.CheckpointEnsemble(epochs=3, thin=2, draws=2, batch=20, chains=CHAINS),
        block_steps=(6, 4),
    ),
    Row(
        # One epoch of training and two that are averaged, of six optimiser steps each.
        method=sb.SWA(epochs=1, collect=2, batch=20, chains=CHAINS, clip=1.0),
        other=sb.SWA(learning_rate=1e-2, epochs=2, collect=3, plateau=0.1, batch=20, chains=CHAINS, clip=2.0),
        independent=sb.SWA(epochs=1, collect=2, batch=20, chains=CHAINS, clip=1.0),
        block_steps=(6, 4),
    ),
    Row(
        method=sb.EMA(epochs=2, batch=20, chains=CHAINS, optimizer="adamw"),
        other=sb.EMA(epochs=3, batch=20, chains=CHAINS, optimizer="adamw", decay=0.5, warmup=0.2),
        independent=sb.EMA(epochs=2, batch=20, chains=CHAINS, optimizer="adamw"),
        block_steps=(6, 4),
    ),
    Row(
        # Two epochs of six optimiser steps, and two draws.
        method=sb.MCBatchNorm(epochs=2, draws=2, batch=20, chains=CHAINS),
        other=sb.MCBatchNorm(epochs=1, draws=3, batch=20, chains=CHAINS, learning_rate=1e-2),
        independent=sb.MCBatchNorm(epochs=2, draws=2, batch=20, chains=CHAINS),
        block_steps=(6, *((4,) if AS_USERS else ())),
        longer=sb.MCBatchNorm(epochs=2, draws=3, batch=20, chains=CHAINS),
        normalised=True,
    ),
    Row(
        # One epoch of training and three that are collected, of six optimiser steps each; two draws.
        method=sb.SWAG(epochs=1, collect=3, rank=2, draws=2, batch=20, chains=CHAINS, clip=1.0),
        other=sb.SWAG(
            learning_rate=1e-2,
            epochs=2,
            collect=4,
            plateau=0.1,
            rank=2,
            draws=3,
            batch=20,
            chains=CHAINS,
            clip=2.0,
        ),
        independent=sb.SWAG(epochs=1, collect=3, rank=2, draws=2, batch=20, chains=CHAINS, clip=1.0),
        block_steps=(6, 4),
        longer=sb.SWAG(epochs=1, collect=3, rank=2, draws=4, batch=20, chains=CHAINS, clip=1.0),
    ),
    Row(
        # Two epochs of six steps, and three draws.
        method=sb.MeanField(epochs=2, batch=20, draws=3, kl_warmup=0.5, chains=CHAINS),
        other=sb.MeanField(learning_rate=1e-2, epochs=1, batch=20, draws=2, scale=0.1, chains=CHAINS),
        independent=sb.MeanField(epochs=2, batch=20, draws=3, kl_warmup=0.5, chains=CHAINS),
        block_steps=(6, *((4,) if AS_USERS else ())),
        longer=sb.MeanField(epochs=2, batch=20, draws=5, kl_warmup=0.5, chains=CHAINS),
    ),
    Row(
        # Two epochs of six steps, and three draws.
        method=sb.IVON(epochs=2, batch=20, draws=3, chains=CHAINS),
        other=sb.IVON(learning_rate=0.05, epochs=1, batch=20, draws=2, scale=0.1, beta1=0.8, chains=CHAINS),
        independent=sb.IVON(epochs=2, batch=20, draws=3, chains=CHAINS),
        block_steps=(6, *((4,) if AS_USERS else ())),
        longer=sb.IVON(epochs=2, batch=20, draws=5, chains=CHAINS),
    ),
    Row(
        # One epoch of six optimiser steps, the curvature in three chunks, and three draws.
        method=sb.Laplace(epochs=1, batch=20, draws=3, chains=CHAINS),
        other=sb.Laplace(epochs=2, batch=20, draws=4, chains=CHAINS, learning_rate=1e-2),
        independent=sb.Laplace(epochs=1, batch=20, draws=3, chains=CHAINS),
        block_steps=(2,),
        longer=sb.Laplace(epochs=1, batch=20, draws=4, chains=CHAINS),
        exact=sb.Laplace(
            epochs=400, batch=24, draws=1000, chains=CHAINS, learning_rate=3e-2, structure="last-layer"
        ),
    ),
    Row(
        # One epoch of six optimiser steps, and three keys.
        method=sb.MCDropout(epochs=1, batch=20, draws=3, chains=CHAINS),
        other=sb.MCDropout(epochs=2, batch=20, draws=4, chains=CHAINS, learning_rate=1e-2),
        independent=sb.MCDropout(epochs=1, batch=20, draws=3, chains=CHAINS),
        block_steps=(2,),
        longer=sb.MCDropout(epochs=1, batch=20, draws=4, chains=CHAINS),
    ),
    *(
        # Two epochs of six steps, and two members.
        Row(
            method=kind(epochs=2, batch=20, members=2, chains=CHAINS),
            other=kind(learning_rate=1e-2, epochs=1, batch=20, members=2, chains=CHAINS, **other),
            independent=kind(epochs=2, batch=20, members=2, chains=CHAINS),
            block_steps=(6, *((4,) if AS_USERS else ())),
        )
        for kind, other in (
            (sb.BatchEnsemble, {"spread": 0.1}),
            # Of six units a share that keeps three again: how many is part of the program.
            (sb.Masksembles, {"share": 0.55}),
            (sb.PackedEnsemble, {}),
            (sb.MIMO, {}),
        )
    ),
)
