"""Networks with noise in their memory: the noise follows from the trial's seed alone, more of it
leaves less, and the files that ship follow from the rule."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

torch = pytest.importorskip("torch")

from command_line import Run, complaint  # noqa: E402

from spanlab import replay  # noqa: E402
from spanlab.agents.network.agent import MemoryNoise, limit_for, limits, name_and_noise  # noqa: E402
from spanlab.agents.network.checkpoints_io.checkpoint import load, locate, shipped  # noqa: E402
from spanlab.agents.network.models.memories import memory  # noqa: E402
from spanlab.agents.network.models.noise import NoiseOptions, NoisyLstm, _mixed, _normal, add_noise  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.paradigms import load_paradigm  # noqa: E402
from spanlab.sessions import read_session  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


def noisy(noise: float) -> NoisyLstm:
    torch.manual_seed(1)
    return NoisyLstm(20, 48, NoiseOptions.model_validate({"noise": noise})).eval()


@pytest.mark.slow
def test_without_noise_it_is_the_lstm_whose_weights_it_has() -> None:
    inputs, cell = torch.randn(3, 7, 20), noisy(0.0)
    torch.testing.assert_close(cell(inputs, cell.initial(3, inputs))[0], cell.cell(inputs)[0], atol=1e-6, rtol=0)


def test_a_trial_has_the_same_noise_alone_and_step_by_step_and_another_than_other_trials() -> None:
    inputs, cell = torch.randn(1, 7, 20).expand(3, -1, -1), noisy(0.5)
    together = cell(inputs, cell.seeded(cell.initial(3, inputs), [5, 9, 5]))[0]
    state, parts = cell.seeded(cell.initial(1, inputs), [9]), []
    for step in range(7):
        out, state = cell(inputs[:1, step : step + 1], state)
        parts.append(out)
    torch.testing.assert_close(torch.cat(parts, 1)[0], together[1], atol=1e-6, rtol=0)
    torch.testing.assert_close(together[0], together[2], atol=0, rtol=0)
    assert (together[0] - together[1]).abs().mean() > 0.05


def test_noise_is_normal_and_independent() -> None:
    drawn = _normal(_mixed(torch.arange(20_000)[:, None]), torch.arange(40))
    assert abs(float(drawn.mean())) < 0.005
    assert float(drawn.std()) == pytest.approx(1, abs=0.005)
    assert float((drawn**4).mean()) == pytest.approx(3, abs=0.06)
    between = torch.corrcoef(drawn.T).fill_diagonal_(0) * 20_000**0.5
    assert float(between.abs().max()) < 4.8
    assert float(between.std()) == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_the_noise_is_part_of_the_name_and_of_the_record(tmp_path: Path) -> None:
    assert name_and_noise("laptop@0.2") == ("laptop", MemoryNoise(0.2))
    assert name_and_noise("laptop@20%") == ("laptop", MemoryNoise(0.2, relative=True))
    assert MemoryNoise(0.2).typed == "0.2"
    assert MemoryNoise(0.125, relative=True).typed == "12.5%"
    assert name_and_noise("runs/a@b/net.pt") == ("runs/a@b/net.pt", None)
    answers, limit = {}, limit_for(["vsr"]).noise
    same = f"network:{limit_for(['vsr']).network}@{100 * limit:g}%"
    for name in ("network:laptop", "network:laptop@0", "network:laptop@0.8", "network:limited", same):
        folder = replay("vsr", name, trials=16, data=tmp_path, say=lambda _: None).folder
        answers[name] = pd.read_csv(folder / "responses.csv")["answer"].tolist()
        noise = {"network:laptop": None, "network:laptop@0": 0.0, "network:laptop@0.8": 0.8}.get(name, limit)
        settings = read_session(folder)["agent_settings"]
        assert (read_session(folder)["agent"], settings.get("asked")) == (
            (same, "limited") if name == "network:limited" else (name, None)
        )
        assert settings.get("noise") == noise
        assert settings.get("noise_relative", False) == (name in ("network:limited", same))
    assert answers["network:limited"] == answers[same] != answers["network:laptop"]
    assert answers["network:laptop"] == answers["network:laptop@0"] != answers["network:laptop@0.8"]
    again = replay("vsr", "network:limited", trials=16, data=tmp_path / "again", say=lambda _: None).folder
    assert pd.read_csv(again / "responses.csv")["answer"].tolist() == answers["network:limited"]


def test_what_has_no_limit_or_cannot_have_noise_is_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    assert "takes one of vsr, cd, smu, vir" in complaint(
        *run("replay", "sfr", "--agent", "network:limited", "--trials", "2")
    )
    network = load("laptop").network
    network.memory = memory("gru", {}, 8, 8)
    with pytest.raises(SpanLabError, match="noise can be added to an LSTM with a single layer"):
        add_noise(network, 0.1)


def test_the_limits_name_networks_that_know_their_tasks() -> None:
    for limit in limits():
        assert set(limit.tasks) <= set(load(limit.network).network.tasks)
        assert limit.noise > 0


def test_the_card_of_the_limited_networks_is_made_from_the_files_that_ship() -> None:
    """For each paradigm the network, its noise and its accuracy by load; where people are
    published, the distance from them."""
    card = (locate("laptop").parent / "limited.md").read_text(encoding="utf-8")
    for limit in limits():
        _, _, part = card.partition(f"## {limit.paradigm}\n")
        part = part.split("\n## ")[0]
        assert f"`{limit.network}` with noise {limit.noise:g}, SHA-256 `{load(limit.network).sha256}`" in part
        assert ("Distance from people" in part) == (limit.paradigm != "nback_spatial")
        assert ("| A_" in part and "| B_" in part) == (limit.paradigm != "nback_spatial")


def test_strengths_follow_from_the_rule() -> None:
    """Of all strengths that were tried the chosen one is nearest to what the rule asks for, and
    ``network:limited`` has that of noise."""
    chosen = json.loads((ROOT / "scripts" / "limited_memory.json").read_text(encoding="utf-8"))
    rule = yaml.safe_load((ROOT / "scripts" / "limited_memory.yaml").read_text(encoding="utf-8"))
    ships = {}
    for paradigm, groups in chosen.items():
        for group, entry in groups.items():
            assert entry["networks"] == rule["networks"][paradigm][group][: len(entry["networks"])]
            for kind, found in entry["kinds"].items():
                aim = entry["aim"]
                away = {float(strength): abs(np.mean(values) - aim) for strength, values in found["tried"].items()}
                assert set(rule["kinds"][kind]["grid"]) <= set(away)
                nearest = min(away, key=lambda strength: (round(away[strength], 6), strength))
                assert found["chosen"] == (nearest if away[nearest] <= 0.1 * aim else None)
            ships[paradigm] = (entry["networks"][0], entry["kinds"]["noise"]["chosen"])
    assert {limit.paradigm: (limit.network, limit.noise) for limit in limits()} == ships


@pytest.mark.parametrize("name", [limit.paradigm for limit in limits()])
def test_the_page_shows_every_level_of_every_factor(name: str) -> None:
    """By a rule and not by choice: what does not look like people is there, too."""
    made = (
        (ROOT / "docs" / "limited.md")
        .read_text(encoding="utf-8")
        .partition("<!-- made curves -->")[2]
        .partition("<!-- end of curves -->")[0]
    )
    parts = [part for part in made.split("#### ")[1:] if part.startswith(f"{name}, ")]
    assert parts
    for part, (factor, declared) in itertools.product(parts, load_paradigm(name).factors.items()):
        word = factor.replace("_", " ")
        tables = re.findall(rf"^\| +\| {word} \|.*?(?=\n\n)", part, flags=re.DOTALL | re.MULTILINE)
        rows = {line.split(" | ")[1] for table in tables for line in table.splitlines()[2:]}
        assert "| – " not in "".join(tables)
        if not all(f"{word} {level}" in part for level in declared.levels):
            assert rows == {str(level) for level in declared.levels}, factor


def test_cards_show_every_level_that_a_network_was_trained_on() -> None:
    for name in shipped():
        card = json.loads(locate(name).with_suffix(".json").read_text(encoding="utf-8"))
        for paradigm, factors in card["trained"]["levels"].items():
            rows = [row["levels"] for row in card["test"] if row["paradigm"] == paradigm]
            shown = {factor: [row[factor] for row in rows] for factor in factors if rows and factor in rows[0]}
            assert all(level in shown[factor] for factor in shown for level in factors[factor]), (name, paradigm)
            assert shown or not factors, (name, paradigm)
