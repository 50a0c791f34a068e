"""`edgeworth designer`: all commands about auction designers, those that search or fit (`designers.py`) and those that train."""

from __future__ import annotations

from edgeworth.cli.designer_policy import policy_command
from edgeworth.cli.designer_training import grpo_command, sft_command
from edgeworth.cli.designers import app

app.command("policy")(policy_command)
app.command("sft")(sft_command)
app.command("grpo")(grpo_command)
