"""What the tests share: a quick, repeatable Hypothesis profile; `--hypothesis-profile=long` looks further."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=60, derandomize=True, **UNHURRIED)
settings.register_profile("long", max_examples=2_000, **UNHURRIED)
settings.load_profile("quick")
