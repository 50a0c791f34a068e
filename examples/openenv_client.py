# %% [markdown]
# # An OpenEnv client
#
# Both games are OpenEnv environments: the auction at the root of the server, bargaining under `/bargaining`. Any OpenEnv client plays
# them; this is the generic one, with plain dictionaries. Needs the extra `server`, which contains OpenEnv.

# %%
from __future__ import annotations

import json

from openenv.core import GenericEnvClient
from server_client import own_server

from edgeworth.agents.designers.bundled import bundled_mechanism

# %%
if __name__ == "__main__":
    with own_server() as url:
        with GenericEnvClient(base_url=f"{url}/bargaining").sync() as negotiation:
            result = negotiation.reset(seed=7, scenario="lewis", opens="agent")
            print("pool", result.observation["counts"], "worth to me", result.observation["my_utilities"])
            while not result.done:
                offered = result.observation["last_partner_offer_for_me"]
                points = sum(u * k for u, k in zip(result.observation["my_utilities"], offered, strict=True))
                act = {"act_type": 2, "oA": [0, 0, 0]} if points >= 3 else {"act_type": 0, "oA": result.observation["counts"]}
                result = negotiation.step(act)
            print("ended:", result.metadata["end_reason"], "with", result.reward, "points")

        with GenericEnvClient(base_url=url).sync() as market:
            result = market.reset(seed=7, stage=4, episode_length=2)
            mechanism = bundled_mechanism("mixed").model_dump()
            while not result.done:
                result = market.step(mechanism)
                parts = {name: round(value, 3) for name, value in result.metadata["components"].items()}
                print(f"\nR {result.reward:.3f}", json.dumps(parts))
