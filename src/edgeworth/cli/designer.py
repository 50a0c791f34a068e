"""`edgeworth designer`: all commands about auction designers, those that search or fit (`designers.py`) and those that train."""

from __future__ import annotations

from edgeworth.cli.designer_evaluation import evaluate_command
from edgeworth.cli.designer_policy import policy_command
from edgeworth.cli.designer_publishing import card_command, merge_command, push_command
from edgeworth.cli.designer_training import grpo_command, sft_command
from edgeworth.cli.designers import app
from edgeworth.cli.inference import inference_command

app.command("policy")(policy_command)
app.command("sft")(sft_command)
app.command("grpo")(grpo_command)
app.command("merge")(merge_command)
app.command("card")(card_command)
app.command("push")(push_command)
app.command("evaluate")(evaluate_command)
app.command("inference")(inference_command)
