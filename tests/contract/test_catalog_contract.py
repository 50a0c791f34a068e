"""What every name in the catalog owes: it resolves, and a wrong one is answered with it."""

from __future__ import annotations

import gymnasium
import pytest

import edgeworth
from edgeworth import catalog
from edgeworth.errors import InvalidOption, UnknownName

ENTRIES = [(kind, name) for kind, table in catalog.TABLES.items() for name in table]


@pytest.mark.parametrize(("kind", "name"), ENTRIES, ids=str)
def test_every_entry_resolves_to_something_with_a_docstring(kind: str, name: str) -> None:
    assert catalog.resolve(kind, name).__doc__


@pytest.mark.parametrize(("kind", "name"), ENTRIES, ids=str)
def test_a_mistyped_name_is_answered_with_its_neighbour(kind: str, name: str) -> None:
    with pytest.raises(UnknownName, match=f"Unknown {kind} '{name}x'.*Did you mean '{name}'") as refused:
        catalog.resolve(kind, f"{name}x")
    assert (refused.value.nearest, refused.value.known) == (name, catalog.names(kind))


@pytest.mark.parametrize("wrong", [None, 3, ["heuristic"], ""], ids=str)
def test_what_is_no_name_is_refused(wrong: object) -> None:
    with pytest.raises(UnknownName):
        catalog.resolve("partner", wrong)  # type: ignore[arg-type]


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(InvalidOption, match="no table 'partners'"):
        catalog.names("partners")


@pytest.mark.parametrize("kind", sorted(catalog.TABLES))
def test_every_table_is_in_order(kind: str) -> None:
    assert list(catalog.TABLES[kind]) == catalog.names(kind)


@pytest.mark.parametrize("name", sorted(catalog.PUBLIC))
def test_every_public_name_can_be_imported_from_the_package(name: str) -> None:
    assert getattr(edgeworth, name) is catalog.load(catalog.PUBLIC[name])
    assert name in edgeworth.__all__ and name in dir(edgeworth)


def test_the_package_offers_nothing_that_the_catalog_does_not_list() -> None:
    assert sorted(edgeworth.__all__) == sorted([*catalog.PUBLIC, "__version__"])


def test_the_registered_environments_are_those_of_the_catalog() -> None:
    assert catalog.ENVIRONMENTS.keys() == catalog.VECTOR_ENVIRONMENTS.keys()
    for name, single in catalog.ENVIRONMENTS.items():
        spec = gymnasium.spec(name)
        assert (spec.entry_point, spec.vector_entry_point) == (single, catalog.VECTOR_ENVIRONMENTS[name])


def test_a_class_of_ones_own_gets_a_name_that_no_other_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "TABLES", {"partner": dict(catalog.TABLES["partner"])})
    catalog.register("partner", "mine", "edgeworth.games.bargaining.partners.heuristic:Heuristic")
    assert catalog.resolve("partner", "mine") is catalog.resolve("partner", "heuristic") and "mine" in catalog.names("partner")
    catalog.register("partner", "mine", "edgeworth.games.bargaining.partners.heuristic:Heuristic")
    with pytest.raises(InvalidOption, match="The partner 'random' exists already, as edgeworth"):
        catalog.register("partner", "random", "somewhere:Else")
