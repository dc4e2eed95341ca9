"""Formulas of docstrings become LaTeX that says the same."""

import importlib.util
import re
from types import ModuleType

import pytest

from shown_code import ROOT


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("formulas", ROOT / "docs/formulas.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bare(made: str) -> str:
    """Without what only spaces or enlarges."""
    return re.sub(r"\\(?:left|right)(?![a-z])|\\[,;]|\s", "", made)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ("w <- w - e/2 grad U(w)", r"w\leftarroww-\frac{e}{2}\nablaU(w)"),
        ("a b / (c d)", r"\frac{ab}{cd}"),
        ("a b/c d", r"a\frac{b}{c}d"),
        ("(a + b)/2 c", r"\frac{a+b}{2}c"),
        ("(a + b) (c + d) / 2", r"\frac{(a+b)(c+d)}{2}"),
        ("sum_i x_i / n", r"\sum_{i}\frac{x_{i}}{n}"),
        ("(A (I - e T))^-1", r"(A(I-eT))^{-1}"),
        ("(A / B)^(-1/6)", r"(\frac{A}{B})^{-\frac{1}{6}}"),
        ("sqrt(2 (K - 1))", r"\sqrt{2(K-1)}"),
        ("b1 u, w0 and t_0", r"b_{1}u,w_{0}\text{and}t_{0}"),
        ("D D^T", r"DD^{\top}"),
        ("w' - e'_t", r"w'-e'_{t}"),
        ("z ~ N(0, I) and N examples", r"z\sim\mathcal{N}(0,I)\text{and}N\text{examples}"),
        ("p(y | w) |x - y|^2 <u, v>", r"p(y\midw)\lvertx-y\rvert^{2}\langleu,v\rangle"),
        ("|a - |b||", r"\lverta-\lvertb\rvert\rvert"),
        ("a <= b < c", r"a\leb<c"),
        ("sum_{i in batch} p_{ik}", r"\sum_{i\in\text{batch}}p_{ik}"),
        ("how bins differ in it", r"\text{howbinsdifferinit}"),
        ("x in it", r"x\text{init}"),
        ("over a mini-batch B_n", r"\text{overamini-batch}B_{n}"),
        ("mean_s x_s is the mean", r"\operatorname{mean}_{s}x_{s}\text{isthemean}"),
        ("s(x) A (x) G", r"s(x)A\otimesG"),
        ("1,571 x", r"1{,}571x"),
        ("(Guo et al. 2017)", r"\text{(Guoetal.2017)}"),
    ],
)
def test_a_formula_says_the_same(formulas: ModuleType, plain: str, expected: str) -> None:
    assert bare(formulas.latex(plain)) == expected


def test_quotients_in_a_line_keep_their_slash_and_brackets(formulas: ModuleType) -> None:
    assert bare(formulas.latex("t / (a + b)", inline=True)) == "t/(a+b)"


def test_lines_align_at_their_relation_and_columns_stay_columns(formulas: ModuleType) -> None:
    made = formulas.display("    a = 1        for one\n    b <- a / 2   for all")
    assert made.startswith(r"\begin{array}{lll}")
    first, second = made.split("\n")[1:3]
    assert bare(first).rstrip("\\") == r"a&=1&\text{forone}"
    assert bare(second) == r"b&\leftarrow\dfrac{a}{2}&\text{forall}"


def test_a_line_that_is_set_in_continues_the_later_columns(formulas: ModuleType) -> None:
    made = formulas.display("    w = v,    a = 1    for one\n              a = 2    for two")
    assert bare(made.split("\n")[2]) == r"&a=2&\text{fortwo}"


@pytest.mark.parametrize("plain", ["(a + b", "a + b)", "x_i_j", "a @ b", "|x - y"])
def test_what_is_no_formula_is_refused(formulas: ModuleType, plain: str) -> None:
    with pytest.raises(ValueError, match=r"formula|closed|close|script"):
        formulas.latex(plain)
