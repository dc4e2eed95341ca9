"""Checkpoints against PyTorch's own arithmetic: written in JAX with its layouts, and by PyTorch itself."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.draws import files
from symbayes.networks import checkpoints

IMAGES = (4, 8, 8, 3)


def state_dict(seed: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape, scale=0.3).astype(np.float32) for name, shape in shapes.items()}


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    files.write_bytes(path, *files.pack(arrays))
    return path


CNN = {
    "conv1.weight": (16, 3, 3, 3),
    "conv1.bias": (16,),
    "conv2.weight": (32, 16, 3, 3),
    "conv2.bias": (32,),
    "fc.weight": (64, 128),
    "fc.bias": (64,),
    "last.weight": (10, 64),
    "last.bias": (10,),
}


def torch_cnn(state: dict[str, np.ndarray], x: jax.Array) -> jax.Array:
    """The network `cnn` as PyTorch computes it: NCHW, OIHW, images flattened by channels first."""
    x = x.transpose(0, 3, 1, 2)
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(
            x, state[f"{name}.weight"], (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
        )
        x = jax.nn.relu(x + state[f"{name}.bias"][None, :, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ state["fc.weight"].T + state["fc.bias"])
    return x @ state["last.weight"].T + state["last.bias"]


@pytest.fixture(scope="module")
def x() -> jax.Array:
    return jnp.asarray(np.random.default_rng(5).normal(size=IMAGES), jnp.float32)


def test_a_convolutional_network_computes_what_pytorch_does(tmp_path: Path, x: jax.Array) -> None:
    state, network = state_dict(1, CNN), sb.networks.cnn()
    variables = checkpoints.load(write(tmp_path / "a.safetensors", state), network, x)
    np.testing.assert_allclose(network.apply(variables, x), torch_cnn(state, x), rtol=1e-4, atol=1e-4)
    # And back, into the names and layouts of the file that it came from.
    out = tmp_path / "b.safetensors"
    checkpoints.export(variables, out, like=tmp_path / "a.safetensors", network=network, example=x)
    for name, array in checkpoints.read(out).items():
        np.testing.assert_array_equal(array, state[name])


def test_an_mlp_on_images_takes_them_by_channels(tmp_path: Path, x: jax.Array) -> None:
    shapes = {"0.weight": (5, 192), "0.bias": (5,), "2.weight": (2, 5), "2.bias": (2,)}
    state, network = state_dict(2, shapes), sb.networks.mlp(hidden=(5,), outputs=2)
    variables = checkpoints.load(write(tmp_path / "a.safetensors", state), network, x)
    flat = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
    hidden = jax.nn.relu(flat @ state["0.weight"].T + state["0.bias"])
    expected = hidden @ state["2.weight"].T + state["2.bias"]
    np.testing.assert_allclose(network.apply(variables, x), expected, rtol=1e-4, atol=1e-4)


def test_a_port_with_the_names_of_the_state_dict_is_filled_as_it_is(tmp_path: Path) -> None:
    state = state_dict(3, {"fc1.weight": (4, 3), "fc1.bias": (4,), "fc2.weight": (2, 4), "fc2.bias": (2,)})

    def init(key: jax.Array, x: jax.Array) -> Any:
        return trees.unflatten({name.replace(".", "/"): jnp.zeros(a.shape) for name, a in state.items()})

    def apply(params: Any, x: jax.Array) -> jax.Array:
        for name in ("fc1", "fc2"):
            x = jnp.tanh(x @ params[name]["weight"].T + params[name]["bias"])
        return x

    network = sb.networks.from_functions(init, apply)
    path = write(tmp_path / "a.safetensors", state)
    variables = checkpoints.load(path, network, (1, 3))
    for name, array in state.items():
        np.testing.assert_array_equal(trees.flatten(variables)[f"params/{name.replace('.', '/')}"], array)
    group = sb.symmetry.discover(network.apply, variables, jnp.ones((2, 3)))
    assert [p.size for p in group.permutations] == [4]
    out = checkpoints.export(variables, tmp_path / "b.npz", like=path, network=network, example=(1, 3))
    assert {name: a.tolist() for name, a in checkpoints.read(out).items()} == {
        name: a.tolist() for name, a in state.items()
    }


def test_our_own_names_and_orbax_and_equinox(tmp_path: Path, x: jax.Array) -> None:
    network = sb.networks.mlp(hidden=(3,), outputs=2)
    variables = network.init(jax.random.key(0), x)
    own = checkpoints.export(variables, tmp_path / "own.safetensors")
    from orbax import checkpoint as orbax

    orbax.PyTreeCheckpointer().save(tmp_path / "orbax", variables)
    for path in (own, tmp_path / "orbax"):
        found = trees.flatten(checkpoints.load(path, network, x))
        assert found.keys() == trees.flatten(variables).keys()
        for name, leaf in trees.flatten(variables).items():
            np.testing.assert_array_equal(found[name], leaf)
    module = eqx.nn.MLP(4, 2, 3, 1, key=jax.random.key(1))
    eqx.tree_serialise_leaves(tmp_path / "a.eqx", module)
    port = sb.networks.from_equinox(eqx.nn.MLP, in_size=4, out_size=2, width_size=3, depth=1)
    weights = checkpoints.load(tmp_path / "a.eqx", port, (1, 4))["params"]["layers"]["0"]["weight"]
    np.testing.assert_array_equal(weights, module.layers[0].weight)
    with pytest.raises(ValueError, match="is of Equinox: name its module"):
        checkpoints.load(tmp_path / "a.eqx", network, x)


def test_another_network_is_refused(tmp_path: Path, x: jax.Array) -> None:
    path = write(tmp_path / "a.safetensors", state_dict(1, CNN))
    with pytest.raises(checkpoints.CheckpointError, match="no layer left for hidden1"):
        checkpoints.load(path, sb.networks.mlp(), x)
    with pytest.raises(checkpoints.CheckpointError, match="options that the network was trained with"):
        checkpoints.load(path, sb.networks.cnn(outputs=7), x)
    more = state_dict(1, CNN | {"extra.weight": (2, 2)})
    with pytest.raises(checkpoints.CheckpointError, match=r"no place for extra\.weight \(2, 2\)"):
        checkpoints.load(write(tmp_path / "b.safetensors", more), sb.networks.cnn(), x)
    (tmp_path / "c.safetensors").write_bytes(b"half")
    with pytest.raises(checkpoints.CheckpointError, match="is damaged"):
        checkpoints.read(tmp_path / "c.safetensors")
    with pytest.raises(checkpoints.CheckpointError, match=r"none of the known formats: \.safetensors"):
        checkpoints.read(Path(__file__))


def test_a_residual_network_of_pytorch_itself(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is installed with the extra bench")
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
            self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
            self.down = nn.Sequential()
            if stride > 1:
                self.down = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.down(x) + self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))

    layers = [nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU()]
    for stage, (a, b) in enumerate([(4, 4), (4, 8), (8, 16), (16, 32)]):
        layers += [Block(a, b, 2 if stage else 1), Block(b, b, 1)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            (
                nn.init.normal_(layer.weight),
                nn.init.normal_(layer.running_mean),
                layer.running_var.uniform_(0.5, 2),
            )
    torch.save(model.state_dict(), tmp_path / "a.pt")
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
    network = sb.networks.resnet18(width=4)
    variables = checkpoints.load(tmp_path / "a.pt", network, images)
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(images.transpose(0, 3, 1, 2))).numpy()
    np.testing.assert_allclose(network.apply(variables, jnp.asarray(images)), expected, rtol=1e-3, atol=1e-3)
    out = checkpoints.export(
        variables, tmp_path / "b.safetensors", like=tmp_path / "a.pt", network=network, example=images
    )
    state = {name: torch.from_numpy(np.array(a)) for name, a in checkpoints.read(out).items()}
    model.load_state_dict(state)


def test_a_file_without_order_is_read_in_natural_order(tmp_path: Path) -> None:
    """Eleven layers of one shape: layer 10 comes after layer 9, though its name is sorted after 1."""
    kinds = {"weight": (3, 3), "bias": (3,)}
    shapes = {f"layers.{n}.{kind}": shape for n in range(11) for kind, shape in kinds.items()}
    state, network = state_dict(4, shapes), sb.networks.mlp(hidden=(3,) * 10, outputs=3)
    x = jnp.ones((1, 3))
    variables = checkpoints.load(write(tmp_path / "a.safetensors", state), network, x)
    np.testing.assert_array_equal(variables["params"]["output"]["kernel"], state["layers.10.weight"].T)
    np.testing.assert_array_equal(variables["params"]["hidden3"]["kernel"], state["layers.2.weight"].T)
