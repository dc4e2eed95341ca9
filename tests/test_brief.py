"""Every public object shows itself in a short line, and as a table in a notebook where that helps."""

from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse import SplitScores, align_run, mixing
from symbayes.brief import brief, html_table

HMC = sb.HMC(0.01, trajectory=0.05, burn_in=3, draws=6, chains=2)


@pytest.fixture(scope="module")
def objects(tiny, digits, tmp_path_factory):
    """One of each kind, by name."""
    store = tmp_path_factory.mktemp("brief") / "run"
    drawn = sb.run(HMC, tiny, store=store, block_steps=10, about=digits.about)
    run = sb.open(store)
    small = sb.data.Dataset("few", digits.train[:128], digits.validation, digits.test[:20], 10, (), "")
    aligned = align_run(drawn)
    layers = sb.priors.PerLayer({"*/bias": sb.priors.StudentT(1.0, 4.0)}, rest=sb.priors.Normal(0.3))
    line = sb.data.from_arrays(np.arange(20.0), np.arange(20.0) ** 1.5).train
    regression = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1), sb.likelihoods.Gaussian(0.1), layers, line, temperature=0.5
    )
    report = sb.Report.of({"<run>": drawn}, small)
    return {
        "draws": drawn,
        "stored run": sb.Run(store),
        "run": run,
        "posterior": tiny,
        "regression": regression,
        "regression's prior": regression.prior,
        "regression's likelihood": regression.likelihood,
        "dataset": digits,
        "examples": digits.train,
        "scaling": sb.data.Scaling(np.zeros(3), np.ones(3)),
        "preparation": run.preparation,
        "predictive": run.predict(digits.test.x[:20]),
        "reals": sb.likelihoods.Gaussian(0.1).predictive(np.zeros((2, 3, 4, 1))),
        "group": run.group,
        "alignment": aligned.alignment,
        "aligned run": aligned,
        "gaussian": sb.distributions.Gaussian.fit(drawn, rank=1),
        "mixing": mixing(drawn)["weights"],
        "splits": SplitScores.of({"a": report.comparison}),
        "method": HMC,
        "prior": tiny.prior,
        "network": tiny.network,
        "report": report,
        "comparison": report.comparison,
        "summary": run.summary(),
        "origin": drawn.origin,
    }


LONG = ("comparison", "summary")
"""Tables, also as text."""


def test_every_object_shows_itself_in_a_short_line(objects):
    for name, value in objects.items():
        words = repr(value)
        assert "array(" not in words.lower(), (name, words)
        if name not in LONG:
            assert len(words) <= 300, (name, len(words), words)
            assert "\n" not in words, (name, words)


class Tags(HTMLParser):
    """Checks that every element is closed, and reads the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", ["draws", "run", "group", "report", "comparison", "summary"])
def test_tables_for_notebooks_are_whole_and_escaped(objects, name):
    tags = Tags()
    tags.feed(objects[name]._repr_html_())
    tags.close()
    assert tags.open == []
    expected = {"draws": "params/output/kernel", "run": "HMC", "report": "<run>", "comparison": "accuracy"}
    assert expected.get(name, "") in tags.text


def test_a_page_is_shown_in_a_frame_of_its_own(objects, monkeypatch):
    monkeypatch.setattr(sb.Report, "html", lambda self: '<p class="a">&amp;</p>')
    frame = objects["report"].show(300)
    assert repr(frame) == "Shown(a page of 22 characters)"
    assert 'srcdoc="&lt;p class=&quot;a&quot;&gt;&amp;amp;&lt;/p&gt;"' in frame._repr_html_()


def test_values_in_few_characters():
    assert brief(np.zeros((2, 3), np.float32)) == "float32[2, 3]"
    assert brief(np.float32(0.5)) == "0.5"
    assert brief({"a": 1, "b": 2}) == "{a, b}"
    assert brief({f"a long name {i}": i for i in range(50)}) == "{50 names}"
    assert brief(list(range(100))) == "[100 of int]"
    assert html_table([["<a>", "1"]], ["x", "y"]).count("&lt;a&gt;") == 1


def test_numbers_of_single_precision_are_short(objects):
    assert repr(objects["regression's likelihood"]) == "Gaussian(scale=0.1)"
    assert brief(jnp.float32(1e-7)) == "1e-07"
    assert "object" not in brief(jax.random.key(0))
    assert jax.eval_shape(lambda x: [brief(x), x][1], jnp.float32(2)).shape == ()
