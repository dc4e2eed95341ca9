"""Whole experiments, one file each: from data to a page that shows our numbers beside the published ones.

`STUDIES` is the one table of the published ones: it makes their commands.
"""

from symbayes.studies.compact import Compact
from symbayes.studies.desk import Desk
from symbayes.studies.mass import Mass
from symbayes.studies.modes import Modes
from symbayes.studies.part import Found, Part
from symbayes.studies.picture import Picture
from symbayes.studies.study import Study
from symbayes.studies.truth import Truth

STUDIES: dict[str, type[Study]] = {study.name: study for study in (Truth, Compact, Modes, Mass, Picture)}

__all__ = ["STUDIES", "Desk", "Found", "Part", "Study"]
