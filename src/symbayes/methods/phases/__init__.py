"""The building blocks of methods: phases, each with its equation."""

from symbayes.methods.phases.diffusion import Diffusion
from symbayes.methods.phases.langevin import Langevin
from symbayes.methods.phases.sample import Sample
from symbayes.methods.phases.train import Train
from symbayes.methods.phases.trajectories import Trajectories
from symbayes.methods.phases.tuned import TunedTrajectories

__all__ = ["Diffusion", "Langevin", "Sample", "Train", "Trajectories", "TunedTrajectories"]
