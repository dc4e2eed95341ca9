"""`python -m symbayes` is the command `symbayes`."""

import sys

from symbayes.cli import main

sys.exit(main())
