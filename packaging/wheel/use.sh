#!/usr/bin/env bash
# In a system that has Python alone: a wheel (/taken) installed, its command, the tutorial, and the package's tests by each level.
set -euo pipefail
cd "$(dirname "$0")/../.."
! command -v g++ cc mpirun h5dump
python3 -m venv /venv
/venv/bin/pip install --quiet "pandora-box[plot,pandas,postgres,serving,study] @ file://$(ls /taken/*.whl)" --requirement python/requirements-checks.txt
cd "$(mktemp -d)"  # the package that is installed, not the folder beside
/venv/bin/pandora reproduce --replications 1 --periods 500 --quiet --out reproduced >/dev/null
/venv/bin/python /pandora/python/examples/tutorial.py tutorial >/dev/null
/venv/bin/python -X importtime -c 'import pandora' 2>&1 | tail -1
cd /pandora/python
best=$(/venv/bin/pandora --version | sed -n 's/.*-march=x86-64-\(v.\).*/\1/p')
for level in ${best:+v2 v3 v4}; do
  [[ $level > $best ]] || PANDORA_LEVEL=$level PANDORA=/venv/bin/pandora /venv/bin/python -m pytest --quiet --numprocesses "$(nproc)" --dist loadfile tests
done
