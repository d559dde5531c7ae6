"""Images of one's own: found beside the paradigm, known by their content alone, never stretched,
and the same for everybody who sees."""

from __future__ import annotations

import base64
import io
import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_trials import HERE, converse
from image_paradigms import FACES, pattern, write_faces
from PIL import Image
from session_tools import Saying, known_by_contents, start, taken_by_machines

from spanlab.agents.base import Response
from spanlab.agents.chat import ChatSettings
from spanlab.agents.chat.agent import ChatAgent
from spanlab.core.errors import ParadigmError, SpanLabError
from spanlab.paradigms import Paradigm, Percept, Trial, compile_trial, load_paradigm
from spanlab.paradigms.checking import check_paradigm
from spanlab.sessions import Runner, read_responses, reopen
from spanlab.sessions.replaying import recorded_agent
from spanlab.sessions.session import same_trials
from spanlab.stimuli import own_files
from spanlab.stimuli.own_files import content_of
from spanlab.stimuli.render.pixels import network_frame, picture, render
from spanlab.stimuli.scene import BACKGROUND

BACK = np.array(BACKGROUND)


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    return write_faces(tmp_path / "lab")


def scene_of(trial: Trial, step: int = 0) -> Any:
    return trial.steps[step].percept.for_machine.stimulus.scene()


def one_image(folder: Path, show: str) -> Trial:
    """A trial with one display, and a question."""
    text = FACES.replace('{image: {file: "faces/{=back[0] + 1}.png", size: 60, words: "face {=back[0] + 1}"}}', show)
    (path := folder / "one.yaml").write_text(text, encoding="utf-8")
    return compile_trial(load_paradigm(path), {"list_length": 2}, 1)


# -- trials and their identity ---------------------------------------------------------------------


def test_a_trial_is_known_by_what_its_images_hold_and_not_by_their_names(faces: Path) -> None:
    known_by_contents(faces, write_faces, FACES, lambda: pattern(99).save(faces.parent / "faces" / "2.png"))


def test_levels_and_draws_name_images_without_a_list(tmp_path: Path) -> None:
    text = (
        FACES.replace("  list_length: [2, 3]\n", "  list_length: [2, 3]\n  mask: [faces/3.png, faces/4.png]\n")
        .replace("images: [faces]\n", "")
        .replace("  order:", "  names: [faces/1.png, faces/2.png]\n  order:")
        .replace('"faces/{=face + 1}.png"', '"=names[face % 2]"')
        .replace('"faces/{=back[0] + 1}.png"', "=mask")
    )
    paradigm = load_paradigm(write_faces(tmp_path, text))
    assert [*paradigm.reader.files] == [f"faces/{number}.png" for number in range(1, 5)]
    assert (
        len(
            {
                scene_of(compile_trial(paradigm, {"list_length": 2, "mask": mask}, 1), -1)
                for mask in ("faces/3.png", "faces/4.png")
            }
        )
        == 2
    )


# -- mistakes --------------------------------------------------------------------------------------


def _animated(path: Path) -> None:
    pattern(1).convert("P").save(path, save_all=True, append_images=[pattern(2).convert("P")], format="GIF")


def _bomb(path: Path) -> None:
    """A small file that says that it is 60,000 pixels wide and high."""
    content = bytearray(path.read_bytes())
    content[16:24] = struct.pack(">II", 60_000, 60_000)
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    path.write_bytes(content)


def _cut_off(path: Path) -> None:
    pattern(1, (400, 400)).save(path, format="PNG")
    path.write_bytes(path.read_bytes()[:300])


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (
        lambda path: path.unlink(),
        "there is no such image beside the paradigm: .*face.png; did you mean 'faces.png'",
    ),
    "broken": (_cut_off, "broken"),
    "text": (lambda path: path.write_text("no image", encoding="utf-8"), "no image that could be read"),
    "empty": (lambda path: path.write_bytes(b""), "no image that could be read"),
    "folder": (lambda path: (path.unlink(), path.mkdir()), "it is a folder"),
    "animated": (_animated, "animated"),
    "wide": (lambda path: Image.new("L", (5000, 10)).save(path, format="PNG"), "5000 x 10 pixels"),
    "bomb": (_bomb, "the image is far too large"),
    "huge": (lambda path: path.write_bytes(bytes(20_000_001)), "20.0 MB"),
    "printing": (lambda path: Image.new("CMYK", (10, 10)).save(path, format="JPEG"), "kept as CMYK"),
    "deep": (
        lambda path: Image.fromarray(np.zeros((9, 9), np.uint16)).save(path, format="PNG"),
        "save it as RGB with 8 bits",
    ),
    "outside": (lambda path: (path.unlink(), path.symlink_to("/etc/hostname")), "leads out of the folder"),
}


@pytest.mark.parametrize("wrong", sorted(WRONG))
def test_a_wrong_file_is_told_with_its_line(tmp_path: Path, wrong: str) -> None:
    make, says = WRONG[wrong]
    write_faces(tmp_path)
    (tmp_path / "faces.png").write_bytes(b"")
    pattern(1).save(tmp_path / "face.png")
    make(tmp_path / "face.png")
    with pytest.raises(ParadigmError, match=rf"one.yaml:16 .*show > image.*face.png.*{says}"):
        one_image(tmp_path, "{image: face.png}")


@pytest.mark.parametrize(
    ("show", "says"),
    [
        ("{image: ../faces/1.png}", r"one.yaml:16 .*images lie in the folder of the paradigm"),
        ("{image: /etc/1.png}", r"one.yaml:16 .*images lie in the folder of the paradigm"),
        ("{image: 'C:/1.png'}", r"one.yaml:16 .*images lie in the folder"),
        (r"{image: 'faces\1.png'}", r"one.yaml:16 .*write folders with /"),
        ("{image: face.tif}", r"one.yaml:16 .*ends in .png"),
        ("{image: {}}", r"one.yaml:16 .*file"),
        (
            "{image: '=\"faces/9.png\"'}",
            r"one.yaml:16 .*'faces/9.png' is not among the images of this paradigm; did you mean .*images: \[faces\]",
        ),
        ("{image: '=\"../1.png\"'}", r"one.yaml:16 .*images lie in the folder"),
        ("{image: {file: faces/1.png, size: 97}}", "size"),
        ("{image: {file: faces/1.png, words: 3}}", "words"),
    ],
)
def test_a_wrong_name_is_told_with_its_line(tmp_path: Path, show: str, says: str) -> None:
    write_faces(tmp_path)
    with pytest.raises(ParadigmError, match=says):
        one_image(tmp_path, show)


@pytest.mark.parametrize(
    ("images", "says"),
    [
        ("[nowhere]", r"faces.yaml:9 images item 1: there is no folder"),
        ("[faces/9.png]", r"faces.yaml:9 .*no such image"),
        ("[../lab]", r"faces.yaml:9 .*in the folder"),
    ],
)
def test_a_wrong_list_is_told_with_its_line(tmp_path: Path, images: str, says: str) -> None:
    with pytest.raises(ParadigmError, match=says):
        load_paradigm(write_faces(tmp_path, FACES.replace("[faces]", images)))


def test_the_check_looks_at_images_where_they_are(tmp_path: Path) -> None:
    write_faces(tmp_path)
    assert "faces is fine" in check_paradigm(tmp_path / "faces.yaml")
    one_image(tmp_path, "{image: {file: faces/1.png, x: 90}}")
    with pytest.raises(ParadigmError, match="reaches beyond the canvas"):
        check_paradigm(tmp_path / "one.yaml")
    write_faces(tmp_path)
    (tmp_path / "faces" / "3.png").unlink()
    with pytest.raises(ParadigmError, match=r"faces.yaml:13 .*'faces/3.png' is not among the images"):
        check_paradigm(tmp_path / "faces.yaml")


# -- what it looks like ----------------------------------------------------------------------------


def test_nothing_is_stretched_and_the_screen_shows_through(tmp_path: Path) -> None:
    write_faces(tmp_path)
    pattern(5, (30, 60), clear=True).save(tmp_path / "tall.png")
    scene = scene_of(one_image(tmp_path, "{image: {file: tall.png, size: 60, x: 40, y: 50}}"), -1)
    large = np.array(picture(scene, 960)).astype(int)
    rows, columns = np.nonzero((large != BACK).any(axis=2))
    assert (columns.min(), columns.max() + 1) == (250, 550), "half as wide as high"
    assert rows.max() + 1 == 800
    assert (large[330, 250:550] == BACK).all(), "its upper third is see-through"
    assert np.abs(large[440, 360] - np.array(pattern(5, (30, 60)))[24, 11]).max() <= 2
    assert np.abs(render(scene)[76, 51].astype(int) - large[765, 515]).max() <= 2
    assert not ((large == (255, 0, 255)).all(axis=2)).any(), "the colour of what is see-through does not shine through"
    assert network_frame(scene).shape == (32, 32, 3)


def test_an_image_as_large_as_the_canvas_is_shown_pixel_by_pixel(tmp_path: Path) -> None:
    write_faces(tmp_path)
    Image.fromarray(np.random.RandomState(1).randint(0, 256, (192, 192, 3), dtype=np.uint8)).save(
        tmp_path / "noise.png"
    )
    scene = scene_of(one_image(tmp_path, "{image: {file: noise.png, size: 96}}"), -1)
    assert np.array_equal(np.array(picture(scene, 192)), np.array(Image.open(tmp_path / "noise.png")))


def test_photographs_are_turned_as_the_camera_says(tmp_path: Path) -> None:
    write_faces(tmp_path)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    Image.new("RGB", (40, 20), "red").save(tmp_path / "turned.jpg", exif=exif)
    scene = scene_of(one_image(tmp_path, "{image: {file: turned.jpg, size: 40}}"), -1)
    rows, columns = np.nonzero((render(scene) != BACK).any(axis=2))
    assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == (40, 20)


# -- sessions --------------------------------------------------------------------------------------


def old(percept: Percept, number: int) -> Response:
    return Response("old")


def begun(data: Path, path: Path) -> Path:
    """A session of four trials that has only begun."""
    return start(data, load_paradigm(path), Saying(old), 4, source=str(path)).folder


def test_a_session_keeps_its_images_and_refuses_others(tmp_path: Path, faces: Path) -> None:
    folder = begun(tmp_path / "data", faces)
    images = load_paradigm(faces).reader.files
    assert {path.name for path in (folder / "images").iterdir()} == {f"{facts.sha256}.png" for facts in images.values()}
    kept = faces.parent.rename(tmp_path / "moved")
    session = reopen(folder)  # the files of the laboratory are gone: the session has its own
    wanted = picture(
        scene_of(compile_trial(load_paradigm(kept / "faces.yaml"), {"list_length": 2}, session.plan[0].seed)), 96
    )
    shown = picture(scene_of(compile_trial(session.paradigm, {"list_length": 2}, session.plan[0].seed)), 96)
    assert np.array_equal(np.array(shown), np.array(wanted))
    kept.rename(tmp_path / "lab")
    pattern(50).save(faces.parent / "faces" / "2.png")
    with pytest.raises(SpanLabError, match=r"faces.*has changed since .*, so the session cannot go on"):
        reopen(folder)
    write_faces(faces.parent)
    Runner(reopen(folder), Saying(old)).run()
    assert len(read_responses(folder)) == 4


def test_a_changed_copy_is_refused_whatever_it_is_read_for(
    tmp_path: Path, faces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(tmp_path / "data", faces)
    copy = next((folder / "images").iterdir())
    copy.write_bytes(copy.read_bytes() + b"x")
    for opened in (reopen, same_trials, recorded_agent_of):
        with pytest.raises(SpanLabError, match="has changed: it is not the image faces/"):
            opened(folder)
    sha256 = copy.stem
    monkeypatch.setattr(own_files, "_PLACES", {})
    shutil.rmtree(folder / "images")
    shutil.rmtree(faces.parent)
    with pytest.raises(SpanLabError, match="is missing"):
        content_of(sha256)
    with pytest.raises(SpanLabError, match="is missing"):
        reopen(folder)


def recorded_agent_of(folder: Path) -> object:
    return recorded_agent(f"recorded:{folder}")


# -- every agent -----------------------------------------------------------------------------------


def test_every_machine_takes_it_and_is_scored_as_it_should_be(tmp_path: Path, faces: Path) -> None:
    taken_by_machines(tmp_path / "data", load_paradigm(faces))


def text_of(messages: Any) -> str:
    contents = [
        [{"text": message["content"]}] if isinstance(message["content"], str) else message["content"]
        for message in messages
    ]
    return " ".join(part.get("text", "") for parts in contents for part in parts)


def pictures_in(messages: Any) -> list[np.ndarray]:
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [np.array(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))) for url in urls]


def by_words(messages: Any) -> str:
    """A reader who compares what is said of images."""
    numbers = re.findall(r": face (\d)", text_of(messages))
    return "old" if numbers[-1] in numbers[:-1] else "new"


def trials_of(paradigm: Paradigm) -> list[Trial]:
    return [compile_trial(paradigm, {"list_length": length}, seed) for length in (2, 3) for seed in range(8)]


def test_readers_of_words_are_always_right_and_readers_without_words_are_refused(tmp_path: Path, faces: Path) -> None:
    paradigm = load_paradigm(faces)
    for trial in trials_of(paradigm):
        ((step, messages, answer),) = converse(trial, paradigm, by_words)
        assert answer == step.truth.answer
        assert not pictures_in(messages)
    silent = load_paradigm(write_faces(tmp_path / "silent", FACES.replace(', words: "face {=face + 1}"', "")))
    refused = "the display 'image' has an image without words, and this model reads words: give it 'words'"
    with pytest.raises(SpanLabError, match=refused):
        list(converse(trials_of(silent)[0], silent, by_words))
    with pytest.raises(SpanLabError, match=refused):
        start(tmp_path / "data", silent, ChatAgent("reader", endpoint=HERE), 2)
    assert not (tmp_path / "data").exists()
    start(tmp_path / "data", silent, ChatAgent("seer", ChatSettings(view="image"), HERE), 2)


def test_models_that_see_get_the_picture_that_people_see(faces: Path) -> None:
    paradigm = load_paradigm(faces)
    settings = ChatSettings(view="image", image_px=384)
    for trial in trials_of(paradigm)[:3]:
        ((_, messages, _),) = converse(trial, paradigm, lambda messages: "old", settings)
        sent = pictures_in(messages)
        assert len(sent) == len(trial.steps)
        for step, pixels in zip(trial.steps, sent, strict=True):
            assert np.array_equal(pixels, np.array(picture(step.percept.for_machine.stimulus.scene(), 384)))
        assert "face 1" not in text_of(messages)
