"""A posterior as few networks, each in few bits."""

from symbayes.distributions.few_bits.networks import FewBits

__all__ = ["FewBits"]
