"""Train a negotiator: `python train.py --algo ppo --hint llm --config configs/ppo_config.yaml`, the same command as `edgeworth train`."""

import sys

from edgeworth.cli import main

if __name__ == "__main__":
    sys.argv[:1] = ["edgeworth", "train"]
    main()
