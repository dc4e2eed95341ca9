"""Numbers of the paper: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural
network posteriors, International Conference on Learning Representations.

CIFAR-100 with ResNet-18, from the poster's table: maximum mean discrepancy to independently trained networks,
raw and with symmetries removed (NS), whose scale is not stated; accuracy, expected calibration error,
adaptive calibration error, Brier score, area under the precision-recall curve and false positives at 95 %
true positives, all in per cent; mutual information in and out of distribution, whose scale is not stated.
"""

from __future__ import annotations

from symbayes.report.contents import Table

SOURCE = "Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network posteriors"

COLUMNS = ("MMD", "MMD NS", "accuracy", "ECE", "ACE", "Brier", "AUPR", "FPR95", "MI in", "MI out")

CIFAR100: dict[tuple[str, str], tuple[float, ...]] = {
    ("one", "dropout"): (4.5, 7.5, 74.2, 14.7, 3.2, 38.8, 76.4, 47.7, 5.7, 9.1),
    ("one", "vi"): (9.0, 10.2, 57.9, 24.6, 3.0, 63.7, 60.9, 79.1, 2.7, 4.2),
    ("one", "swag"): (6.7, 7.2, 70.9, 2.3, 1.2, 38.9, 86.2, 48.0, 2.4, 6.3),
    ("one", "laplace"): (5.7, 7.0, 75.1, 0.9, 0.9, 34.6, 81.3, 42.4, 27.6, 63.3),
    ("one", "sghmc"): (7.5, 7.9, 73.7, 4.9, 1.0, 36.2, 79.4, 62.3, 0.2, 0.5),
    ("many", "dropout"): (0.7, 4.5, 79.5, 4.3, 1.0, 29.2, 78.2, 48.1, 20.5, 46.3),
    ("many", "vi"): (6.1, 5.6, 66.5, 2.8, 2.0, 45.3, 71.9, 71.7, 45.5, 81.1),
    ("many", "swag"): (5.0, 5.4, 72.8, 1.5, 1.1, 36.9, 89.1, 50.6, 6.5, 19.7),
    ("many", "laplace"): (0.6, 4.3, 78.9, 6.9, 0.8, 30.3, 82.9, 41.3, 44.1, 98.5),
    ("many", "ensemble"): (0.0, 0.0, 79.5, 1.6, 0.6, 28.7, 81.1, 45.6, 22.5, 58.0),
}

NOTE = (
    "The published numbers are for CIFAR-100 with ResNet-18. Compare the differences between one mode and "
    "many, not the numbers themselves."
)


def published_table() -> Table:
    """The paper's numbers."""
    rows = [[method, modes, *numbers] for (modes, method), numbers in CIFAR100.items()]
    return Table(
        ["method", "modes", *COLUMNS], rows, f"The paper's table. {NOTE}", dict.fromkeys(COLUMNS, ".1f")
    )
