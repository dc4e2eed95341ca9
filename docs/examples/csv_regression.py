"""From a CSV file to a page: progress of diabetes from ten measurements of 442 patients.

    python csv_regression.py [FOLDER]

The table is one that scikit-learn comes with (Efron et al. 2004); any other would do.
"""

import sys
from pathlib import Path

import symbayes as sb


def write_table(path: Path) -> None:
    """A table as people have them: names in the first line, numbers below."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(scaled=False)
    names = [*table.feature_names, "progress"]
    lines = [",".join(names)]
    lines += [
        ",".join(f"{value:g}" for value in [*x, y]) for x, y in zip(table.data, table.target, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def main(folder: Path, method: sb.HMC) -> Path:
    """Draw, predict, and write a page; gives its path."""
    file = folder / "diabetes.csv"
    write_table(file)

    # --8<-- [start:data]
    data = sb.data.load(str(file), target="progress")
    print(data)
    # --8<-- [end:data]

    # --8<-- [start:run]
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(16,), **data.sizes),
        sb.likelihoods.Gaussian(scale=0.7),  # in standard deviations of the targets
        sb.priors.Normal(scale=0.5),
        data.train,
    )
    store = folder / "runs/diabetes"
    sb.run(method, posterior, store=store, about=data.about)
    run = sb.open(store)
    print(run.summary())
    # --8<-- [end:run]

    # --8<-- [start:predict]
    patients = {"age": [40, 60], "sex": [1, 2], "bmi": [20, 32], "bp": [80, 110]}
    patients |= {f"s{i}": [value] * 2 for i, value in enumerate([190, 115, 50, 4, 4.6, 91], start=1)}
    predicted = run.predict(patients)
    low, high = predicted.interval(0.9)
    print(predicted.mean[:, 0], low[:, 0], high[:, 0])
    # --8<-- [end:predict]

    # --8<-- [start:page]
    return sb.Report.of({"hmc": store}, data).write(folder / "diabetes.html")
    # --8<-- [end:page]


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    page = main(place, sb.HMC(step_size=0.02, burn_in=100, draws=250))
    print(f"page: {page.resolve().as_uri()}")
