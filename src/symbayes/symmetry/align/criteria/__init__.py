"""What draws are compared by: weights, activations, or the loss of their average."""
