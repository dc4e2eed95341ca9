"""How draws are made: one file per method.

`METHODS` is the only table of them: commands and conformance tests are made from it.
"""

from symbayes.engine import Method
from symbayes.methods.adjusted_mclmc import AdjustedMCLMC
from symbayes.methods.batch_ensemble import BatchEnsemble
from symbayes.methods.batch_norm import MCBatchNorm
from symbayes.methods.checkpoint import CheckpointEnsemble
from symbayes.methods.dropout import MCDropout
from symbayes.methods.ema import EMA
from symbayes.methods.ensemble import DeepEnsemble
from symbayes.methods.hmc import HMC
from symbayes.methods.ivon import IVON
from symbayes.methods.laplace import Laplace
from symbayes.methods.mala import MALA
from symbayes.methods.masksembles import Masksembles
from symbayes.methods.mclmc import MCLMC
from symbayes.methods.mile import MicrocanonicalEnsemble
from symbayes.methods.mimo import MIMO
from symbayes.methods.nuts import NUTS
from symbayes.methods.packed_ensemble import PackedEnsemble
from symbayes.methods.sghmc import SGHMC
from symbayes.methods.sgld import SGLD
from symbayes.methods.snapshot import SnapshotEnsemble
from symbayes.methods.swa import SWA
from symbayes.methods.swag import SWAG
from symbayes.methods.vi import MeanField

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        HMC,
        NUTS,
        MALA,
        AdjustedMCLMC,
        MCLMC,
        MicrocanonicalEnsemble,
        SGLD,
        SGHMC,
        DeepEnsemble,
        SnapshotEnsemble,
        CheckpointEnsemble,
        SWA,
        EMA,
        SWAG,
        MCBatchNorm,
        MeanField,
        IVON,
        BatchEnsemble,
        Masksembles,
        PackedEnsemble,
        MIMO,
        Laplace,
        MCDropout,
    )
}

__all__ = [
    "EMA",
    "HMC",
    "IVON",
    "MALA",
    "MCLMC",
    "METHODS",
    "MIMO",
    "NUTS",
    "SGHMC",
    "SGLD",
    "SWA",
    "SWAG",
    "AdjustedMCLMC",
    "BatchEnsemble",
    "CheckpointEnsemble",
    "DeepEnsemble",
    "Laplace",
    "MCBatchNorm",
    "MCDropout",
    "Masksembles",
    "MeanField",
    "MicrocanonicalEnsemble",
    "PackedEnsemble",
    "SnapshotEnsemble",
]
