"""The building blocks of methods: phases, each with its equation."""

from symbayes.methods.phases.averaging import Averaging
from symbayes.methods.phases.batches import Batches
from symbayes.methods.phases.collecting import Collect
from symbayes.methods.phases.diffusion import Diffusion
from symbayes.methods.phases.gliding import IsokineticTrajectories
from symbayes.methods.phases.langevin import Langevin
from symbayes.methods.phases.microcanonical import Microcanonical
from symbayes.methods.phases.mixing import Mixing
from symbayes.methods.phases.newton import OnlineNewton
from symbayes.methods.phases.sample import Sample
from symbayes.methods.phases.sharing import Members, Together
from symbayes.methods.phases.train import Train
from symbayes.methods.phases.trajectories import Trajectories
from symbayes.methods.phases.tree import Trees
from symbayes.methods.phases.tuned import TunedTrajectories
from symbayes.methods.phases.variational import Variational

__all__ = [
    "Averaging",
    "Batches",
    "Collect",
    "Diffusion",
    "IsokineticTrajectories",
    "Langevin",
    "Members",
    "Microcanonical",
    "Mixing",
    "OnlineNewton",
    "Sample",
    "Together",
    "Train",
    "Trajectories",
    "Trees",
    "TunedTrajectories",
    "Variational",
]
