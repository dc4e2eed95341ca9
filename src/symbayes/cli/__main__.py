"""`python -m symbayes.cli` is the command `symbayes`."""

import sys

from symbayes.cli import main

sys.exit(main())
