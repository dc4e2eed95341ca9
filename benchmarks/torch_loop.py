"""A plain loop of PyTorch that trains one network, as a tutorial has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]

from symbayes.networks.lenet import LeNet


def model(network: Any, shape: tuple[int, ...]) -> Any:
    """The same layers as LeNet or a multi-layer perceptron has here."""
    if isinstance(network.spec, LeNet):
        return nn.Sequential(
            *(nn.Conv2d(shape[-1], 6, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()),
            nn.Linear(84, network.spec.outputs),
        )
    widths = [int(np.prod(shape)), *network.spec.hidden]
    hidden = [layer for a, b in itertools.pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(widths[-1], network.spec.outputs))


def trainer(
    network: Any, dataset: Any, batch: int, rate: float, scale: float, seed: int
) -> tuple[Callable[[], None], Callable[[], float]]:
    """One epoch of training, and the accuracy after it."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)  # Networks this small gain nothing by more, and lose where cores are busy.

    def images(x: Any) -> Any:
        x = torch.from_numpy(np.asarray(x)).to(device)
        return x.permute(0, 3, 1, 2).contiguous() if x.ndim == 4 else x

    x, y = images(dataset.train.x), torch.from_numpy(np.asarray(dataset.train.y)).long().to(device)
    made = model(network, tuple(dataset.train.x.shape[1:])).to(device)
    optimizer = torch.optim.Adam(made.parameters(), rate, weight_decay=1 / (len(x) * scale**2))
    loss = nn.CrossEntropyLoss()

    def epoch() -> None:
        order = torch.randperm(len(x), device=device)
        for start in range(0, len(x) // batch * batch, batch):
            rows = order[start : start + batch]
            optimizer.zero_grad()
            loss(made(x[rows]), y[rows]).backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()

    def accuracy() -> float:
        with torch.no_grad():
            guess = made(images(dataset.test.x)).argmax(dim=1).cpu().numpy()
        return float(np.mean(guess == np.asarray(dataset.test.y)))

    return epoch, accuracy
