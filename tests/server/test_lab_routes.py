"""What the lab page can choose from, over HTTP."""

from __future__ import annotations

from pathlib import Path

from edgeworth.agents.designers.bundled import bundled_mechanism
from running_servers import client_of, settings_in


def test_bundled_mechanisms_are_listed_for_a_number_of_bidders(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        found = {each["name"]: each for each in client.get("/mechanisms").json()["mechanisms"]}
        assert {"informed_greedy", "mixed", "stages", *(f"stage_{stage}" for stage in range(5))} == set(found)
        assert found["stage_3"]["mechanism"] == bundled_mechanism("stage_3").model_dump() and "card" in found["informed_greedy"]["what"]
        few = {each["name"]: each for each in client.get("/mechanisms?n_agents=4").json()["mechanisms"]}
        assert few["mixed"]["mechanism"] == bundled_mechanism("mixed", 3).model_dump() and "found for 3" in few["mixed"]["notes"][0]
        assert client.get("/mechanisms?n_agents=17").status_code == 422
