"""Laplace approximations against laplace-torch: its numbers, and itself where it is installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from symbayes.posterior.forwards import output_moments

CASE = json.loads((Path(__file__).parent / "laplace_torch.json").read_text())
FORMS = {"diagonal": ("all", "diag"), "kronecker": ("all", "kron"), "last-layer": ("last_layer", "full")}


def by_laplace_torch(form: str) -> dict[str, Any]:
    """Log evidence, variances of the outputs and probit predictions, of laplace-torch."""
    torch = pytest.importorskip("torch", reason="PyTorch is installed with the extra bench")
    laplace = pytest.importorskip("laplace", reason="laplace-torch is in no extra; see laplace_torch.json")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3))
    with torch.no_grad():
        for layer, (kernel, bias) in zip((model[0], model[2]), CASE["weights"].values(), strict=True):
            layer.weight.copy_(torch.tensor(kernel).T)
            layer.bias.copy_(torch.tensor(bias))
    examples = torch.utils.data.TensorDataset(torch.tensor(CASE["x"]), torch.tensor(CASE["y"]))
    subset, structure = FORMS[form]
    found = laplace.Laplace(
        model,
        "classification",
        subset_of_weights=subset,
        hessian_structure=structure,
        prior_precision=CASE["prior_precision"],
    )
    found.fit(torch.utils.data.DataLoader(examples, batch_size=12))
    x = torch.tensor(CASE["test"])
    _, covariance = found._glm_predictive_distribution(x)
    return {
        "log_evidence": float(found.log_marginal_likelihood()),
        "variances": torch.diagonal(covariance, dim1=-2, dim2=-1).tolist(),
        "probs": found(x, pred_type="glm", link_approx="probit").tolist(),
    }


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_those_of_laplace_torch(form: Any) -> None:
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(3,), outputs=3, activation="tanh"),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(CASE["prior_precision"] ** -0.5),
        sb.data.Examples(np.asarray(CASE["x"], np.float32), np.asarray(CASE["y"], np.int32)),
    )
    start = {
        name: {"kernel": np.asarray(kernel, np.float32), "bias": np.asarray(bias, np.float32)}
        for name, (kernel, bias) in CASE["weights"].items()
    }
    method = sb.Laplace(structure=form, predict="probit")
    run = sb.open(sb.run(method, posterior, start={"params": start}, progress=False))
    x = np.asarray(CASE["test"], np.float32)
    assert run.distribution is not None
    _, variances = output_moments(posterior.network, run.distribution[0], x)
    expected = CASE[form]
    assert run.traces["log_evidence"][0, -1] == pytest.approx(expected["log_evidence"], abs=1e-3)
    np.testing.assert_allclose(variances, expected["variances"], rtol=1e-4)
    np.testing.assert_allclose(run.predict(x).mean, expected["probs"], atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
@pytest.mark.parametrize("form", FORMS)
def test_laplace_torch_still_gives_these_numbers(form: str) -> None:
    for name, value in by_laplace_torch(form).items():
        np.testing.assert_allclose(value, CASE[form][name], rtol=1e-4, err_msg=name)
