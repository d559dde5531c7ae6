"""Sounds of one's own: found beside the paradigm, known by their content alone, never cut off, and
refused to those who cannot hear."""

from __future__ import annotations

import io
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from command_line import Run, output_of
from image_paradigms import pattern, write_faces
from session_tools import Saying, known_by_contents, start, take, taken_by_machines
from sound_paradigms import TONES, burst, write_sound, write_tones

from spanlab.agents.base import Response
from spanlab.agents.human import Participant, WindowOptions
from spanlab.agents.registry import make_agent
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Percept, Trial, compile_trial, load_paradigm, percept_bytes, plan_session
from spanlab.paradigms.checking import check_paradigm
from spanlab.paradigms.preview.example import displays_of
from spanlab.paradigms.preview.sheet import trial_picture
from spanlab.sessions import Request, Runner, begin, read_responses, reopen
from spanlab.stimuli import own_files
from spanlab.stimuli.kinds.files import ShownSound
from spanlab.stimuli.own_files import content_of, samples_of, wav_file
from spanlab.stimuli.render import speaker

PROBE = '{text: "?", sound: {file: "tones/{=back[0] + 1}.wav", volume: 0.5, words: "sound {=back[0] + 1}"}}'


@pytest.fixture
def tones(tmp_path: Path) -> Path:
    return write_tones(tmp_path / "lab")


def sound_of(trial: Trial, step: int = 0) -> ShownSound:
    stimulus = trial.steps[step].percept.for_machine.stimulus
    assert isinstance(stimulus, ShownSound)
    return stimulus


def one_sound(folder: Path, show: str) -> Trial:
    """A trial with one display, and a question."""
    (path := folder / "one.yaml").write_text(TONES.replace(PROBE, show), encoding="utf-8")
    return compile_trial(load_paradigm(path), {"list_length": 2}, 1)


# -- trials and their identity ---------------------------------------------------------------------


def test_a_trial_is_known_by_what_its_sounds_hold_and_not_by_their_names(tones: Path) -> None:
    known_by_contents(tones, write_tones, TONES, lambda: write_sound(tones.parent / "tones" / "2.wav", 99))


def test_a_sound_stands_alone_or_beside_anything_that_is_seen(tmp_path: Path) -> None:
    assert not list(sound_of(one_sound(write_tones(tmp_path).parent, "{sound: tones/1.wav}"), -1).primitives())
    pattern(1).save(tmp_path / "face.png")
    for seen in (
        "image: face.png",
        "letter: A",
        "together: [{show: {letter: A}, x: 24, y: 48, size: 0.5}]",
        "blank: white",
    ):
        stimulus = sound_of(one_sound(tmp_path, f"{{{seen}, sound: tones/1.wav}}"), -1)
        alone = one_sound(tmp_path, f"{{{seen}}}").steps[-1].percept.for_machine.stimulus
        assert stimulus.visual == alone
        assert stimulus.scene() == alone.scene()
        assert stimulus.words().startswith(alone.words())
        assert "sound" not in alone.words()
        assert not stimulus.said_in_words, "nobody has said what is heard"


def test_what_is_heard_is_told_apart_by_everything_that_makes_a_sound(tmp_path: Path) -> None:
    write_tones(tmp_path)
    forms = (
        "{sound: tones/1.wav}",
        "{sound: tones/2.wav}",
        "{sound: {file: tones/1.wav, volume: 0.5}}",
        "{letter: A, sound: tones/1.wav}",
        "{letter: A}",
    )
    percepts = {percept_bytes(one_sound(tmp_path, form).steps[-1].percept) for form in forms}
    assert len(percepts) == len(forms)


def test_a_display_lasts_as_long_as_its_sound_where_it_says_so(tmp_path: Path) -> None:
    write_tones(tmp_path)
    write_sound(tmp_path / "long.wav", ms=612.5)
    shown = (
        one_sound(tmp_path, "[{letter: A, sound: long.wav, ms: sound}, {blank: {}, ms: 100}]")
        .steps[-1]
        .percept.displays
    )
    assert [display.ms for display in shown] == [612.5, 100.0]


@pytest.mark.parametrize(
    ("form", "save"),
    [("wav", {}), ("wav", {"subtype": "PCM_24"}), ("wav", {"subtype": "FLOAT"}), ("flac", {}), ("ogg", {})],
)
def test_formats_are_read_alike(tmp_path: Path, form: str, save: dict[str, Any]) -> None:
    write_tones(tmp_path)
    write_sound(tmp_path / f"own.{form}", 7, ms=250, rate_hz=44100, channels=2, **save)
    stimulus = sound_of(one_sound(tmp_path, f"{{sound: own.{form}}}"), -1)
    assert (stimulus.ms, stimulus.channels, stimulus.rate_hz) == (250.0, 2, 44100)
    samples, rate_hz = samples_of(stimulus.sha256)
    assert rate_hz == 44100
    if form == "ogg":
        assert np.argmax(np.correlate(samples[:, 0], burst(7, 250, 44100, 2)[:, 0], "same")) == len(samples) // 2, (
            "lossy, but not shifted"
        )
    else:
        assert np.abs(samples - burst(7, 250, 44100, 2)).max() < 3.2e-5, "a step of 16 bits"


def test_what_goes_out_has_the_samples_and_nothing_else(tmp_path: Path) -> None:
    write_tones(tmp_path)
    with soundfile.SoundFile(tmp_path / "named.wav", "w", 48000, 1, "PCM_16") as file:
        file.title = "the target"
        file.write(burst(1))
    assert b"the target" in (tmp_path / "named.wav").read_bytes()
    stimulus = sound_of(one_sound(tmp_path, "{sound: named.wav}"), -1)
    made = wav_file(stimulus.sha256)
    assert b"target" not in made
    with wave.open(io.BytesIO(made)) as read:
        assert (read.getnframes(), read.getframerate(), read.getnchannels(), read.getsampwidth()) == (4800, 48000, 1, 2)
        exact = np.frombuffer(read.readframes(4800), "<i2")
    assert np.array_equal(exact, soundfile.read(tmp_path / "named.wav", dtype="int16")[0])
    assert np.abs(np.frombuffer(wav_file(stimulus.sha256, 0.5)[44:], "<i2") - exact / 2).max() <= 0.5


# -- mistakes --------------------------------------------------------------------------------------


def _cut_off(path: Path) -> None:
    write_sound(path, ms=2000)
    path.write_bytes(path.read_bytes()[:5000])


def _loud(path: Path) -> None:
    soundfile.write(path, np.full(100, 1.5, np.float32), 48000, subtype="FLOAT")


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (
        lambda path: path.unlink(),
        "there is no such sound beside the paradigm: .*tone.wav; did you mean 'tones.wav'",
    ),
    "broken": (_cut_off, "broken"),
    "text": (lambda path: path.write_text("no sound", encoding="utf-8"), "no sound that could be read"),
    "empty": (lambda path: write_sound(path, ms=0), "the sound is empty"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "it is a folder; a sound is one file"),
    "surround": (lambda path: write_sound(path, channels=6), "has 6 channels"),
    "slow": (lambda path: write_sound(path, rate_hz=4000), "4,000 samples a second"),
    "packed": (lambda path: write_sound(path, subtype="MS_ADPCM"), "MS_ADPCM.*save it as WAV with 16 bits"),
    "endless": (lambda path: write_sound(path, ms=601_000, rate_hz=8000), "at most 600 s"),
    "huge": (lambda path: path.write_bytes(bytes(50_000_001)), "50.0 MB"),
    "loud": (_loud, "beyond full scale"),
    "outside": (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")), "leads out of the folder"),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, wrong: str) -> None:
    make, says = WRONG[wrong]
    write_tones(tmp_path)
    (tmp_path / "tones.wav").write_bytes(b"")
    write_sound(tmp_path / "tone.wav")
    make(tmp_path / "tone.wav")
    with pytest.raises(ParadigmError, match=rf"one.yaml:16 .*show > sound.*tone.wav.*{says}"):
        one_sound(tmp_path, "{sound: tone.wav}")


def test_a_computer_without_the_library_that_reads_sounds_says_which(
    tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "soundfile.py").write_text("raise OSError('cannot load library')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "without")
    monkeypatch.delitem(sys.modules, "soundfile")
    write_sound(tones.parent / "tones" / "1.wav", 77)  # whose content nobody has looked at
    with pytest.raises(ParadigmError, match="lacks the library libsndfile: install it"):
        load_paradigm(tones)


@pytest.mark.parametrize(
    ("show", "says"),
    [
        ("{sound: ../tones/1.wav}", "one.yaml:16 .*sounds lie in the folder of the paradigm"),
        ("{sound: song.mp3}", "one.yaml:16 .*a sound file ends in .wav"),
        (
            "{sound: '=\"tones/9.wav\"'}",
            r"one.yaml:16 .*'tones/9.wav' is not among the sounds of this paradigm; did you mean .*sounds: \[tones\]",
        ),
        ("{sound: {file: tones/1.wav, volume: 2}}", "volume"),
        ("{sound: {file: tones/1.wav, volume: 0}}", "volume"),
        ("{sound: tones/1.wav, ms: 90}", "one.yaml:16 .*the sound lasts 100 ms and would be cut off after 90 ms"),
        ("{letter: A, ms: sound}", "one.yaml:16 .*the sound of the display, which has none"),
        ("{tone: {}, sound: tones/1.wav}", "one sound"),
        ("{letter: A, blank: {}, sound: tones/1.wav}", "expected exactly one stimulus"),
        ("{together: [{show: {sound: tones/1.wav}}]}", "a sound has no place: write it beside 'together'"),
    ],
)
def test_a_wrong_display_is_named_with_its_line(tmp_path: Path, show: str, says: str) -> None:
    write_tones(tmp_path)
    with pytest.raises(ParadigmError, match=says):
        one_sound(tmp_path, show)


def test_the_check_finds_sounds_that_are_too_long_in_any_trial(tmp_path: Path) -> None:
    assert "tones is fine" in check_paradigm(write_tones(tmp_path))
    write_sound(tmp_path / "tones" / "3.wav", 3, ms=150)
    with pytest.raises(
        ParadigmError, match=r"tones.yaml:13 .*ms: the sound lasts 150 ms and would be cut off after 120 ms"
    ):
        check_paradigm(tmp_path / "tones.yaml")


# -- those who cannot hear -------------------------------------------------------------------------


def test_every_simulated_agent_takes_it_and_is_scored_as_it_should_be(tmp_path: Path, tones: Path) -> None:
    taken_by_machines(tmp_path / "data", load_paradigm(tones))


# -- sessions --------------------------------------------------------------------------------------


def old(percept: Percept, number: int) -> Response:
    return Response("old")


def test_a_session_keeps_its_sounds_and_refuses_others(
    tmp_path: Path, tones: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = start(tmp_path / "data", load_paradigm(tones), Saying(old), 4, source=str(tones)).folder
    facts = load_paradigm(tones).reader.files
    assert {path.name for path in (folder / "sounds").iterdir()} == {f"{one.sha256}.wav" for one in facts.values()}
    assert not (folder / "images").exists()
    kept = tones.parent.rename(tmp_path / "moved")
    assert (
        reopen(folder).paradigm.reader.files == facts
    )  # the files of the laboratory are gone: the session has its own
    kept.rename(tmp_path / "lab")
    write_sound(tones.parent / "tones" / "2.wav", 50)
    with pytest.raises(SpanLabError, match=r"tones.*has changed since .*, so the session cannot go on"):
        reopen(folder)
    write_tones(tones.parent)
    Runner(reopen(folder), Saying(old)).run()
    assert len(read_responses(folder)) == 4
    copy = next((folder / "sounds").iterdir())
    copy.write_bytes(copy.read_bytes() + b"x")
    with pytest.raises(SpanLabError, match="has changed: it is not the sound tones/"):
        reopen(folder)
    monkeypatch.setattr(own_files, "_PLACES", {})
    with pytest.raises(SpanLabError, match="a sound is missing"):
        content_of(copy.stem, noun="sound")


@pytest.mark.parametrize("form", ["bids", "psychds", "csv"])
def test_what_is_given_away_holds_no_files_of_ones_own(tmp_path: Path, run: Run, form: str) -> None:
    """Whoever shares answers need not have the right to share what was heard or seen."""
    data = tmp_path / "data"
    kept = {
        path.read_bytes()
        for paradigm, folder in ((write_tones(tmp_path / "lab"), "sounds"), (write_faces(tmp_path / "lab"), "images"))
        for path in (take(data, load_paradigm(paradigm), make_agent("ideal"), 4, seed=2).folder / folder).iterdir()
    }
    assert len(kept) == 8
    output_of(*run("export", form, str(data), str(tmp_path / "given")))
    given = [path for path in (tmp_path / "given").rglob("*") if path.is_file()]
    assert given
    assert not [path for path in given if path.suffix in {".wav", ".png"} or path.read_bytes() in kept]


# -- views -----------------------------------------------------------------------------------------


def test_previews_show_that_something_is_heard(tmp_path: Path, tones: Path) -> None:
    loud, silent = (
        trial_picture(compile_trial(load_paradigm(path), {"list_length": 2}, 1))
        for path in (tones, write_tones(tmp_path / "silent", _silent()))
    )
    assert loud.size == silent.size
    assert np.asarray(loud).tobytes() != np.asarray(silent).tobytes(), "a loudspeaker"
    examples = displays_of(compile_trial(load_paradigm(tones), {"list_length": 2}, 1), 1)
    assert [type(example.stimulus).name for example in examples] == ["text"], "what is seen; empty screens show nothing"


def _silent() -> str:
    return TONES.replace('sound: {file: "tones/{=one + 1}.wav", words: "sound {=one + 1}"}', "blank: {}").replace(
        PROBE, '{text: "?"}'
    )


# -- the command line ------------------------------------------------------------------------------


def test_the_check_says_whether_this_computer_can_play_them(
    tones: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speaker, "no_sound_card", lambda: True)
    speaker._tried.cache_clear()
    out = output_of(*run("check", str(tones)))
    said = " ".join(out.split())  # it is folded to the width of a terminal
    assert (
        "sounds: 4 files of 100 to 100 ms; this computer cannot play them (this machine has no sound card), so sessions"
        " at the window are refused" in said
    )


def test_the_check_says_that_this_computer_can_play_them(
    tones: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speaker, "no_sound", lambda: None)
    assert "sounds: 4 files of 100 to 100 ms; this computer can play them\n" in run("check", str(tones))[1]


def test_a_session_at_the_window_is_refused_before_it_begins_where_nothing_can_be_heard(
    tones: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(speaker, "no_sound_card", lambda: True)
    speaker._tried.cache_clear()
    plan = plan_session(load_paradigm(tones), seed=1, trials=2)
    with pytest.raises(
        SpanLabError, match=r"the paradigm plays sounds, and none can be played here \(this machine has no sound card\)"
    ):
        begin(tmp_path / "data", load_paradigm(tones), Participant(WindowOptions(width_cm=34.0)), plan, Request(seed=1))
    assert not (tmp_path / "data").exists()


def test_a_server_for_browsers_refuses_it_before_anybody_comes(tones: Path, run: Run) -> None:
    status, _, complaint = run("serve", str(tones), "--data", "sessions")
    assert status != 0
    assert (
        "a page in a browser does not play sounds from files; take the session at the window (spanlab run)" in complaint
    )
