"""The zoo of networks: their parameters are counted as published, their outputs are the published
code's, and every way through them gives the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import worm_networks  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import Tensor  # noqa: E402
from worm_trials import SETS, golden, trials_of, write_folder  # noqa: E402

from spanlab.agents.network import NetworkAgent, model_settings  # noqa: E402
from spanlab.agents.network.agent import one_thread  # noqa: E402
from spanlab.agents.network.checkpoints_io.published import worm_tasks  # noqa: E402
from spanlab.agents.network.models import ARCHITECTURES, Network, Seen, build  # noqa: E402
from spanlab.agents.network.models.build import (  # noqa: E402
    empty,
)
from spanlab.agents.network.settings import Task  # noqa: E402
from spanlab.core.errors import SpanLabError  # noqa: E402
from spanlab.extensions.replication.worm.folder import import_worm  # noqa: E402
from spanlab.paradigms import compile_trial  # noqa: E402
from spanlab.paradigms.network_view import WORM_TASKS, network_arrays  # noqa: E402
from spanlab.paradigms.trials_file import TrialsFile  # noqa: E402

#: parameters of the published networks (worm: Table A4 of the paper, in full)
PUBLISHED: dict[tuple[str, int], int] = {
    ("rnn", 96): 1_879_465,
    ("rnn", 256): 2_041_545,
    ("rnn", 1024): 3_532_233,
    ("gru", 96): 1_996_585,
    ("gru", 256): 2_435_785,
    ("gru", 1024): 6_682_057,
    ("lstm", 96): 2_055_145,
    ("lstm", 256): 2_632_905,
    ("lstm", 1024): 8_256_969,
    ("transformer", 96): 2_475_401,
    ("transformer", 256): 4_348_361,
    ("transformer", 1024): 19_040_201,
}
#: names of the golden outputs
GOLDEN = {"RNN-96": ("RNN", 96), "GRU-96": ("GRU", 96), "LSTM-256": ("LSTM", 256), "TRF-96": ("TRF", 96)}
CHOSEN = (0, 10, 19)
FOLDER = Path(__file__).resolve().parents[2]
TASKS = {
    "one": Task(1, "shared"),
    "two": Task(1, "shared"),
    "many": Task(9, "many"),
    "words": Task(5, "words", reads=True),
}


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("architecture", "hidden"), PUBLISHED)
def test_parameters_are_counted_as_published(architecture: str, hidden: int) -> None:
    network = empty(model_settings(encoder="worm", architecture=architecture, hidden=hidden), worm_tasks())
    assert network.parameter_count == PUBLISHED[architecture, hidden]
    shapes = [tuple(parameter.shape) for parameter in network.parameters()]
    published = worm_networks.shapes("TRF" if architecture == "transformer" else architecture.upper(), hidden)
    assert sorted(shapes) == sorted(published.values())


@pytest.mark.parametrize(("hidden", "count"), [(96, 2_042_409), (256, 3_033_289), (1024, 10_640_329)])
def test_parameters_of_the_transformer_with_one_layer(hidden: int, count: int) -> None:
    assert (
        empty(
            model_settings(encoder="worm", architecture="transformer", hidden=hidden, options={"layers": 1}),
            worm_tasks(),
        ).parameter_count
        == count
    )


def test_the_documented_table_is_true() -> None:
    text = (FOLDER.parent / "docs" / "network-models.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text, flags=re.MULTILINE)
    told = {
        (name, hidden): int(count.replace(",", ""))
        for name, *counts in rows
        for hidden, count in zip((96, 256, 1024), counts, strict=True)
    }
    assert told == PUBLISHED


def test_the_five_tasks_of_change_detection_share_a_head() -> None:
    tasks = worm_tasks()
    assert tuple(tasks) == WORM_TASKS
    assert {tasks[name].head for name in WORM_TASKS if name.startswith("cd_")} == {"cd"}
    network = empty(model_settings(encoder="worm"), tasks)
    assert {name: head.out_features for name, head in network.heads.items()} == worm_networks.HEADS
    with pytest.raises(SpanLabError, match="wants 2 outputs of the head 'cd', another task 1"):
        build(model_settings(encoder="worm"), {"a": Task(1, "cd"), "b": Task(2, "cd")}, 0)


def test_a_seed_gives_one_network_and_leaves_the_random_state_alone() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    networks = [
        build(model_settings(encoder="worm", architecture="gru", hidden=32), TASKS, seed).state_dict()
        for seed in (1, 1, 2)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(tensor, networks[1][name]) for name, tensor in networks[0].items())
    assert not torch.equal(networks[0]["memory.cell.weight_hh_l0"], networks[2]["memory.cell.weight_hh_l0"])


# -- the published code's outputs ------------------------------------------------------------------


class GoldenFrames:
    """Frames of the chosen golden trials, rendered from the benchmark's JSON, each different one
    once.

    ``plain`` has by task the frames (3, 20, 32, 32, 3) as the benchmark pads them, ``lengths`` the
    steps of each trial.
    """

    def __init__(self, folder: Path) -> None:
        write_folder(
            folder / "data",
            {one.folder: {"train": [trials_of(one)[number] for number in CHOSEN]} for one in SETS.values()},
        )
        import_worm(folder / "data", folder / "trials")
        self.plain: dict[str, np.ndarray] = {}
        self.lengths: dict[str, np.ndarray] = {}
        for name, one in SETS.items():
            file = TrialsFile(folder / "trials" / f"{name}.train.jsonl")
            trials = [
                compile_trial(file.paradigm, given.levels, 0, file.header.generator, given.draws) for given in file
            ]
            view = file.paradigm.network_view(trials[0].levels)
            assert view is not None
            arrays = network_arrays(view, trials, 20)
            assert arrays.lengths.tolist() == [golden()[one.folder][number]["length"] for number in CHOSEN]
            self.plain[view.task], self.lengths[view.task] = arrays.frames, arrays.lengths
        assert tuple(self.plain) == WORM_TASKS

    def once(self, trials: list[int]) -> tuple[np.ndarray, Tensor]:
        """Every different frame of some of the chosen trials, and the numbers (tasks, trials, 20)
        of those that they show."""
        every = np.concatenate([own[trials].reshape(-1, 32 * 32 * 3) for own in self.plain.values()])
        different, place = np.unique(every, axis=0, return_inverse=True)
        assert len(different) < 0.6 * len(every)
        return different.reshape(-1, 32, 32, 3), torch.from_numpy(place.reshape(len(self.plain), len(trials), 20))


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> GoldenFrames:
    return GoldenFrames(tmp_path_factory.mktemp("worm"))


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, np.ndarray]]:
    """The published code's outputs (3, 20, n), by network and task."""
    with np.load(FOLDER / "golden" / "worm_logits.npz", allow_pickle=False) as file:
        return {
            name: {key.partition("/")[2].lower(): file[key] for key in file.files if key.startswith(f"{name}/")}
            for name in GOLDEN
        }


#: what the published encoder makes of the golden frames; the same in all golden networks, since it
#: comes first in the formula
Encoded = dict[tuple[int, ...], Tensor]


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    return {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("trials", [[1], pytest.param([0, 1, 2], marks=pytest.mark.slow)], ids=["middle", "all"])
@pytest.mark.parametrize("name", GOLDEN)
def test_outputs_are_those_of_the_published_code(
    name: str,
    trials: list[int],
    frames: GoldenFrames,
    outputs: dict[str, dict[str, np.ndarray]],
    encoded: Encoded,
    tmp_path: Path,
) -> None:
    """From a checkpoint file, all tasks in one batch and one step at a time, each different frame
    looked at once.

    In double precision: with these weights rounding in the convolutions alone makes up to 1e-5 in
    single precision, in the published code, too.
    """
    network = NetworkAgent(worm_networks.write(tmp_path / "model.pt", *GOLDEN[name])).network.double()
    pixels, place = frames.once(trials)
    with torch.inference_mode():
        if tuple(trials) not in encoded:
            encoded[tuple(trials)] = torch.cat(
                [
                    network.eye.layers((lot / 255).permute(0, 3, 1, 2))
                    for lot in torch.from_numpy(pixels).double().split(64)
                ]
            )  # type: ignore[operator, union-attr]
        seen = Seen(network.eye.projection(encoded[tuple(trials)].mean((2, 3))))  # type: ignore[operator, union-attr]
        held, _ = network.remember(seen.at(place.flatten(0, 1)), [task for task in WORM_TASKS for _ in trials])
        for number, task in enumerate(WORM_TASKS):
            joint = network.answer(held.unflatten(0, (-1, len(trials)))[number], seen.at(place[number]), task)
            stepped = steps(network, seen.at(place[number]), task)
            for row, trial in enumerate(trials):
                # beyond a trial's end the published transformer masks the padding; nobody reads
                # that
                end = frames.lengths[task][trial] if name.startswith("TRF") else 20
                for found in (joint, stepped):
                    assert np.abs(found[row, :end].numpy() - outputs[name][task][trial, :end]).max() < 1e-5, (
                        task,
                        trial,
                    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_published_loop_gives_the_same_as_ours(
    name: str, frames: GoldenFrames, outputs: dict[str, dict[str, np.ndarray]], tmp_path: Path
) -> None:
    """All 20 frames of every trial, task by task, padding and all, in single precision; against
    each frame once, against steps, and against theirs."""
    network = NetworkAgent(worm_networks.write(tmp_path / "model.pt", *GOLDEN[name])).network
    with torch.inference_mode():
        for task in ("cd_conj", "si"):
            own = frames.plain[task]
            plain = network(
                network.see(torch.from_numpy(own.reshape(-1, 32, 32, 3))).at(torch.arange(60).reshape(3, 20)), task
            ).logits
            different, numbers = np.unique(own.reshape(60, -1), axis=0, return_inverse=True)
            seen = network.see(torch.from_numpy(different.reshape(-1, 32, 32, 3))).at(
                torch.from_numpy(numbers.reshape(3, 20))
            )
            for row, length in enumerate(frames.lengths[task]):
                for found in (
                    network(seen, task).logits,
                    steps(network, seen, task),
                    torch.from_numpy(outputs[name][task]),
                ):
                    close(found[row, :length], plain[row, :length])


def steps(network: Network, seen: Seen, task: str) -> Tensor:
    """Outputs of one step after another."""
    state, found = None, []
    for step in range(seen.inputs.shape[1]):
        passage = network(
            Seen(seen.inputs[:, step : step + 1], tuple(part[:, step : step + 1] for part in seen.beside)), task, state
        )
        state = passage.state
        found.append(passage.logits)
    return torch.cat(found, 1)


# -- all ways give the same ------------------------------------------------------------------------

SMALL = {"components": 48, "summary": 32, "filters": 16, "code": 8, "embedding": 4, "start": "plain"}
KINDS = [
    (encoder, architecture, hidden)
    for architecture in ARCHITECTURES
    for encoder, hidden in (("worm", 96), ("compact", 64))
]


@pytest.fixture(scope="module")
def zoo() -> dict[tuple[str, str, int], Network]:
    """Both encoders with every architecture."""
    networks = {}
    for encoder, architecture, hidden in KINDS:
        rest = SMALL if encoder == "compact" else {}
        network = (
            build(model_settings(encoder=encoder, architecture=architecture, hidden=hidden, **rest), TASKS, seed=7)
            .eval()
            .requires_grad_(False)
        )
        network.begin([torch.from_numpy(noise(1, 60))], {})
        networks[encoder, architecture, hidden] = network
    return networks


def noise(seed: int, count: int) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 256, (count, 32, 32, 3)).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind)))
def test_what_follows_changes_nothing_that_was(
    zoo: dict[tuple[str, str, int], Network], kind: tuple[str, str, int]
) -> None:
    """Cut off anywhere, followed by anything, gone through in any two parts: outputs and hidden
    states stay what they are."""
    network = zoo[kind]
    seen = network.see(torch.from_numpy(noise(2, 40)))

    @settings(max_examples=25)
    @given(
        numbers=st.lists(st.integers(0, 39), min_size=2, max_size=20),
        after=st.lists(st.integers(0, 39), max_size=10),
        task=st.sampled_from(["one", "two", "many"]),
        cut=st.integers(1, 19),
    )
    def check(numbers: list[int], after: list[int], task: str, cut: int) -> None:
        longer, cut = (numbers + after)[:20], min(cut, len(numbers) - 1)
        with torch.inference_mode():
            whole = network(seen.at(torch.tensor([numbers, numbers[::-1]])), task)
            padded = network(seen.at(torch.tensor([longer])), task)
            first = network(seen.at(torch.tensor([numbers[:cut]])), task)
            second = network(seen.at(torch.tensor([numbers[cut:]])), task, first.state)
        assert whole.logits.shape == (2, len(numbers), TASKS[task].outputs)
        assert whole.hidden.shape == (2, len(numbers), kind[2])
        for part in ("logits", "hidden"):
            alone = getattr(whole, part)[:1]
            close(getattr(padded, part)[:, : len(numbers)], alone)
            close(torch.cat([getattr(first, part), getattr(second, part)], 1), alone)

    check()


def close(found: Tensor, expected: Tensor) -> None:
    assert torch.allclose(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind)))
def test_tasks_of_all_kinds_go_through_in_one_batch(
    zoo: dict[tuple[str, str, int], Network], kind: tuple[str, str, int]
) -> None:
    """Frames and words, shared heads and own ones: as each task for itself; with gradients, too."""
    network = zoo[kind]
    vectors = torch.from_numpy(np.random.RandomState(3).standard_normal((10, 300)).astype(np.float32))
    with one_thread():
        both = Seen.joined([network.see(torch.from_numpy(noise(4, 30))), network.see(vectors)])
        numbers = torch.tensor([[1, 2, 3, 3, 0], [4, 5, 6, 1, 1], [2, 9, 29, 7, 8], [30, 31, 39, 35, 30]])
        held, _ = network.remember(both.at(numbers), list(TASKS))
        for row, task in enumerate(TASKS):
            alone = network(both.at(numbers[row : row + 1]), task)
            close(held[row : row + 1], alone.hidden)
            close(network.answer(held[row : row + 1], both.at(numbers).rows(torch.tensor([row])), task), alone.logits)


@pytest.mark.slow
def test_gradients_reach_every_weight_that_is_used() -> None:
    for encoder, architecture, hidden in KINDS:
        rest = SMALL if encoder == "compact" else {}
        network = build(
            model_settings(encoder=encoder, architecture=architecture, hidden=hidden, **rest),
            {"many": Task(9, "many")},
            seed=7,
        )
        network(
            network.see(torch.from_numpy(noise(1, 2))).at(torch.tensor([[0, 1, 1], [1, 0, 1]])), "many"
        ).logits.square().sum().backward()
        unreached = [
            name
            for name, parameter in network.named_parameters()
            if parameter.grad is None or not torch.isfinite(parameter.grad).all()
        ]
        assert not unreached, (encoder, architecture, unreached)


# -- settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"architecture": "lstn"}, "unknown architecture 'lstn'; did you mean 'lstm'"),
        (
            {"encoder": "worm", "architecture": "zzz"},
            "unknown architecture 'zzz'; there are gru, lstm, noisy_lstm, rnn, transformer",
        ),
        (
            {"encoder": "worm", "architecture": "gru", "options": {"layer": 2}},
            "options of the architecture 'gru': layer: unknown key 'layer'; did you mean 'layers'",
        ),
        (
            {"encoder": "worm", "architecture": "transformer", "options": {"layers": "two"}},
            "layers: expected a whole number; found 'two'",
        ),
        ({"encoder": "worm", "architecture": "transformer", "hidden": 100}, "a multiple of 8 units, not 100"),
        ({"encoder": "worm", "architecture": "transformer", "hidden": 8}, "no room for the 14 that name the task"),
        ({"architecture": "transformer"}, "'transformer' cannot start as a delay line; write 'start: plain'"),
        (
            {"architecture": "transformer", "start": "orthogonal"},
            "'transformer' cannot start orthogonal; write 'start: plain'",
        ),
        ({"architecture": "lstm", "options": {"layers": 2}}, "a delay line is one layer"),
    ],
)
def test_settings_that_do_not_go_together_are_told(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SpanLabError, match=re.escape(said)):
        build(model_settings(**values), TASKS, 0)


def test_a_transformer_says_how_long_trials_may_be() -> None:
    network = build(
        model_settings(encoder="worm", architecture="transformer", hidden=32, options={"positions": 5}), TASKS, 0
    )
    with pytest.raises(SpanLabError, match="takes trials of up to 5 steps, and this one is longer"):
        network(network.see(torch.from_numpy(noise(1, 6))).at(torch.arange(6)[None]), "one")


# -- another architecture --------------------------------------------------------------------------


@pytest.fixture
def documented() -> Iterator[str]:
    """The example of docs/extension-points.md, registered for this test alone."""
    text = (FOLDER.parent / "docs" / "extension-points.md").read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL) if "register" in block)
    before = dict(ARCHITECTURES._known)
    exec(compile(example, "docs/extension-points.md", "exec"), {"__name__": "documented"})
    (name,) = ARCHITECTURES._known.keys() - before.keys()
    yield name
    del ARCHITECTURES._known[name]


def test_the_documented_architecture_works(documented: str) -> None:
    """With both encoders, by steps and at once, and its options are checked like those of others."""
    for encoder, rest in (("worm", {}), ("compact", SMALL)):
        network = build(model_settings(encoder=encoder, architecture=documented, hidden=24, **rest), TASKS, 0).eval()
        seen = network.see(torch.from_numpy(noise(1, 12))).at(torch.arange(12).reshape(2, 6))
        with torch.inference_mode():
            close(steps(network, seen, "many"), network(seen, "many").logits)
    with pytest.raises(
        SpanLabError, match=f"options of the architecture '{documented}': leek: unknown key 'leek'; did you mean 'leak'"
    ):
        build(model_settings(encoder="worm", architecture=documented, options={"leek": 0.5}), TASKS, 0)


def test_comparisons_need_a_delay_line_and_a_product_for_each_of_its_units() -> None:
    for wrong in ({"start": "plain", "products": 400}, {"products": 319}):
        with pytest.raises(
            ValueError,
            match="compared needs start: delay_line, and at least as many products as the delay line has units",
        ):
            model_settings(compared=True, **wrong)
    assert model_settings(compared=True, products=320)
