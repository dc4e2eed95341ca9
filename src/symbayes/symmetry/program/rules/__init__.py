"""What each primitive does to axes, signs and scales."""
