r"""Formulas as docstrings have them, set as LaTeX.

Docstrings are read in an editor, so their formulas are plain text: in a line by themselves, indented, or in
double backticks within a sentence.  Names in single backticks are code.  The notation is that of a
blackboard:

    w <- w - e/2 grad U(w) + sqrt(e) z_1,    z ~ N(0, I)

A product is written by a space.  A slash without spaces divides the two things beside it, ``a b/c d``, and
one with spaces all that is multiplied before it, ``a b / (c d)``.  ``_`` and ``^`` are scripts, ``'`` is a
prime, ``|x|`` a norm, ``<x, y>`` an inner product, and `` | `` a condition.  Two spaces begin a column.
Words are set upright.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FUNCTIONS = ("log", "exp", "cos", "sin", "tanh", "max", "min", "ln")
NAMED = ("argmin", "argmax", "diag", "mean", "var", "softmax", "round", "outer", "Cov", "mod")
GREEK = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "pi",
    "sigma",
    "tau",
    "Phi",
)
SYMBOLS = {
    "Rhat": r"\hat{R}",
    "grad": r"\nabla",
    "sum": r"\sum",
    "product": r"\prod",
    "integral": r"\int",
    "infinity": r"\infty",
}
BIG = (r"\sum", r"\prod", r"\int")
"""What these stand before is divided, and not they."""
UPRIGHT = ("H", "ELBO", "KL", "AURC", "AUGRC", "AUROC", "CRPS", "ECE", "ACE", "NLL", "TV", "RMSE")
OPERATORS = {
    "<-": r"\leftarrow",
    "->": r"\rightarrow",
    "<=": r"\le",
    ">=": r"\ge",
    "!=": r"\ne",
    "~": r"\;\sim\;",
    "(x)": r"\otimes",
    "*": r"\odot",
    "...": r"\ldots",
    "<": "<",
    ">": ">",
    "|": r"\mid",
    "in": r"\in",
} | {sign: sign for sign in "=+-,;:.!%"}
RELATIONS = ("<-", "=", "~", "<=", ">=")
BRACKETS = {
    "(": (r"\left(", ")", r"\right)"),
    "[": (r"\left[", "]", r"\right]"),
    "{": (r"\{", "}", r"\}"),
    "|": (r"\left\lvert", "|", r"\right\rvert"),
    "<": (r"\left\langle", ">", r"\right\rangle"),
}
AROUND = {"sqrt": (r"\sqrt{", "}"), "ceil": (r"\lceil", r"\rceil"), "floor": (r"\lfloor", r"\rfloor")}

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?)|(?P<word>[A-Za-zü]+(?:-[a-z]{2,})*\d*)"
    r"|(?P<sign>(?<=\s)\(x\)(?=\s)|<-|->|<=|>=|!=|\.\.\.|.)"
)


CITATION = re.compile(r"\([A-Z][^()]* \d{4}\)")


class Token(NamedTuple):
    kind: str
    text: str
    before: bool  # whether a space stands before it
    after: bool


def tokens(text: str) -> list[Token]:
    found = [(match.lastgroup or "", match[0], match.end()) for match in _TOKEN.finditer(text)]

    def spaced(place: int) -> bool:
        return not 0 <= place < len(found) or found[place][0] == "space"

    return [
        Token(kind, word, spaced(place - 1), spaced(place + 1))
        for place, (kind, word, _) in enumerate(found)
        if kind != "space"
    ]


def latex(text: str, *, inline: bool = False) -> str:
    """One formula, as LaTeX; in a line of text, quotients keep their slash."""
    if CITATION.fullmatch(text):
        return rf"\text{{{text}}}"
    reader = _Reader(tokens(text), inline)
    made = reader.sequence(None)
    if reader.here is not None:
        raise ValueError(f"{text!r}: nothing was opened that {reader.here.text!r} could close")
    return made


def display(block: str) -> str:
    """The lines of an indented block as one LaTeX display; cells that are two spaces apart are columns."""
    lines = block.strip("\n").split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    if len(rows) == 1:
        return r" \qquad ".join(latex(cell) for cell in rows[0])
    if all(_relation(row[0]) for row in rows) and not any(line[margin] == " " for line in lines):
        rows = [[*_sides(row[0]), *row[1:]] for row in rows]
    wide = max(map(len, rows))
    body = []
    for line, row in zip(lines, rows, strict=True):
        inset = len(line) - len(line.lstrip()) > margin
        cells = [""] * (wide - len(row)) + row if inset else row
        body.append(" & ".join(latex(cell).replace(r"\frac", r"\dfrac") for cell in cells))
    return "\n".join([rf"\begin{{array}}{{{'l' * wide}}}", " \\\\\n".join(body), r"\end{array}"])


def _relation(cell: str) -> bool:
    return bool(re.search(r" (?:<-|=) ", cell))


def _sides(cell: str) -> list[str]:
    """Left of the first relation, and the rest."""
    left, relation, right = re.split(r"\s(<-|=)\s", cell, maxsplit=1)
    return [left, f"{relation} {right}"]


class _Reader:
    """A formula, read from left to right."""

    def __init__(self, found: list[Token], inline: bool) -> None:
        self.found = found
        self.inline = inline
        self.place = 0
        self.below = 0  # how many braces of subscripts are open: letters there are indices

    @property
    def here(self) -> Token | None:
        return self.found[self.place] if self.place < len(self.found) else None

    def take(self) -> Token:
        token = self.found[self.place]
        self.place += 1
        return token

    def sequence(self, closing: str | None) -> str:
        """Products and the operators between them, up to what closes them."""
        parts: list[str] = []
        while self.here is not None and not self._closes(closing):
            if self._operator():
                parts.append(OPERATORS[self.take().text])
            elif self._prose():
                after_formula = bool(parts) and self.found[self.place - 1].text not in OPERATORS
                parts.append(rf"\; {self.prose()}" if after_formula else self.prose())
            else:
                parts.append(self.product(closing))
        return " ".join(parts)

    def _closes(self, closing: str | None) -> bool:
        token = self.here
        assert token is not None
        if token.text != closing:
            return token.text in (")", "]", "}") and token.kind == "sign"
        return closing not in ("|", ">") or not token.before or (closing == "|" and token.after)

    def _operator(self) -> bool:
        token = self.here
        if token is None or token.text not in OPERATORS or (token.text == "in" and not self.below):
            return False
        if token.text in ("|", "<", ">"):
            return token.before and token.after
        return True

    def _prose(self) -> bool:
        token = self.here
        if token is None or token.kind != "word":
            return False
        after = self.found[self.place + 1].text if self.place + 1 < len(self.found) else ""
        applied = not token.after and after in ("(", "_", "^")
        return (_is_prose(token.text) and not self._indices(token.text)) or (
            token.text in NAMED and not applied
        )

    def _indices(self, word: str) -> bool:
        return self.below > 0 and len(word) <= 3 and word != "in"

    def prose(self) -> str:
        """Words one after another, as one text; a letter between two words is one of them."""
        words = [self.take().text]
        while self.here is not None and self.here.before and (self._prose() or self._article()):
            words.append(self.take().text)
        scripts = self.scripts() if self.here is not None and not self.here.before else ""
        follows = self.here is not None and self.here.before and self.here.text not in ",;."
        return rf"\text{{{' '.join(words)}}}{scripts}" + (r"\;" if follows else "")

    def _article(self) -> bool:
        after = self.found[self.place + 1] if self.place + 1 < len(self.found) else None
        article = self.here is not None and self.here.text == "a"
        return article and after is not None and after.kind == "word" and _is_prose(after.text)

    def product(self, closing: str | None) -> str:
        parts: list[str] = []
        while (
            self.here is not None and not self._closes(closing) and not self._operator() and not self._prose()
        ):
            if self.here.text == "/":
                self.take()
                big = max((place + 1 for place, part in enumerate(parts) if part.startswith(BIG)), default=0)
                parts[big:] = [self.quotient(" ".join(parts[big:]), self.factor())]
            else:
                parts.append(self.factor())
        return " ".join(parts)

    def factor(self) -> str:
        made = self.scripted()
        while self.here is not None and self.here.text == "/" and not self.here.before:
            self.take()
            made = self.quotient(made, self.scripted())
        return made

    def quotient(self, over: str, under: str) -> str:
        return f"{over} / {under}" if self.inline else rf"\frac{{{_bare(over)}}}{{{_bare(under)}}}"

    def scripted(self) -> str:
        made = self.atom() + self.scripts()
        if self.here is not None and self.here.text in ("(", "[") and not self.here.before:
            made += self.bracket() + self.scripts()
        return made

    def scripts(self) -> str:
        made = ""
        while self.here is not None and self.here.text in ("'", "_", "^") and not self.here.before:
            sign = self.take().text
            made += "'" if sign == "'" else f"{sign}{{{self.script(sign)}}}"
        return made

    def script(self, sign: str) -> str:
        """What a script has: a name or number with its sign, or all that is in a bracket."""
        lead = ""
        if self.here is not None and self.here.text in "+-":
            lead = self.take().text
            if self.here is None or self.here.before or self.here.text in ")]},":
                return lead
        if self.here is not None and self.here.text in ("{", "("):
            self.below += sign == "_"
            inside = self.bracket()
            self.below -= sign == "_"
            return lead + (_bare(inside) if sign == "^" or inside.startswith(r"\{") else inside)
        made = self.atom()
        if sign == "_" and self.here is not None and self.here.text == "_":
            raise ValueError(f"a script of a script needs braces, after {made!r}")
        return r"\top" if (sign, made) == ("^", "T") else lead + made

    def atom(self) -> str:
        token = self.take()
        if token.kind == "sign" and token.text in BRACKETS:
            self.place -= 1
            return self.bracket()
        if token.kind == "word":
            return self.name(token.text)
        if token.kind == "number":
            return token.text.replace(",", "{,}")
        raise ValueError(f"a formula does not know {token.text!r}")

    def name(self, word: str) -> str:
        called = self.here is not None and self.here.text == "(" and not self.here.before
        if word in AROUND and called:
            inside = _bare(self.bracket())
            return f"{AROUND[word][0]} {inside} {AROUND[word][1]}"
        if word in FUNCTIONS:
            return f"\\{word}" if called or self._scripted() else rf"\{word}\,"
        if word in GREEK:
            return f"\\{word}"
        if word == "E":
            return r"\mathbb{E}"
        if word in SYMBOLS:
            return SYMBOLS[word]
        if word == "N" and called:
            return r"\mathcal{N}"
        if _is_prose(word) and self._indices(word):
            return " ".join(word)
        if word in NAMED or word in UPRIGHT or _is_prose(word):
            return rf"\operatorname{{{word}}}"
        return f"{word[0]}_{{{word[1:]}}}" if len(word) > 1 else word

    def _scripted(self) -> bool:
        return self.here is not None and self.here.text in "_^" and not self.here.before

    def bracket(self) -> str:
        opening = self.take().text
        left, closing, right = BRACKETS[opening]
        inside = self.sequence(closing)
        if self.here is None or self.here.text != closing:
            raise ValueError(f"{opening!r} is not closed after {inside!r}")
        self.take()
        return f"{left} {inside} {right}"


def _is_prose(word: str) -> bool:
    known = (*FUNCTIONS, *NAMED, *GREEK, *SYMBOLS, *AROUND, *UPRIGHT)
    return word not in known and not re.fullmatch(r"[A-Za-z]\d*", word)


def _bare(made: str) -> str:
    """Without the brackets around all of it, which a fraction or a root does not need."""
    for left, _, right in (BRACKETS["("], BRACKETS["{"]):
        if made.startswith(f"{left} ") and made.endswith(f" {right}"):
            inside = made[len(left) + 1 : -len(right) - 1]
            depth = 0
            for part in inside.split():
                depth += part.endswith(left) - part.startswith(right)
                if depth < 0:
                    return made
            return inside
    return made
