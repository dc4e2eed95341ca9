"""The command `symbayes`: draw, evaluate, report.

One subcommand per method is made from its dataclass, so a method's hyper-parameters are its options.
"""

from symbayes.cli.commands import COMMANDS, main, parse

__all__ = ["COMMANDS", "main", "parse"]
