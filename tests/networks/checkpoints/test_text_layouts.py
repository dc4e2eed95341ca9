"""Recurrent and attending networks of PyTorch: against its equations in NumPy, and against PyTorch itself."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.draws import files
from symbayes.networks import checkpoints

WORDS, WIDTH, CELLS, FILTERS, KERNEL, POOL = 11, 6, 5, 4, 3, 2
TOKENS = np.random.default_rng(0).integers(1, WORDS, (3, 8)).astype(np.int32)
RECURRENT = {
    "embedding.weight": (WORDS, WIDTH),
    "conv.weight": (FILTERS, WIDTH, KERNEL),
    "conv.bias": (FILTERS,),
    "lstm.weight_ih_l0": (4 * CELLS, FILTERS),
    "lstm.weight_hh_l0": (4 * CELLS, CELLS),
    "lstm.bias_ih_l0": (4 * CELLS,),
    "lstm.bias_hh_l0": (4 * CELLS,),
    "head.weight": (2, CELLS),
    "head.bias": (2,),
}
LAYER = {
    "self_attn.in_proj_weight": (3 * WIDTH, WIDTH),
    "self_attn.in_proj_bias": (3 * WIDTH,),
    "self_attn.out_proj.weight": (WIDTH, WIDTH),
    "self_attn.out_proj.bias": (WIDTH,),
    "linear1.weight": (7, WIDTH),
    "linear1.bias": (7,),
    "linear2.weight": (WIDTH, 7),
    "linear2.bias": (WIDTH,),
    "norm1.weight": (WIDTH,),
    "norm1.bias": (WIDTH,),
    "norm2.weight": (WIDTH,),
    "norm2.bias": (WIDTH,),
}
ATTENDING = {
    "position": (1, TOKENS.shape[1], WIDTH),
    "embedding.weight": (WORDS, WIDTH),
    **{f"encoder.layers.{n}.{name}": shape for n in range(2) for name, shape in LAYER.items()},
    "encoder.norm.weight": (WIDTH,),
    "encoder.norm.bias": (WIDTH,),
    "head.weight": (2, WIDTH),
    "head.bias": (2,),
}


def cnn_lstm() -> Any:
    return sb.networks.cnn_lstm(2, WORDS, WIDTH, FILTERS, KERNEL, POOL, CELLS)


def transformer(**options: Any) -> Any:
    given = {"query_bias": True, "epsilon": 1e-5} | options
    return sb.networks.transformer(2, vocabulary=WORDS, width=WIDTH, heads=2, hidden=7, **given)


def state_dict(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape, scale=0.7).astype(np.float32) for name, shape in shapes.items()}


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def lstm(state: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """``nn.LSTM``: gates i, f, g, o; the last hidden state."""
    hidden = cell = np.zeros((len(x), CELLS))
    for now in x.swapaxes(0, 1):
        drive = now @ state["lstm.weight_ih_l0"].T + state["lstm.bias_ih_l0"]
        drive = drive + hidden @ state["lstm.weight_hh_l0"].T + state["lstm.bias_hh_l0"]
        i, f, g, o = np.split(drive, 4, axis=1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
    return hidden


def recurrent(state: dict[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
    x = state["embedding.weight"][tokens]
    windows = np.lib.stride_tricks.sliding_window_view(x, KERNEL, axis=1)  # (n, time, width, kernel)
    x = np.maximum(np.einsum("ntwk,fwk->ntf", windows, state["conv.weight"]) + state["conv.bias"], 0)
    x = x.reshape(len(x), -1, POOL, FILTERS).max(axis=2)
    return lstm(state, x) @ state["head.weight"].T + state["head.bias"]


def normed(state: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / scale * state[f"{name}.weight"] + state[f"{name}.bias"]


def attention(state: dict[str, np.ndarray], name: str, x: np.ndarray) -> np.ndarray:
    """``nn.MultiheadAttention`` of two heads, with all its biases."""
    packed = x @ state[f"{name}.in_proj_weight"].T + state[f"{name}.in_proj_bias"]
    q, k, v = (part.reshape(*x.shape[:2], 2, -1) for part in np.split(packed, 3, axis=-1))
    scores = np.einsum("nqhd,nkhd->nhqk", q, k) / np.sqrt(q.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = np.einsum("nhqk,nkhd->nqhd", shares / shares.sum(axis=-1, keepdims=True), v)
    return mixed.reshape(x.shape) @ state[f"{name}.out_proj.weight"].T + state[f"{name}.out_proj.bias"]


def attending(state: dict[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
    x = state["embedding.weight"][tokens] + state["position"]
    for n in range(2):
        layer = {
            name.removeprefix(f"encoder.layers.{n}."): array
            for name, array in state.items()
            if name.startswith(f"encoder.layers.{n}.")
        }
        x = x + attention(layer, "self_attn", normed(layer, "norm1", x))
        inner = normed(layer, "norm2", x) @ layer["linear1.weight"].T + layer["linear1.bias"]
        inner = np.asarray(jax.nn.gelu(inner, approximate=False))
        x = x + inner @ layer["linear2.weight"].T + layer["linear2.bias"]
    return normed(state, "encoder.norm", x).mean(axis=1) @ state["head.weight"].T + state["head.bias"]


CASES = [
    pytest.param(RECURRENT, cnn_lstm, recurrent, id="lstm"),
    pytest.param(ATTENDING, transformer, attending, id="attention"),
]


@pytest.mark.parametrize(("shapes", "network", "expected"), CASES)
def test_both_ways_compute_what_pytorch_does(
    tmp_path: Path, shapes: Any, network: Any, expected: Any
) -> None:
    state, made = state_dict(shapes, 3), network()
    np.savez(tmp_path / "a.npz", **state)
    variables = checkpoints.load(tmp_path / "a.npz", made, TOKENS)
    ours = made.apply(variables, jnp.asarray(TOKENS))
    np.testing.assert_allclose(ours, expected(state, TOKENS), rtol=1e-5, atol=1e-5)
    # Back: another division of biases, the same function, in the names and shapes of the file.
    out = checkpoints.export(
        variables, tmp_path / "b.safetensors", like=tmp_path / "a.npz", network=made, example=TOKENS
    )
    back = checkpoints.read(out)
    assert {name: array.shape for name, array in back.items()} == shapes
    np.testing.assert_allclose(expected(back, TOKENS), expected(state, TOKENS), rtol=1e-5, atol=1e-5)


def test_a_query_bias_that_the_network_does_not_have_is_refused(tmp_path: Path) -> None:
    state = state_dict(ATTENDING, 4)
    files.write_bytes(tmp_path / "a.safetensors", *files.pack(state))
    with pytest.warns(checkpoints.MatchedByOrder, match=r"norm is encoder\.norm"):
        checkpoints.load(tmp_path / "a.safetensors", transformer(), TOKENS)
    with (
        pytest.warns(checkpoints.MatchedByOrder),
        pytest.raises(checkpoints.CheckpointError, match="give its option query_bias=true"),
    ):
        checkpoints.load(tmp_path / "a.safetensors", transformer(query_bias=False), TOKENS)
    for name in state:
        if name.endswith("in_proj_bias"):
            state[name][:WIDTH] = 0
    np.savez(tmp_path / "b.npz", **state)
    made = transformer(query_bias=False)
    variables = checkpoints.load(tmp_path / "b.npz", made, TOKENS)
    ours = made.apply(variables, jnp.asarray(TOKENS))
    np.testing.assert_allclose(ours, attending(state, TOKENS), rtol=1e-5, atol=1e-5)


def torch_modules(torch: Any) -> dict[str, Any]:
    nn = torch.nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, WIDTH)
            self.conv = nn.Conv1d(WIDTH, FILTERS, KERNEL)
            self.lstm = nn.LSTM(FILTERS, CELLS, batch_first=True)
            self.head = nn.Linear(CELLS, 2)

        def forward(self, tokens: Any) -> Any:
            x = torch.relu(self.conv(self.embedding(tokens).transpose(1, 2)))
            x = nn.functional.max_pool1d(x, POOL).transpose(1, 2)
            return self.head(self.lstm(x)[1][0][0])

    class Attending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, WIDTH)
            self.position = nn.Parameter(torch.randn(1, TOKENS.shape[1], WIDTH))
            layer = nn.TransformerEncoderLayer(
                WIDTH, 2, 7, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            norm = nn.LayerNorm(WIDTH)
            self.encoder = nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
            self.head = nn.Linear(WIDTH, 2)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.encoder(self.embedding(tokens) + self.position).mean(1))

    return {"lstm": Recurrent(), "attention": Attending()}


@pytest.mark.parametrize(("name", "network"), [("lstm", cnn_lstm), ("attention", transformer)])
def test_against_pytorch_itself(tmp_path: Path, name: str, network: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is installed with the extra bench")
    torch.manual_seed(0)
    model = torch_modules(torch)[name]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.7)  # Biases, which begin at zero, too.
        expected = model(torch.from_numpy(TOKENS.astype(np.int64))).numpy()
    torch.save(model.state_dict(), tmp_path / "a.pt")
    made = network()
    variables = checkpoints.load(tmp_path / "a.pt", made, TOKENS)
    np.testing.assert_allclose(made.apply(variables, jnp.asarray(TOKENS)), expected, rtol=1e-5, atol=1e-5)
    out = checkpoints.export(
        variables, tmp_path / "b.safetensors", like=tmp_path / "a.pt", network=made, example=TOKENS
    )
    model.load_state_dict({key: torch.from_numpy(np.array(a)) for key, a in checkpoints.read(out).items()})
    with torch.no_grad():
        again = model(torch.from_numpy(TOKENS.astype(np.int64))).numpy()
    np.testing.assert_allclose(again, expected, rtol=1e-5, atol=1e-5)
