import jax
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symbayes import trees

keys = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=4)
numbered = st.builds("{}{}".format, st.sampled_from(["l", "block", "", "ü"]), st.integers(0, 120))
nested = st.recursive(
    st.integers(),
    lambda children: st.dictionaries(keys | numbered, children, min_size=1, max_size=4),
    max_leaves=12,
).filter(lambda tree: isinstance(tree, dict))


def small_tree(seed=0, lead=()):
    rng = np.random.default_rng(seed)
    shapes = {"params/l2/kernel": (3, 2), "params/l10/kernel": (2,), "params/l2/bias": (), "stats/m": (4,)}
    return trees.unflatten({name: rng.normal(size=(*lead, *shape)) for name, shape in shapes.items()})


@given(nested)
@example({"²": 1, "1": 2})
@example({"l٣": 1, "l2": 2, "l10": 3})
def test_flatten_and_unflatten_are_inverse(tree):
    flat = trees.flatten(tree)
    assert trees.unflatten(flat) == tree
    assert trees.flatten(trees.unflatten(flat)) == flat
    assert trees.names(tree) == list(flat)


@given(nested, st.randoms())
def test_order_of_names_does_not_depend_on_order_of_insertion(tree, random):
    names = trees.names(tree)
    shuffled = random.sample(names, len(names))
    assert trees.names(trees.unflatten(dict.fromkeys(shuffled, 0))) == names
    assert sorted(shuffled, key=trees.path_key) == names


@given(st.lists(st.integers(0, 10**6), min_size=2, unique=True), st.sampled_from(["l", "", "a1b"]))
def test_numbers_in_names_count_as_numbers(numbers, prefix):
    tree = {f"{prefix}{number}": {"w": number} for number in numbers}
    assert list(trees.flatten(tree).values()) == sorted(numbers)


def test_whole_paths_sort_part_by_part():
    """As one string "a-b" would come before "a/z"."""
    assert trees.names({"a-b": 0, "a": {"z": 0}}) == ["a/z", "a-b"]
    assert sorted(["a-b", "a/z"], key=trees.path_key) == ["a/z", "a-b"]


def test_two_comes_before_ten_where_jax_says_otherwise():
    tree = {"l10": 0, "l2": 1, "l1": 2}
    assert trees.names(tree) == ["l1", "l2", "l10"]
    assert jax.tree.leaves(tree) == [2, 0, 1]


@pytest.mark.parametrize("bad", ["a/b", "", 3])
def test_keys_that_cannot_be_names_are_refused(bad):
    with pytest.raises(TypeError, match="non-empty strings without '/'"):
        trees.flatten({"good": {bad: 1}})


def test_map_named_sees_every_name_once():
    tree = small_tree()
    seen = {}
    doubled = trees.map_named(lambda name, leaf: seen.setdefault(name, leaf) * 2, tree)
    assert list(seen) == trees.names(tree)
    np.testing.assert_array_equal(trees.ravel(doubled), 2 * trees.ravel(tree))


def test_stack_and_index_are_inverse():
    both = [small_tree(seed) for seed in (1, 2)]
    for axis, where in ((0, lambda i: i), (-1, lambda i: (..., i))):
        stacked = trees.stack(both, axis)
        for i, tree in enumerate(both):
            part = trees.index(stacked, where(i))
            np.testing.assert_allclose(trees.ravel(part), trees.ravel(tree), rtol=1e-7)


def test_sizes_norms_and_products_are_those_of_the_vector():
    a, b = small_tree(1), small_tree(2)
    assert trees.shapes(a) == {
        "params/l2/bias": (),
        "params/l2/kernel": (3, 2),
        "params/l10/kernel": (2,),
        "stats/m": (4,),
    }
    assert trees.size(a) == 13
    assert trees.nbytes(a) == 13 * 8
    x, y = (np.concatenate([np.ravel(leaf) for leaf in trees.flatten(t).values()]) for t in (a, b))
    np.testing.assert_allclose(trees.ravel(a), x, rtol=1e-6)
    np.testing.assert_allclose(trees.dot(a, b), x @ y, rtol=1e-5)
    np.testing.assert_allclose(trees.norm(a), np.linalg.norm(x), rtol=1e-6)


def test_ravel_keeps_leading_axes():
    many = small_tree(3, lead=(2, 5))
    vectors = trees.ravel(many, batch_dims=2)
    assert vectors.shape == (2, 5, 13)
    np.testing.assert_array_equal(vectors[1, 4], trees.ravel(trees.index(many, (1, 4))))


def test_variables_of_a_network_without_statistics_have_the_key():
    assert trees.variables({"params/a": 1}) == {"params": {"a": 1}, "stats": {}}
    assert trees.variables({"params/a": 1, "stats/b": 2}) == {"params": {"a": 1}, "stats": {"b": 2}}
    assert trees.variables({"w": 1}) == {"w": 1}


def test_random_normal_is_one_stream_of_standard_normals():
    like = {"a": np.zeros((40, 50)), "b": {"c": np.zeros(()), "d": np.zeros(2000)}}
    key = jax.random.key(3)
    drawn = trees.random_normal(key, like)
    assert trees.shapes(drawn) == trees.shapes(like)
    vector = np.asarray(trees.ravel(drawn))
    np.testing.assert_array_equal(np.sort(vector), np.sort(jax.random.normal(key, (4001,))))
    assert len(np.unique(vector)) > 3990  # no leaf repeats another
