"""Dialogue acts: what people write while they bargain, as acts and splits of the game, with a confidence.

`words` (spelling) → `mentions` (which items, how many) → `owners` (who gets them) → `offers` (a whole split) → `acts` (the act);
`talk` keeps the state.
"""

from edgeworth.games.bargaining.dialogue_acts.offers import Evidence
from edgeworth.games.bargaining.dialogue_acts.talk import Reading, Talk, read_talk

__all__ = ["Evidence", "Reading", "Talk", "read_talk"]
