"""The building blocks of methods: phases, each with its equation."""

from symbayes.methods.phases.sample import Sample
from symbayes.methods.phases.train import Train
from symbayes.methods.phases.trajectories import Trajectories

__all__ = ["Sample", "Train", "Trajectories"]
