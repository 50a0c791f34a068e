"""Design a market: `python inference.py --n-episodes 30 --baseline`, the same command as `edgeworth designer inference`."""

import sys

from edgeworth.cli import main

if __name__ == "__main__":
    sys.argv[:1] = ["edgeworth", "designer", "inference"]
    main()
