"""`python3 experiments/verdict FOLDER`, from a checkout."""

import sys

try:
    from pandora_verdict.__main__ import main
except ModuleNotFoundError as error:
    print(f"experiments/verdict: {error}; `apt-get install python3-scipy python3-h5py` has all of it", file=sys.stderr)
    sys.exit(2)

sys.exit(main())
