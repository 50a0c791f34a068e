"""Writes the tables of `results/` into their places in the pages, so that no number is typed by hand; a test compares."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README, SPEED, AUCTION = ROOT / "README.md", ROOT / "docs" / "speed.md", ROOT / "docs" / "games" / "auction.md"
POCKET, TRAINING, DESIGNER = (ROOT / "docs" / f"{name}.md" for name in ("pocket", "training", "designer"))
BLOG, BELIEFS = ROOT / "docs" / "blog.md", ROOT / "docs" / "beliefs.md"
PAGE, RESULTS = ROOT / "docs" / "page.md", ROOT / "docs" / "results.md"
SCALING = ROOT / "docs" / "scaling.md"
TOURNAMENT = ROOT / "docs" / "tournament.md"
SELF_PLAY = ROOT / "docs" / "self_play.md"
DIALOGUE_ACTS, IMITATION = ROOT / "docs" / "dialogue_acts.md", ROOT / "docs" / "imitation.md"
HINT_STUDY = ROOT / "docs" / "studies" / "hints.md"
SCENARIOS = ("classic", "one_shot", "discounted", "walkaway", "lewis", "lewis_keep_all")
AGENTS = ("oracle", "bayes", "concession", "agree_first", "random", "greedy")
MAIN_ENTRIES = ("vector_1024", "inner_loop", "single_step", "plain_step", "plain_play", "numpy_1024", "openspiel")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(cell if cell == "---" else f" {cell} " if cell else " " for cell in line) + "|" for line in lines)


def yardstick_table(result: dict[str, Any]) -> str:
    """The scale of every scenario, one column each."""
    columns = {table["scenario"]: {row["agent"]: row for row in table["rows"]} for table in result["scenarios"]}
    rows = ([columns[SCENARIOS[0]][agent]["label"], *(f"{columns[name][agent]['value']:.3f}" for name in SCENARIOS)] for agent in AGENTS)
    return markdown(["agent", *(f"`{name}`" for name in SCENARIOS)], rows)


def partners_table(*results: dict[str, Any]) -> str:
    """The scale with partners whose counter-offers reveal something: bounds, the belief agent and others, by scenario and partner."""
    games = [game for result in results for game in result["games"]]
    labels = {row["agent"]: row["label"] for row in games[0]["rows"]}
    rows = []
    for game in games:
        found = {row["agent"]: _score(row, not game["exact"]) for row in game["rows"]}
        found["bayes"] += " (the best)" if game.get("optimal") else ""
        rows.append([f"`{game['scenario']}`, {game['partner']}", *(found[agent] for agent in labels)])
    return markdown(["game", *labels.values()], rows)


def designers_table(result: dict[str, Any]) -> str:
    """Every designer on every population; one that played fewer episodes than the others with their number and its intervals."""
    populations = result["populations"]
    scores = {name: {row["designer"]: row["score"] for row in rows} for name, rows in populations.items()}
    rows = []
    for designer in _designers(result):
        first = next(found[designer] for found in scores.values() if designer in found)
        fewer = first["n"] < result["episodes"]
        label = f"{designer}, {first['n']:,} episodes" if fewer else designer
        rows.append([label, *(_score(found[designer], fewer) if designer in found else "–" for found in scores.values())])
    return markdown(["designer", *(f"`{name}`" for name in populations)], rows)


def _designers(result: dict[str, Any]) -> list[str]:
    """Every designer of the scale, in the order of its rows."""
    return list(dict.fromkeys(row["designer"] for rows in result["populations"].values() for row in rows))


def _score(score: dict[str, float], with_interval: bool) -> str:
    half = max(score["high"] - score["value"], score["value"] - score["low"])
    return f"{score['value']:.3f} ± {half:.3f}" if with_interval else f"{score['value']:.3f}"


def evaluation_table(result: dict[str, Any]) -> str:
    """Every designer in every cell of the evaluation of trained designers, and its share of the way on the stages."""
    cells = {name: {row["designer"]: row for row in rows} for name, rows in result["populations"].items()}
    shares = {row["designer"]: row["g"] for rows in result["populations"].values() for row in rows if row["g"] is not None}
    lines = []
    for designer in _designers(result):
        g = f"{shares[designer]['value']:.2f}" if designer in shares else "–"
        lines.append([designer, g, *(_score(rows[designer]["score"], True) if designer in rows else "–" for rows in cells.values())])
    return markdown(["designer", "g", *cells], lines)


def evaluation_targets_table(result: dict[str, Any]) -> str:
    """The targets of trained designers."""
    rows = ([row["target"], row["wanted"], row["found"], "yes" if row["met"] else "no"] for row in result["targets"])
    return markdown(["", "target", "found, with 95 % interval", "met"], rows)


def grpo_gains_table(results: Mapping[str, dict[str, Any]]) -> str:
    """What models gained over the one before GRPO, with intervals; results by what a model is called."""
    marker, lines = ": over language model before GRPO", []
    for label, result in results.items():
        gains = {row["target"].partition(marker)[0].partition(", ")[2]: row for row in result["targets"] if marker in row["target"]}
        lines.append([label, *(row["found"] for row in gains.values())])
    return markdown(["gain over the model before GRPO", *gains], lines)


def gains_table(result: dict[str, Any]) -> str:
    """Gain of every designer except the baselines over the best constant, with intervals."""
    populations = [name for name in ("stages", "mixed", "dirichlet", "held_out") if name in result["populations"]]
    rows = []
    for designer in _designers(result):
        if designer.startswith(("best constant", "informed_greedy", "uniform")):
            continue
        cells = []
        for name in populations:
            gains = [row["over_best_constant"] for row in result["populations"][name] if row["designer"] == designer]
            cells.append(_interval(gains[0], "+.3f") if gains else "–")
        rows.append([designer, *cells])
    return markdown(["over the best constant", *(f"`{name}`" for name in populations)], rows)


def schedules_table(result: dict[str, Any]) -> str:
    """Gain of the best schedule over the best constant of the same population, with intervals."""
    gains = result.get("schedule_over_best_constant", {})
    return markdown(
        ["population", "best schedule over best constant"], ([f"`{name}`", _interval(gain, "+.3f")] for name, gain in gains.items())
    )


def robustness_table(result: dict[str, Any]) -> str:
    """Each conclusion by stage: the effect in the calibrated market, and in how many changed worlds it has the same clear sign."""
    stages = list(result["best_formats"])
    found = {(c["what"], c["stage"]): f"{c['calibrated']['value']:+.3f}, {c['survives']}" for c in result["conclusions"]}
    effects = dict.fromkeys(c["what"] for c in result["conclusions"])
    rows = [[what, *(found.get((what, stage), "unclear") for stage in stages)] for what in effects]
    best = [f"{kind}, {worlds}" for kind, worlds in (max(result["best_formats"][s].items(), key=lambda item: item[1]) for s in stages)]
    return markdown(["effect on R", *(f"stage {stage}" for stage in stages)], [*rows, ["the best format", *best]])


def rates_table(result: dict[str, Any], names: tuple[str, ...], unit: str = "steps", clock: str = "CPU second") -> str:
    """Steps or designs per second of a clock, with quartiles."""
    entries = [result["entries"][name] for name in names]
    rows = ([entry["label"], _rounded(entry["median"]), _quartiles(entry, _rounded)] for entry in entries)
    return markdown(["", f"{unit} per {clock}", "quartiles"], rows)


def server_table(result: dict[str, Any]) -> str:
    """Steps per second, latencies and the server's processor time, by contender, way and number of sessions."""
    lines = ["| | steps per second | quartiles | p50 ms | p99 ms | server CPU µs a step |", "|---|---|---|---|---|---|"]
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        p50, p99, cpu = (entry[name]["median"] for name in ("p50", "p99", "server_cpu_microseconds"))
        rate = f"{_rounded(entry['median'])} | {_rounded(low)} – {_rounded(high)}"
        lines.append(f"| {entry['label']} | {rate} | {p50:.3g} | {p99:.3g} | {cpu:.0f} |")
    return "\n".join(lines)


def responsiveness_table(result: dict[str, Any]) -> str:
    """How long steps take while a language model is idle and while it writes."""
    found = result["responsiveness"]
    if "not_measured" in found:
        return f"| steps while a language model writes |\n|---|\n| not measured: {found['not_measured']} |"
    lines = [f"| {found['sessions']} sessions over HTTP, while | p50 ms | p99 ms | quartiles | steps |", "|---|---|---|---|---|"]
    for entry in found["turns"].values():
        low, high = entry["p99"]["interquartile_range"]
        p50, p99 = (entry[name]["median"] for name in ("p50", "p99"))
        lines.append(f"| {entry['label']} | {p50:.3g} | {p99:.3g} | {low:.3g} – {high:.3g} | {entry['steps']:,} |")
    return "\n".join(lines)


def sweep_table(result: dict[str, Any]) -> str:
    """How long steps take while idle sessions expire and while none do."""
    head = f"| {result['players']} sessions over HTTP, while | p50 ms | p99 ms | p99.9 ms | longest of all, ms | over 50 ms | steps |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for entry in result["turns"].values():
        times = " | ".join(f"{entry[name]['median']:.3g}" for name in ("p50", "p99", "p999"))
        lines.append(f"| {entry['label']} | {times} | {max(entry['longest']['values']):.3g} | {entry['over_50_ms']} | {entry['steps']:,} |")
    return "\n".join(lines)


def soak_table(*results: dict[str, Any]) -> str:
    """Kills, steps and recovery times of several soak tests, side by side."""

    def line(name: str, found: Callable[[dict[str, Any]], object]) -> str:
        return " | ".join([f"| {name}", *(str(found(result)) for result in results)]) + " |"

    def recovery(how: str) -> Callable[[dict[str, Any]], str]:
        def told(result: dict[str, Any]) -> str:
            times = result["recovery_seconds"].get(how)
            return "" if times is None else f"median {times['median']:.2f}, longest {times['longest']:.2f}"

        return told

    def counted(what: str) -> Callable[[dict[str, Any]], str]:
        def told(result: dict[str, Any]) -> str:
            kinds = ", ".join(f"{count} × {how}" for how, count in result.get(f"{what}_by_kind", {}).items())
            return f"{result[what]} ({kinds})" if kinds else str(result.get(what, ""))

        return told

    def steps(result: dict[str, Any]) -> str:
        taken = result.get("step_seconds")
        return "" if taken is None else f"p50 {taken['p50']:.3f}, p99 {taken['p99']:.3f}, longest {taken['longest']:.1f}"

    def memory(result: dict[str, Any]) -> str:
        found = {name: f"{size / 2**20:,.0f}" for name, size in result.get("memory", {}).items()}
        return f"worst {found['worst']}, final {found['final']}, bound {found['bound']}" if found else ""

    ways = {
        how: f"killing {how}" if how in result["kills_by_kind"] else how for result in results for how in sorted(result["recovery_seconds"])
    }
    return "\n".join(
        [
            line(
                "", lambda each: f"{each['seconds']:,.0f} seconds, {each['workers']} worker{'s' * (each['workers'] > 1)}, {each['store']}"
            ),
            "|---" * (len(results) + 1) + "|",
            line(
                "load average of the last five minutes, its own included",
                lambda each: f"{each['machine']['load_average'][1]:.1f} on {each['machine']['cores']} cores",
            ),
            line("sessions at a time", lambda each: each["sessions"]),
            line("kills", counted("kills")),
            line("restarts", counted("restarts")),
            line("outages", counted("outages")),
            line("hostile connections", counted("hostile_connections")),
            line("steps acknowledged", lambda each: f"{each['steps_acknowledged']:,}"),
            line("executed, reply not received", lambda each: f"{each['steps_carried_out_unheard']:,}"),
            line("lost", lambda each: each["steps_lost"]),
            line("executed twice", lambda each: each["steps_doubled"]),
            line("replies that differ from a replay", lambda each: each["mismatches"]),
            line("server errors", lambda each: each["server_errors"]),
            line("seconds of an acknowledged step", steps),
            line("memory of the server, MiB", memory),
            *(line(f"seconds to the next reply after {words}", recovery(how)) for how, words in ways.items()),
        ]
    )


def quality_table(result: dict[str, Any]) -> str:
    """CPU seconds to the goal, with quartiles over the seeds."""
    quality = result["quality"]
    lines = [f"| | CPU seconds to {quality['goal']:.3f} of the maximum | quartiles | steps | reached |", "|---|---|---|---|---|"]
    for entry in quality["entries"].values():
        low, high = entry["interquartile_range"]
        reached, steps = f"{sum(entry['reached'])} of {len(entry['reached'])}", _rounded(median(entry["moves"]))
        lines.append(f"| {entry['label']} | {entry['median']:.3g} | {low:.3g} – {high:.3g} | {steps} | {reached} |")
    return "\n".join(lines)


def seconds_table(result: dict[str, Any]) -> str:
    """The seconds of every entry."""
    lines = ["| | seconds | quartiles |", "|---|---|---|"]
    for entry in result["entries"].values():
        low, high = entry["interquartile_range"]
        lines.append(f"| {entry['label']} | {entry['median']:.3g} | {low:.3g} – {high:.3g} |")
    return "\n".join(lines)


def targets_table(result: dict[str, Any]) -> str:
    """What was measured against its target; a ratio without a target is only reported."""
    lines = ["| | measured | quartiles | target | met |", "|---|---|---|---|---|"]
    for row in result["targets"]:
        low, high = row["interquartile_range"]
        wanted = "–" if row["target"] is None else f"{row['relation']} {row['target']:g}"
        met = "–" if row["target"] is None else "yes" if row["met"] else "no"
        lines.append(f"| {row['name']} | {row['median']:.3g} {row['unit']} | {low:.3g} – {high:.3g} | {wanted} | {met} |")
    return "\n".join(lines)


def hints_table(result: dict[str, Any]) -> str:
    """The measures of every hint provider."""
    lines = ["| hints from | legal | same move as the Bayes plan | share of maximum | of the plan's |", "|---|---|---|---|---|"]
    for row in result["measures"]:
        cells = (_score(row[name], with_interval=True) for name in ("legality", "same_move", "share_of_maximum", "over_bayes"))
        lines.append(f"| {row['adviser']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pocket_table(result: dict[str, Any]) -> str:
    """The pocket model on unseen contexts and markets, free and constrained."""
    hints, mechanisms = result["hints"], result["mechanisms"]
    ways = ("free", "held")
    rows = {
        "hints requested": [f"{hints[way]['asked']:,}" for way in ways],
        "legal hints": [_score(hints[way]["legality"], True) for way in ways],
        "the same move as the Bayes plan": [_score(hints[way]["same_move"], True) for way in ways],
        "reward, of the plan's": [_score(hints[way]["over_bayes"], True) for way in ways],
        **{f"reward, of the plan's: {name}": ["", _score(one["over_bayes"], True)] for name, one in result.get("variants", {}).items()},
        "mechanisms requested": [f"{mechanisms[way]['asked']:,}" for way in ways],
        "legal mechanisms": [_score(mechanisms[way]["legality"], True) for way in ways],
        "score R": [_score(mechanisms[way]["score"], True) for way in ways],
        "R over the best constant": [_score(mechanisms[way]["over_best_constant"], True) for way in ways],
    }
    return "\n".join(["| | free | constrained |", "|---|---|---|", *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])


def pocket_targets_table(result: dict[str, Any]) -> str:
    """Targets of the pocket model, and its scores with free and with constrained decoding."""
    places = {
        "legal hints": ("hints", "legality", "hint_legality"),
        "legal mechanisms": ("mechanisms", "legality", "mechanism_legality"),
        "reward of an agent that follows its hints, of the Bayes plan's": ("hints", "over_bayes", "hint_over_bayes"),
        "score R on the mixture of the stages": ("mechanisms", "score", "mechanism_score"),
    }
    lines = ["| | target | free | met | constrained | met |", "|---|---|---|---|---|---|"]
    for words, (game, quantity, name) in places.items():
        target, cells = result["targets"][name]["target"], []
        for way in ("free", "held"):
            found = result[game][way][quantity]
            cells += [f"{found['value']:.4f} ({found['low']:.4f} to {found['high']:.4f})", "yes" if found["value"] >= target else "no"]
        lines.append(f"| {words} | >= {target:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def negotiators_table(result: dict[str, Any]) -> str:
    """Scores of trained agents, with their targets."""
    lines = [
        "| agent | share of maximum | blind Bayes | below Bayes | deals | moves trained | CPU seconds per run | target | met |",
        "|---" * 9 + "|",
    ]
    for cell in result["cells"]:
        share, below, bayes = cell["share_of_maximum"], cell["below_bayes"], cell["yardsticks"]["bayes"]
        spent = _cpu_seconds(cell["seeds"])
        asked = {"share_of_maximum": "share", "below_bayes": "below Bayes"}
        wanted = "; ".join(f"{asked[target['name']]} {target['relation']} {target['target']:g}" for target in cell["targets"]) or "–"
        reached = "; ".join("yes" if target["met"] else "no" for target in cell["targets"]) or "–"
        lines.append(
            f"| {cell['name']} | {share['value']:.4f} ({share['low']:.4f} to {share['high']:.4f}) | {bayes:.4f} | {below['value']:.4f}"
            f" | {cell['deal_rate']['value']:.3f} | {cell['moves']:,} | {spent} | {wanted} | {reached} |"
        )
    return "\n".join(lines)


def parsing_table(result: dict[str, Any]) -> str:
    """How often the last offer of an agreed dialogue is the deal."""
    lines = ["| part | distinct dialogues | agreed | the last offer is the deal | 95 % interval |", "|---|---|---|---|---|"]
    for name, part in result["parts"].items():
        found = part["accuracy"]
        interval = f"{found['low']:.3f} to {found['high']:.3f}"
        lines.append(f"| {name} | {part['dialogues']:,} | {part['agreed']:,} | {found['value']:.3f} | {interval} |")
    return "\n".join([*lines, f"| published rule parser, all | – | 4,766 | {result['published']:.3f} | – |"])


def evidence_table(result: dict[str, Any]) -> str:
    """The confidence of an offer against how often it was the deal."""
    parts = ("train", "val", "test")
    rows = {name: {(row["evidence"], row["confidence"]): row for row in result["parts"][name]["by_evidence"]} for name in parts}
    lines = ["| the last offer rests on | confidence | " + " | ".join(parts) + " |", "|---" * (len(parts) + 2) + "|"]
    for row in result["parts"]["all"]["by_evidence"]:
        found = [rows[name].get((row["evidence"], row["confidence"])) for name in parts]
        cells = ["–" if one is None else f"{one['share']:.3f} of {one['n']:,}" for one in found]
        lines.append(f"| {row['evidence']} | {row['confidence']:.2f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def phenomena_table(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Sentences outside development by phenomenon: read right before the rules were mended and now, and what became of the others."""
    files = [name for name in after if name != "development_utterances"]
    lines = ["| phenomenon | sentences | right before | right now | asked back | misread |", "|---" * 6 + "|"]
    for phenomenon in after[files[0]]["by_phenomenon"]:
        with_it = [name for name in files if phenomenon in after[name]["by_phenomenon"]]
        old, new = ([found[name]["by_phenomenon"][phenomenon] for name in with_it] for found in (before, after))
        counts = [
            sum(row[key] for row in rows) for rows, key in ((new, "n"), (old, "right"), (new, "right"), (new, "asked"), (new, "misread"))
        ]
        lines.append(f"| {phenomenon} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def sureness_table(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Accuracy, and how often readings at .95 or more are right, by file of sentences."""
    lines = ["| sentences | n | right before | right now | 95 % interval | at .95 or more before | at .95 or more now |", "|---" * 7 + "|"]
    for name, new in after.items():
        old, found = before[name], new["accuracy"]
        sure = [f"{one['very_sure']['value']:.3f} of {one['very_sure']['n']}" for one in (old, new)]
        span = f"{found['low']:.3f} to {found['high']:.3f}"
        shares = f"{old['accuracy']['value']:.3f} | {found['value']:.3f} | {span} | " + " | ".join(sure)
        lines.append(f"| {name.removesuffix('_utterances').replace('_', ' ')} | {new['utterances']} | {shares} |")
    return "\n".join(lines)


def confusion_table(result: dict[str, Any]) -> str:
    """Labelled utterances by act: as labelled down, as read across."""
    confusion = result["labelled"]["labelled_utterances"]["confusion"]
    lines = ["| labelled | " + " | ".join(confusion) + " |", "|---" * (len(confusion) + 1) + "|"]
    return "\n".join(
        [*lines, *(f"| {name} | " + " | ".join(str(n or "·") for n in row.values()) + " |" for name, row in confusion.items())]
    )


def last_act_table(result: dict[str, Any]) -> str:
    """The act of the last utterance, by how the dialogue ended."""
    ended = result["parts"]["all"]["last_act"]
    lines = ["| last act | " + " | ".join(ended) + " |", "|---" * (len(ended) + 1) + "|"]
    return "\n".join([*lines, *(f"| {act} | " + " | ".join(f"{row[act]:,}" for row in ended.values()) + " |" for act in ended["agreed"])])


def misses_table(result: dict[str, Any]) -> str:
    """How the last offer differs from the deal."""
    misses = result["parts"]["all"]["misses"]
    return "\n".join(
        ["| the last offer and the deal differ in | dialogues |", "|---|---|", *(f"| {kind} | {n:,} |" for kind, n in misses.items())]
    )


def policy_table(result: dict[str, Any]) -> str:
    """The policy designer on every population, and its paired differences to the better constant and the better adaptive designer."""
    rows = []
    for name, row in result["scores"]["populations"].items():
        gains = (row[key] for key in ("over_best_constant", "over_adaptive"))
        differences = (f"{gain['value']:+.4f} ({gain['low']:+.4f} to {gain['high']:+.4f})" for gain in gains)
        rows.append([f"`{name}`", *(f"{row[key]['value']:.4f}" for key in ("score", "best_constant", "adaptive")), *differences])
    return markdown(["population", "`policy`", "best constant", "`adaptive`", "over the best constant", "over `adaptive`"], rows)


def policy_bidders_table(result: dict[str, Any]) -> str:
    """The policy designer's differences with other numbers of bidders."""
    rows = []
    for number, populations in result["with_other_numbers_of_bidders"].items():
        cells = (populations[name][key] for key in ("over_best_constant", "over_adaptive") for name in ("stages", "held_out"))
        rows.append([number, *(f"{cell['value']:+.4f} ({cell['low']:+.4f} to {cell['high']:+.4f})" for cell in cells)])
    over = [f"over {other}, `{name}`" for other in ("the best constant", "`adaptive`") for name in ("stages", "held_out")]
    return markdown(["bidders", *over], rows)


def policy_curve_table(result: dict[str, Any]) -> str:
    """Some points of the policy designer's curve."""
    curve = result["curve"]
    names = [name for name in curve[0] if name.startswith("validation_")]
    points = curve[:: max(1, len(curve) // 6)]
    points += [curve[-1]] if points[-1] is not curve[-1] else []
    rows = ([f"{point['steps']:,}", *(f"{point[name]:.4f}" for name in names)] for point in points)
    return markdown(["steps", *(f"`{name.removeprefix('validation_')}`" for name in names)], rows)


def _cpu_seconds(runs: list[dict[str, Any]]) -> str:
    """The mean over runs; none of old ones, which did not measure it."""
    return f"{_mean_of(runs, 'cpu_seconds'):.0f}" if "cpu_seconds" in runs[0] else "–"


def experts_table(result: dict[str, Any]) -> str:
    """Scores of the bundled experts."""
    rows = []
    for cell in result["cells"]:
        (run,) = cell["seeds"]
        share = run["share_of_maximum"]
        shown = f"{share['value']:.4f}" if result.get("exact") else _interval(share, ".4f")
        scores = (f"{score:.4f}" for score in (cell["yardsticks"]["bayes"], run["below_bayes"]))
        rows.append([f"`{cell['scenario']}`", shown, *scores, f"{cell['moves']:,}", _cpu_seconds([run])])
    return markdown(["scenario", "share of maximum", "blind Bayes", "below Bayes", "moves trained", "CPU seconds"], rows)


def memory_table(result: dict[str, Any]) -> str:
    """Agents that remember by partner: specialists and generalists between the belief agent and the upper bound."""
    cells = {cell["name"]: cell for cell in result["cells"]}
    rows = []
    for scale in result["scales"]:
        partner, found = scale["partner"], {row["agent"]: row["value"] for row in scale["rows"]}
        bound = min(found["told_partner"], found["told_replies"])
        own, general = (_over_seeds(cells[name]["against"][partner]) if name in cells else "–" for name in (partner, "generalist"))
        rows.append([partner, *(f"{value:.3f}" for value in (bound, found["bayes"])), own, general])
    return markdown(["partner", "upper bound", "belief agent", "trained against it", "generalist"], rows)


def memory_targets_table(result: dict[str, Any]) -> str:
    """Specialists and the generalist against the partners they were trained with, on fresh episodes, with what they cost."""
    rows = []
    for cell in result["cells"]:
        target = next(iter(cell["targets"]), None)
        wanted = ["–", "–"] if target is None else [f"{target['relation']} {target['target']:g}", "yes" if target["met"] else "no"]
        spent = [f"{cell['negotiations']:,}", f"{_mean_of(cell['seeds'], 'cpu_seconds'):.0f}"]
        rows.append([cell["name"], _over_seeds(cell["share_of_maximum"]), f"{cell['deal_rate']['value']:.3f}", *spent, *wanted])
    return markdown(["trained against", "share of maximum", "deals", "negotiations", "CPU seconds per run", "target", "met"], rows)


def dropout_table(result: dict[str, Any]) -> str:
    """What agents that learnt with hints get with them and without."""
    rows = []
    for cell in result["cells"]:
        without = cell.get("played_with", {}).get("none")
        share, left = cell["share_of_maximum"], ["–", "–"]
        if without is not None:
            alone = without["share_of_maximum"]
            left = [_over_seeds(alone), f"{alone['value'] / share['value']:.1%}"]
        rows.append([cell["values"]["hints"], _over_seeds(share), *left])
    return markdown(["hints in training", "played with them", "played without", "kept"], rows)


def _over_seeds(found: dict[str, float]) -> str:
    return f"{found['value']:.4f} ({found['low']:.4f} to {found['high']:.4f})"


def moves_table(result: dict[str, Any]) -> str:
    """The moves of people by act, and where they come from."""
    parts = result["parts"]
    lines = ["| | " + " | ".join(parts) + " |", "|---" * (len(parts) + 1) + "|"]
    rows = {"dialogues": [row["talks"] for row in parts.values()], "utterances": [row["utterances"] for row in parts.values()]}
    acts = parts["train"]["moves_by_act"]
    for act, sources in acts.items():
        for source in sources:
            rows[f"{act}, {source}"] = [row["moves_by_act"][act].get(source, 0) for row in parts.values()]
    rows["**moves**"] = [row["moves"] for row in parts.values()]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |" for name, numbers in rows.items())])


def left_out_table(result: dict[str, Any]) -> str:
    """What in people's dialogues is no move, by reason."""
    parts = result["parts"]
    lines = ["| left out | " + " | ".join(parts) + " |", "|---" * (len(parts) + 1) + "|"]
    for reason in parts["train"]["left_out"]:
        cells = (f"{row['left_out'][reason]:,} ({row['left_out'][reason] / row['utterances']:.1%})" for row in parts.values())
        lines.append(f"| {reason} | " + " | ".join(cells) + " |")
    for key, words in (("talks_cut_short", "dialogues cut short"), ("talks_without_moves", "dialogues without a move")):
        lines.append(f"| {words} | " + " | ".join(f"{row[key]:,}" for row in parts.values()) + " |")
    return "\n".join(
        [*lines, "| moves directly after one's own | " + " | ".join(f"{row['moves_after_ones_own']:,}" for row in parts.values()) + " |"]
    )


def imitation_table(result: dict[str, Any]) -> str:
    """How well the clone predicts people, against predictions that know nothing of the situation."""
    parts = result["held_out"]
    lines = ["| | " + " | ".join(parts) + " |", "|---" * (len(parts) + 1) + "|"]
    lines.append("| dialogues, moves | " + " | ".join(f"{row['talks']:,}, {row['moves']:,}" for row in parts.values()) + " |")
    for words, *path in (
        ("log-likelihood: clone", "log_likelihood", "clone"),
        ("log-likelihood: marginal", "log_likelihood", "marginal"),
        ("log-likelihood: uniform", "log_likelihood", "uniform"),
        ("clone − marginal", "over_marginal"),
        ("clone − uniform", "over_uniform"),
        ("act accuracy: clone", "act_accuracy", "clone"),
        (f"act accuracy: always {result['majority']}", "act_accuracy", "majority"),
        ("share accuracy: clone", "share_accuracy", "clone"),
        ("share accuracy: marginal", "share_accuracy", "marginal"),
    ):
        found = [row[path[0]] if len(path) == 1 else row[path[0]][path[1]] for row in parts.values()]
        lines.append(f"| {words} | " + " | ".join(_interval(one) for one in found) + " |")
    return "\n".join(lines)


def imitation_acts_table(result: dict[str, Any]) -> str:
    """The held-out moves act by act, on the last part that was measured."""
    rows = list(result["held_out"].values())[-1]["by_act"]
    lines = [
        "| act | made | predicted | recall | log-likelihood of the act: clone, marginal | share right: clone, marginal |",
        "|---" * 6 + "|",
    ]
    for row in rows:
        logs, hits = row["act_log_likelihood"], row["share_accuracy"]
        cells = (
            f"{row['made']:,}",
            f"{row['guessed']:,}",
            "–" if row["found"] is None else f"{row['found']:.3f}",
            "–" if logs is None else f"{logs['clone']:.2f}, {logs['marginal']:.2f}",
            "–" if hits is None else f"{hits['clone']:.3f}, {hits['marginal']:.3f}",
        )
        lines.append(f"| {row['act']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def imitation_play_table(result: dict[str, Any]) -> str:
    """How the clone plays, beside random legal play and people."""
    labels = {"likeliest": "clone, likeliest moves", "sampled": "clone, moves drawn", "random": "random legal play"}
    lines = ["| | points | deals | efficient, of deals |", "|---|---|---|---|"]
    rows = {labels[name]: row for name, row in result["play"]["agents"].items()}
    rows |= {f"people ({part})": row for part, row in result["people"].items()}
    for label, row in rows.items():
        lines.append(f"| {label} | " + " | ".join(_interval(row[key]) for key in ("reward", "deal_rate", "pareto_rate")) + " |")
    return "\n".join(lines)


def tournament_table(result: dict[str, Any]) -> str:
    """The scores of a tournament: over all scenarios with ranks, and in each; none where a negotiator cannot play."""
    scores = {table["scenario"]: {row["name"]: row["score"]["value"] for row in table["scores"]} for table in result["scenarios"]}
    lines = ["| negotiator | rank | all scenarios | " + " | ".join(f"`{name}`" for name in scores) + " |", "|---" * (len(scores) + 3) + "|"]
    for row in result["overall"]:
        cells = (f"{found[row['name']]:.3f}" if row["name"] in found else "–" for found in scores.values())
        lines.append(f"| `{row['name']}` | {_ranks(row['ranks'])} | {_interval(row['score'])} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ranks(ranks: list[int]) -> str:
    """`2`, or `2–4`."""
    first, last = ranks
    return str(first) if first == last else f"{first}–{last}"


def ranking_table(result: dict[str, Any]) -> str:
    """The ranking over distinct games, the places with one negotiator left out, and α-rank."""
    strengths = list(result["ranking"][0]["alpha_rank"])
    again = result.get("training_seeds", [])
    rows = []
    for row in result["ranking"]:
        masses = (f"{row['alpha_rank'][strength]:.3f}" for strength in strengths)
        over = row.get("over_training_seeds")
        trained = [] if over is None else [_interval(over["score"]), _ranks(over["places"])]
        rows.append([str(row["place"]), f"`{row['name']}`", f"{row['score']:.3f}", _ranks(row["left_out"]), *masses, *trained])
    header = ["place", "negotiator", "score", "places with one other left out", *(f"α-rank, strength {strength}" for strength in strengths)]
    return markdown([*header, *([f"score over {1 + len(again)} training seeds", "places"] if again else [])], rows)


def seats_table(result: dict[str, Any], scenario: str) -> str:
    """One scenario of a tournament: scores by seat, deals and Nash ratio, and the scores against the scenario's own partner."""
    (table,) = (table for table in result["scenarios"] if table["scenario"] == scenario)
    own = {row["agent"]: row["agent_share"] for row in table["with_own_partner"]}
    lines = ["| negotiator | score | as agent | as partner | deals | Nash ratio | with the scenario's own partner |", "|---" * 7 + "|"]
    for row in table["scores"]:
        found = [row[name] for name in ("score", "as_agent", "as_partner", "deal_rate", "nash_ratio")]
        lines.append(f"| `{row['name']}` | " + " | ".join(_score(cell, True) for cell in [*found, own[row["name"]]]) + " |")
    return "\n".join(lines)


def self_play_table(result: dict[str, Any]) -> str:
    """Self-play agents against themselves, and their exploitability; the bundled expert for comparison."""
    columns = [(f"{row['game']}, {kind}", found) for row in result["games"] for kind, found in row["kinds"].items()]
    columns.append((f"{result['reference']['game']}, {result['reference']['name']}", result["reference"]))
    lines = ["| | " + " | ".join(name for name, _ in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for key, words in (
        ("deal_rate", "deals"),
        ("pareto_rate", "efficient, of deals"),
        ("nash_ratio", "Nash ratio"),
        ("opener_share", "share of maximum: opener"),
        ("responder_share", "share of maximum: responder"),
        ("length", "moves"),
        ("exploitability_trained", "exploitability found by a trained response (a lower bound)"),
        ("exploitability_exact", "exploitability (exact response)"),
    ):
        lines.append(f"| {words} | " + " | ".join("–" if found[key] is None else _interval(found[key]) for _, found in columns) + " |")
    return "\n".join(lines)


def self_play_others_table(result: dict[str, Any]) -> str:
    """Scores of self-play agents against others, and the pool's gain over naive self-play."""
    lines = ["| share of maximum | against | pool | naive | pool − naive | expert |", "|---" * 6 + "|"]
    for row in result["games"]:
        expert = result["reference"]["against"] if result["reference"]["game"] == row["game"] else {}
        for name, less in row["pool_less_naive"]["against"].items():
            cells = [_interval(row["kinds"][kind]["against"][name]) for kind in ("pool", "naive")]
            known = _interval(expert[name]) if name in expert else "–"
            lines.append(f"| {row['game']} | {name.replace('_', ' ')} | {' | '.join(cells)} | {_interval(less)} | {known} |")
        lines.append(f"| {row['game']} | each other | – | – | {_interval(row['head_to_head'])} | – |")
    return "\n".join(lines)


def _interval(found: dict[str, float], digits: str = ".3f") -> str:
    value, low, high = (format(found[name], digits) for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _quartiles(entry: dict[str, Any], shown: Callable[[float], str]) -> str:
    return " – ".join(shown(end) for end in entry["interquartile_range"])


def _rounded(rate: float) -> str:
    """Three significant digits, the precision of the measurements."""
    return f"{float(f'{rate:.3g}'):,.0f}" if rate >= 100 else f"{rate:.3g}"


def filled(text: str, place: str, table: str) -> str:
    """The text with a table in its place."""
    pattern = re.compile(rf"(<!-- {place} table: [^>]*-->\n).*?(<!-- end of table -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"no place for the {place} table")
    return pattern.sub(lambda m: m.group(1) + table + "\n" + m.group(2), text)


def hint_scores_table(result: dict[str, Any], scenario: str) -> str:
    """Scores with every kind of hint in one game, learning speed, and scores without the hints."""
    heads = ["agent", "share of maximum", "below Bayes", "over none", "moves to 95 %", "without hints", "random hints"]
    lines = [f"| {' | '.join([*heads, 'moves trained', 'CPU seconds'])} |", "|---" * 9 + "|"]
    for cell in result["cells"]:
        if cell["values"]["scenario"] != scenario:
            continue
        over, ratio, played = cell.get("over_baseline"), cell["reaching"]["ratio"], cell.get("played_with", {})
        cells = (
            _interval(cell["share_of_maximum"]),
            f"{cell['below_bayes']['value']:.3f}",
            "–" if over is None else _interval(over),
            "–" if ratio is None else f"{ratio['value']:.2f}",
            *(_interval(played[hint]["share_of_maximum"]) if hint in played else "–" for hint in ("none", "random")),
            f"{cell['moves']:,}",
            f"{_mean_of(cell['seeds'], 'cpu_seconds'):.1f}",
        )
        words = ", ".join(value for axis, value in cell["values"].items() if axis != "scenario")
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    bayes = next(cell["yardsticks"]["bayes"] for cell in result["cells"] if cell["values"]["scenario"] == scenario)
    return "\n".join([*lines, f"| blind Bayes plan | {bayes:.3f} |{' – |' * 7}"])


def hint_costs_table(result: dict[str, Any]) -> str:
    """The cost of every kind of hint per run, on average over games, algorithms and seeds."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for cell in result["cells"]:
        name = ", ".join(cell["values"][axis] for axis in ("hints", "cadence") if axis in cell["values"])
        groups.setdefault(name, []).extend(cell["seeds"])
    lines = ["| hints | requested | given | distinct prompts | seconds on hints | CPU seconds per run |", "|---" * 6 + "|"]
    for name, runs in groups.items():
        cells = [f"{_mean_of(runs, key):,.0f}" if key in runs[0] else "–" for key in ("hint_asked", "hint_given", "hint_prompts")]
        spent = f"{_mean_of(runs, 'hint_milliseconds') / 1000:.1f}" if "hint_milliseconds" in runs[0] else "–"
        lines.append(f"| {name} | {' | '.join(cells)} | {spent} | {_mean_of(runs, 'cpu_seconds'):.1f} |")
    return "\n".join(lines)


def _mean_of(runs: list[dict[str, Any]], key: str) -> float:
    return sum(float(run[key]) for run in runs) / len(runs)


def scaling_executor_table(result: dict[str, Any]) -> str:
    """Start, overhead and speed of the executor, by engine and number of workers."""
    keys = ("start_seconds", "overhead_ms", "unkept_overhead_ms", "tasks_per_second")
    rows = ([name, *(f"{row[key]:.3g}" for key in keys)] for name, row in result["executor"].items())
    return markdown(
        ["engine, workers", "seconds until all workers are warm", "overhead, ms per task", "without the disk, ms", "tasks per second"], rows
    )


def scaling_sizes_table(result: dict[str, Any], server: dict[str, Any]) -> str:
    """Bytes of environments, sessions and steps in the store, and how many sessions one process of the server can play."""
    words = {"bytes_per_environment": "environment in a batch", "bytes_per_session": "open session in a server"}
    rows = [[f"{label}, {name}", f"{value / 1000:,.2f} kB"] for key, label in words.items() for name, value in result[key].items()]
    rows += [[f"a million steps in the store, {name}", f"{value:,.0f} MB"] for name, value in result["store_bytes_per_step"].items()]
    steps = {name: server["entries"][f"ours_{key}_512"]["median"] for name, key in (("HTTP", "http"), ("WebSocket", "ws"))}
    rows += [[f"sessions per core, at one step a second each, {name}", f"{value:,.0f}"] for name, value in steps.items()]
    return markdown(["what", "size"], rows)


def scaling_nodes_table(result: dict[str, Any]) -> str:
    """Simulated nodes and how much of their time is used."""
    rows = ([n, f"{row['tasks_per_second']:.1f}", f"{row['efficiency']:.0%}"] for n, row in result["simulated_cluster"].items())
    return markdown(["nodes", "tasks per second", "time used"], rows)


def tables() -> dict[Path, dict[str, str]]:
    """By page and by the name of its place: every table."""
    yardstick, designers, hints = _load("yardstick_bargaining.json"), _load("yardstick_auction.json"), _load("hints_measure.json")
    env, market, train, gpu = (_load(f"bench_{name}.json") for name in ("env", "market", "train", "gpu"))
    models, server, policy = _load("bench_llm.json"), _load("bench_server.json"), _load("policy_designer.json")
    sweep = _load("bench_sweep.json")
    negotiators, pocket, parsing = _load("negotiators.json"), _load("pocket.json"), _load("parsing.json")
    first_readings = [_load(f"parsing_{name}.json")["labelled"] for name in ("sentences_before", "fresh_4", "fresh_5", "fresh_6")]
    sentences_before = {name: found for part in first_readings for name, found in part.items()}
    sentences = _load("parsing_sentences.json")["labelled"]
    trained, scaling = _load("designers.json"), _load("scaling.json")
    grpo, grpo_gpu = _load("bench_grpo.json"), _load("bench_grpo_gpu.json")
    grpo_runs = {
        "the first GRPO": _load("designers_grpo.json"),
        "the second": _load("designers_grpo_again.json"),
        "their average": trained,
        "their average, other markets": _load("designers_fresh.json"),
    }
    cloning, playing, tournament, hinted = (
        _load(f"{name}.json") for name in ("behaviour_cloning", "self_play", "tournament", "hint_study")
    )
    return {
        BELIEFS: {"partners": partners_table(_load("yardstick_partners.json"), _load("yardstick_partners_one_shot.json"))},
        README: {"yardstick": yardstick_table(yardstick)},
        RESULTS: {
            "yardstick": yardstick_table(yardstick),
            "rates": rates_table(env, MAIN_ENTRIES),
            "designers": designers_table(designers),
            "hints": hints_table(hints),
            "negotiators": negotiators_table(negotiators),
        },
        BLOG: {
            "yardstick": yardstick_table(yardstick),
            "designers": designers_table(designers),
            "hints": hints_table(hints),
        },
        SPEED: {
            "rates": rates_table(env, tuple(env["entries"])),
            "targets": targets_table(env),
            "market rates": rates_table(market, tuple(market["entries"]), "designs"),
            "market targets": targets_table(market),
            "training rates": rates_table(train, tuple(train["entries"])),
            "training quality": quality_table(train),
            "training targets": targets_table(train),
            "exact targets": targets_table(_load("bench_exact.json")),
            "gpu rates": rates_table(gpu, tuple(gpu["entries"]), clock="second"),
            "gpu targets": targets_table(gpu),
            "language model rates": rates_table(models, tuple(models["entries"]), "replies"),
            "language model targets": targets_table(models),
            "grpo seconds": seconds_table(grpo),
            "grpo targets": targets_table(grpo),
            "grpo on a gpu seconds": seconds_table(grpo_gpu),
            "grpo on a gpu targets": targets_table(grpo_gpu),
            "server rates": server_table(server),
            "server targets": targets_table(server),
            "responsiveness": responsiveness_table(server),
            "sweep": sweep_table(sweep),
            "sweep targets": targets_table(sweep),
            "soak": soak_table(*(_load(path.name) for path in sorted((ROOT / "results").glob("soak*.json")))),
        },
        AUCTION: {
            "designers": designers_table(designers),
            "schedules": schedules_table(designers),
            "gains": gains_table(designers),
            "robustness": robustness_table(_load("robustness_auction.json")),
            "policy": policy_table(policy),
            "policy curve": policy_curve_table(policy),
            "policy bidders": policy_bidders_table(policy),
        },
        DESIGNER: {
            "evaluation": evaluation_table(trained),
            "evaluation targets": evaluation_targets_table(trained),
            "grpo gains": grpo_gains_table(grpo_runs),
        },
        PAGE: {"page targets": targets_table(_load("bench_page.json"))},
        POCKET: {"pocket": pocket_table(pocket), "pocket targets": pocket_targets_table(pocket)},
        TRAINING: {
            "negotiators": negotiators_table(negotiators),
            "experts": experts_table(_load("experts.json")),
            "memory": memory_table(memory := _load("memory.json")),
            "memory targets": memory_targets_table(memory),
            "dropout": dropout_table(_load("dropout.json")),
        },
        DIALOGUE_ACTS: {
            "accuracy": parsing_table(parsing),
            "evidence": evidence_table(parsing),
            "phenomena": phenomena_table(sentences_before, sentences),
            "sureness": sureness_table(sentences_before, sentences),
            "confusion": confusion_table(parsing),
            "last act": last_act_table(parsing),
            "misses": misses_table(parsing),
        },
        IMITATION: {
            "moves": moves_table(cloning),
            "left out": left_out_table(cloning),
            "imitation": imitation_table(cloning),
            "imitation acts": imitation_acts_table(cloning),
            "imitation play": imitation_play_table(cloning),
        },
        SELF_PLAY: {"self-play": self_play_table(playing), "self-play others": self_play_others_table(playing)},
        TOURNAMENT: {
            "ranking": ranking_table(tournament),
            "tournament": tournament_table(tournament),
            **{scenario: seats_table(tournament, scenario) for scenario in ("classic", "one_shot")},
        },
        SCALING: {
            "scaling executor": scaling_executor_table(scaling),
            "scaling sizes": scaling_sizes_table(scaling, server),
            "scaling nodes": scaling_nodes_table(scaling),
        },
        HINT_STUDY: {
            **{f"hint study: {scenario}": hint_scores_table(hinted, scenario) for scenario in ("classic", "one shot", "Lewis")},
            "hint study: costs": hint_costs_table(hinted),
        },
    }


def pages() -> dict[Path, str]:
    """Every page with its tables."""
    found = {}
    for page, parts in tables().items():
        found[page] = page.read_text(encoding="utf-8")
        for name, table in parts.items():
            found[page] = filled(found[page], name, table)
    return found


def _load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "results" / name).read_text(encoding="utf-8"))
    return content


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content, encoding="utf-8")
