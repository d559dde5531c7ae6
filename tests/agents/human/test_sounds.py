"""Sounds at the window, on a virtual clock: scheduled for the very refresh of their display
wherever it is known ahead, and noted as they were reported; and in a real window, played by a real
sound library to a sound server without a loudspeaker, and recorded there."""

from __future__ import annotations

import ctypes.util
import importlib.util
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import bench
from virtual_lab import VirtualStage, VirtualWindow, play, trial

from spanlab.agents.human.sounding import check_sounds
from spanlab.core.errors import SpanLabError
from spanlab.paradigms import Ask, Percept, Trial
from spanlab.paradigms.responses import Choice
from spanlab.paradigms.trial import Display
from spanlab.stimuli.kinds.files import ShownSound
from spanlab.stimuli.kinds.plain import Blank, Fixation, Tone
from spanlab.stimuli.render import speaker as speaker_module
from spanlab.stimuli.render.speaker import Audible, Speaker, seconds_of, waveform

NINE = Choice.model_validate({"options": 9, "layout": "3x3"})
BLANK, CROSS = Blank.model_validate({}), Fixation.model_validate({})
LACKING = [name for name in ("jackd", "Xvfb") if shutil.which(name) is None]
LACKING += [name for name in ("psychtoolbox", "psychopy") if importlib.util.find_spec(name) is None]
LACKING += [] if ctypes.util.find_library("jack") else ["libjack"]
#: how long the device needs at least, from being told to the sound (s)
LATENCY = 0.02


def noise(number: int, ms: int = 100) -> ShownSound:
    return ShownSound.model_validate({"sha256": f"{number:064x}", "frames": 48 * ms, "rate_hz": 48000, "channels": 1})


@dataclass
class Heard:
    """A sound that a device was told to play; times in seconds on the virtual clock."""

    speaker: Device
    sound: Audible
    at: float
    told: float
    stopped: float | None = None
    moves: int = 0

    @property
    def begins(self) -> float:
        return max(self.at, self.told + LATENCY)

    @property
    def onset(self) -> float | None:
        return (
            self.begins
            if self.speaker.window.now() >= self.begins and (self.stopped is None or self.stopped > self.begins)
            else None
        )

    def move(self, at: float) -> None:
        if self.onset is None:
            self.at, self.told, self.moves = at, self.speaker.window.now(), self.moves + 1

    def stop(self) -> None:
        self.stopped = self.speaker.window.now()

    @property
    def audible_s(self) -> float:
        end = self.begins + seconds_of(self.sound)
        return max(0.0, (end if self.stopped is None else min(end, self.stopped)) - self.begins)


@dataclass
class Device:
    """A device that begins at the given time, where it is told early enough."""

    window: VirtualWindow
    played: list[Heard] = field(default_factory=list)
    latency_ms: float | None = 1000 * LATENCY

    def start(self, sound: Audible, at: float) -> Heard:
        self.played.append(Heard(self, sound, at, self.window.now()))
        return self.played[-1]


def heard(
    trial: Trial, ask: Any = lambda ask: None, hz: float = 60.0, vsync: bool = True, jitter: float = 0.0
) -> tuple[Device, list[Any], VirtualWindow]:
    window = VirtualWindow(hz, vsync, jitter=jitter)
    stage = VirtualStage(window)
    stage.speaker = device = Device(window)  # type: ignore[assignment]
    return device, play(stage, trial, ask), window


def sounds_in(told: list[Any]) -> list[dict[str, Any]]:
    return [note for _, _, _, notes in told for note in notes.get("sounds", [])]


@settings(max_examples=60, deadline=None)
@given(
    hz=st.sampled_from([60.0, 75.0, 120.0, 144.0]),
    vsync=st.booleans(),
    jitter=st.sampled_from([0.0, 0.001]),
    times=st.lists(st.integers(100, 700), min_size=2, max_size=5),
    one_step=st.booleans(),
)
@pytest.mark.slow
def test_where_displays_have_times_every_sound_begins_with_its_own(
    hz: float, vsync: bool, jitter: float, times: list[int], one_step: bool
) -> None:
    displays = [Display(noise(number % 2), float(ms)) for number, ms in enumerate(times)]
    percepts = (
        [Percept("present", tuple(displays))] if one_step else [Percept("present", (display,)) for display in displays]
    )
    device, told, _ = heard(trial(*percepts), hz=hz, vsync=vsync, jitter=jitter)
    notes = sounds_in(told)
    assert [note["display"] for note in notes] == (list(range(1, len(times) + 1)) if one_step else [1] * len(times))
    onsets = [shown.onset_ms for _, _, all_shown, _ in told for shown in all_shown]
    for one, note, onset, display in zip(device.played, notes, onsets, displays, strict=True):
        assert one.sound == display.stimulus
        assert one.told < one.at - 0.09, "told in time, whatever was played before"
        assert note["after_display_ms"] == pytest.approx(note["onset_ms"] - onset, abs=0.002)
        assert abs(note["after_display_ms"]) <= 1000 * jitter + (3.1 if not vsync else 2.1 if jitter else 0.01)
        assert "stopped_after_ms" not in note
        assert one.audible_s == pytest.approx(0.1)
        assert note["declared_latency_ms"] == 20.0


def test_after_an_answer_a_sound_comes_as_soon_as_the_device_can_and_the_record_says_how_late() -> None:
    asked = Percept("probe", (Display(CROSS, None),), Ask(NINE))
    _, told, _ = heard(
        trial(asked, Percept("next", (Display(BLANK, 50.0), Display(noise(1), 300.0)))), lambda ask: (4, 0.5)
    )
    (note,) = sounds_in(told)
    assert abs(note["after_display_ms"]) < 0.1, "an empty screen before it is time enough"
    _, told, _ = heard(trial(Percept("wait", (Display(CROSS, None),)), Percept("next", (Display(noise(1), 300.0),))))
    (note,) = sounds_in(told)
    assert 10 < note["after_display_ms"] <= 1000 * LATENCY, "nobody knew when the press would come"


@pytest.mark.parametrize("answer", [0.05, 0.4, 0.58, 0.5999, None])
def test_an_answer_before_the_end_of_its_window_moves_what_was_scheduled(answer: float | None) -> None:
    asked = Percept("probe", (Display(CROSS, 600.0),), Ask(NINE, window_ms=600.0))
    device, told, _ = heard(
        trial(asked, Percept("next", (Display(noise(1), 300.0),))), lambda ask: None if answer is None else (4, answer)
    )
    (note,), (one,) = sounds_in(told), device.played
    assert one.stopped is None
    assert -1 < note["after_display_ms"] <= 1000 * LATENCY + 0.1
    assert one.moves == (1 if answer in (0.4, 0.58) else 0)


def test_a_sound_ends_with_a_display_that_an_answer_ends() -> None:
    asked = Percept("probe", (Display(noise(1, 1000), None),), Ask(NINE))
    device, told, _ = heard(trial(asked, Percept("next", (Display(BLANK, 300.0),))), lambda ask: (4, 0.4))
    (note,) = sounds_in(told)
    assert 0.4 < device.played[0].audible_s < 0.6
    assert note["stopped_after_ms"] == pytest.approx(1000 * device.played[0].audible_s, abs=0.1)
    device, told, _ = heard(trial(Percept("last", (Display(noise(1, 1000), None),), Ask(NINE))), lambda ask: (4, 0.4))
    assert device.played[0].stopped is not None, "the end of the trial, too"


def test_the_first_display_of_a_trial_waits_for_its_sound() -> None:
    device, told, window = heard(trial(Percept("present", (Display(noise(1), 300.0),))))
    (note,) = sounds_in(told)
    assert abs(note["after_display_ms"]) < 0.01
    assert device.played[0].at - device.played[0].told > 0.1
    silent = VirtualWindow(60)
    play(VirtualStage(silent), trial(Percept("present", (Display(CROSS, 300.0),))), lambda ask: None)
    assert window.flips - silent.flips <= 12


def test_nothing_is_said_or_played_without_sounds() -> None:
    device, told, _ = heard(trial(Percept("present", (Display(CROSS, 300.0), Display(Tone.model_validate({}), 300.0)))))
    assert not device.played
    assert not sounds_in(told)


def test_a_device_that_goes_away_ends_the_trial_and_no_sound_is_left_out() -> None:
    class Gone(Device):
        def start(self, sound: Audible, at: float) -> Heard:
            if self.played:
                raise SpanLabError("it was pulled out")
            return Device.start(self, sound, at)

    stage = VirtualStage(window := VirtualWindow(60.0))
    stage.speaker = device = Gone(window)  # type: ignore[assignment]
    with pytest.raises(
        SpanLabError,
        match=r"a sound could not be played \(it was pulled out\): the session stops here, and can be resumed",
    ):
        play(
            stage,
            trial(*(Percept("present", (Display(noise(number), 300.0),)) for number in range(3))),
            lambda ask: None,
        )
    assert len(device.played) == 1


def test_a_machine_without_sound_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaker_module, "no_sound_card", lambda: True)
    speaker_module._tried.cache_clear()
    said = (
        r"the paradigm plays sounds, and none can be played here \(this machine has no sound card\): connect headphones"
    )
    with pytest.raises(SpanLabError, match=said):
        check_sounds([CROSS, noise(1)])
    with pytest.raises(SpanLabError, match=said):
        check_sounds([noise(1)], Speaker(lambda: 0.0))
    check_sounds([CROSS, BLANK])


def test_tones_come_and_go_without_a_click() -> None:
    wave = waveform(Tone.model_validate({"frequency_hz": 500, "ms": 100}), 48000)
    assert wave.shape == (4800, 2)
    assert abs(wave[0]).max() < 1e-6
    assert abs(wave[-1]).max() < 0.01
    assert 0.99 < wave.max() <= 1


@pytest.mark.slow
@pytest.mark.skipif(
    bool(LACKING) or not sys.platform.startswith("linux"),
    reason=f"needs a JACK sound server and a window: {', '.join(LACKING) or 'Linux'}",
)
def test_what_is_heard_is_the_file_at_the_time_that_is_recorded() -> None:
    """How late sounds are on this machine is measured, and not judged: others are busy on it. What
    is recorded must agree with what was heard."""
    found = bench("sounds/sound_bench", 12, seconds=200)
    assert found["facts"]["backend"] == "Psychtoolbox PsychPortAudio"
    assert found["facts"]["declared_latency_ms"] > 0
    assert statistics.median(found["alike"]) > 0.999, "the samples of the file, and nothing else"
    assert abs(statistics.median(found["lag_ms"])) < 50, (
        "heard when the record says; the clock of a server that was kept waiting takes seconds to settle"
    )
    assert len(found["after_display_ms"]) == 12
