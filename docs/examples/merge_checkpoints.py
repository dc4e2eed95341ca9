"""Two networks trained in PyTorch: aligned, compared on the line between them, and merged.

Run it with ``python merge_checkpoints.py FOLDER``; it needs PyTorch.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

import symbayes as sb
from symbayes.networks import checkpoints


def make() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def train(seed: int, data: sb.data.Dataset) -> nn.Module:
    torch.manual_seed(seed)
    model = make()
    x = torch.from_numpy(np.array(data.train.x)).permute(0, 3, 1, 2)  # PyTorch has channels first
    y = torch.from_numpy(np.array(data.train.y)).long()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


def main(folder: Path) -> sb.analyse.Pair:
    data = sb.data.load("digits")
    paths = [folder / "a.pt", folder / "b.pt"]
    for seed, path in enumerate(paths):
        torch.save(train(seed, data).state_dict(), path)

    # From here on as for any two checkpoints: name the network, and it is filled from the state dicts.
    network = sb.networks.mlp(hidden=(32,), outputs=10)
    trained = sb.analyse.Trained.load(paths, network, sb.likelihoods.Categorical(), data)
    pair = sb.analyse.compare_pair(trained, data)
    print(f"barrier: {pair.barrier('raw'):.3f} nats as trained, {pair.barrier('aligned'):.3f} aligned")

    # The network half-way goes back into PyTorch.
    merged = folder / "merged.safetensors"
    checkpoints.export(pair.merged, merged, like=paths[0], network=network, example=trained.example)
    model = make()
    model.load_state_dict({name: torch.from_numpy(a) for name, a in checkpoints.read(merged).items()})
    test = torch.from_numpy(np.array(data.test.x)).permute(0, 3, 1, 2)
    accuracy = float((model(test).argmax(1).numpy() == data.test.y).mean())
    print(f"accuracy of the merged network: {accuracy:.1%}")
    return pair


if __name__ == "__main__":
    main(Path(sys.argv[1]))
