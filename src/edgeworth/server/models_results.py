"""Replies of the routes that show results and studies."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Estimate(BaseModel):
    """A score with its interval."""

    value: float
    low: float | None = Field(None, description="The lower end of its 95 % interval; null where there is none.")
    high: float | None = None
    n: int = Field(description="How many episodes, contexts or training runs it is from.")


class ResultSource(BaseModel):
    """The file that scores are from."""

    file: str = Field(description="Its name in the folder of results.")
    command: str | None = Field(description="The command that writes it.")
    quantity: str | None = Field(description="What the scores are.")
    seeds: str | None


class ResultRow(BaseModel):
    """An agent's scores."""

    name: str
    title: str
    yardstick: bool = Field(description="Whether it says how good a score is: an end of the scale, or a rule that does not learn.")
    on_axis: bool = Field(description="Whether it is one of the few that suffice as marks of an axis.")
    cells: list[Estimate | None] = Field(description="One for each column; null where it was not measured.")


class ResultTable(BaseModel):
    """Scores of agents in several populations or scenarios."""

    name: str
    title: str
    columns: list[str]
    rows: list[ResultRow]
    sources: list[ResultSource]
    notes: list[str]


class Results(BaseModel):
    """All tables for which this server has files."""

    tables: list[ResultTable]


class Study(BaseModel):
    """A page in Markdown."""

    name: str = Field(description="For GET /studies/{name}.")
    title: str


class Studies(BaseModel):
    """All pages that this server has."""

    studies: list[Study]
