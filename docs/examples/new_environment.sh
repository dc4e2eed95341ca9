#!/usr/bin/env bash
# A wheel of this checkout in a new environment: built, installed, and used from elsewhere.
#
#     PYTHON=python3.13 docs/examples/new_environment.sh [FOLDER]
#
# PYTHON chooses the interpreter (3.11 or later); FOLDER is where the environment is made.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
folder=${1:-$(mktemp -d)}
versions=$("$python" -c 'import sys; print("3.11" if sys.version_info < (3, 12) else "3.12")')

"$python" -m venv "$folder/environment"
pip="$folder/environment/bin/pip --quiet --disable-pip-version-check"
$pip wheel --no-deps --wheel-dir "$folder" "$root"
$pip install --constraint "$root/constraints/python$versions.txt" "$folder"/symbayes-*.whl

# From another folder, so that nothing of the checkout is found by accident.
cd "$folder"
unset PYTHONPATH
bin="$folder/environment/bin"
"$bin/symbayes" --version
"$bin/symbayes" --help >/dev/null
"$bin/symbayes" sample ensemble --epochs 2 --chains 2 --hidden 4 --no-estimate --store runs/small
"$bin/symbayes" report runs/small --max-examples 100 --out page.html
"$bin/python" - <<'END'
import pathlib
import sys

import symbayes as sb

package = pathlib.Path(sb.__file__).parent
assert "site-packages" in str(package), package
assert (package / "py.typed").is_file()
assert pathlib.Path("page.html").read_text().startswith("<!DOCTYPE html>")
assert len(sb.open("runs/small").draws) == 1
print(f"symbayes {sb.__version__} works from a wheel on Python {sys.version.split()[0]}")
END
