"""The dialog before a session: questions about the participant, checked before it closes; whatever
is wrong is named beside its field.

It knows nothing of studies: questions come in, typed answers go out, and a function says what is
wrong with them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....core.errors import SpanLabError
from ....core.event_loop import ENDING, catching
from ....core.locale import sentence
from ..display.window import need_window

#: libraries of the system without which Qt ends the whole process instead of complaining, with the
#: packages that bring them
_QT_NEEDS = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
_STYLE = """
QDialog { background: white; }
QLabel { color: #222; font-size: 11pt; }
QLabel#title { font-size: 16pt; font-weight: 600; }
QLabel#note { color: #666; font-size: 10pt; }
QLabel[wrong="true"] { color: #b02a1a; font-size: 10pt; }
QLineEdit, QComboBox { color: #222; background: white; border: 1px solid #999; border-radius: 4px; padding: 5px 7px; font-size: 11pt; min-width: 17em; }
QLineEdit:focus, QComboBox:focus { border: 2px solid #0072b2; padding: 4px 6px; }
QLineEdit[wrong="true"], QComboBox[wrong="true"] { border: 2px solid #b02a1a; padding: 4px 6px; }
QComboBox::drop-down { border: none; width: 26px; }
QComboBox::down-arrow { width: 0; height: 0; border-left: 5px solid white; border-right: 5px solid white; border-top: 7px solid #555; margin-right: 8px; }
QComboBox QAbstractItemView { color: #222; background: white; selection-background-color: #0072b2; selection-color: white; }
QPushButton { color: #222; background: #eee; border: 1px solid #aaa; border-radius: 4px; padding: 7px 20px; font-size: 11pt; }
QPushButton:default { color: white; background: #0072b2; border-color: #0072b2; }
QPushButton:focus { border: 2px solid #222; padding: 6px 19px; }
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Question:
    """One line of the dialog.

    Parameters
    ----------
    name : of the answer
    label : what is asked
    choices : what may be chosen: for each value what it is called; empty where something is typed
    value : what stands there at first
    required : marked as needed
    hint : shown in an empty line
    late : shown only once something is wrong with it
    """

    name: str
    label: str
    choices: Mapping[str, str] = field(default_factory=dict)
    value: str = ""
    required: bool = False
    hint: str = ""
    late: bool = False


#: given what was typed, by name: what is wrong, by name; empty when the session may begin
Check = Callable[[Mapping[str, str]], Mapping[str, str]]


def ask(title: str, questions: Sequence[Question], check: Check, language: str = "en") -> dict[str, str] | None:
    """Show the dialog until all answers are valid, or somebody cancels it (None).

    Raises
    ------
    SpanLabError
        when there is no display, or PyQt6 or a library that it needs is not installed.
    """
    dialog = _Dialog(_qt(), title, questions, check, language)
    with catching(signal.SIG_DFL, *ENDING):  # Qt's own loop would not let a handler run
        return dialog.run()


def _qt() -> Any:
    """PyQt6's widgets, and a running application. Whatever would make Qt end the process is looked
    for first."""
    need_window()
    try:
        from PyQt6 import QtWidgets
    except ImportError as error:
        raise SpanLabError(
            f"the dialog needs PyQt6, which cannot be loaded ({error}); install it with: pip install 'spanlab[lab]'"
        ) from error
    if QtWidgets.QApplication.instance() is None:
        if sys.platform.startswith("linux") and os.environ.get("QT_QPA_PLATFORM", "xcb") == "xcb":
            _check_x11()
        application = QtWidgets.QApplication(["spanlab"])
        application.setQuitOnLastWindowClosed(False)
        _kept.append(application)
    return QtWidgets


#: Qt's application has to live as long as the process
_kept: list[Any] = []


def _check_x11() -> None:
    missing = [package for library, package in _QT_NEEDS.items() if not _loads(library)]
    if missing:
        raise SpanLabError(
            "the dialog needs libraries of the system that are missing; install them with: sudo apt-get install"
            f" {' '.join(missing)}"
        )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


class _Dialog:
    """The dialog on the screen."""

    def __init__(self, widgets: Any, title: str, questions: Sequence[Question], check: Check, language: str) -> None:
        self._questions, self._check, self._language = questions, check, language
        self._answers: dict[str, str] | None = None
        #: for each question the line of its answer, and the one that says what is wrong with it
        self._lines: dict[str, Any] = {}
        self._wrong: dict[str, Any] = {}
        self._dialog = widgets.QDialog()
        self._dialog.setWindowTitle("SpanLab")
        self._dialog.setStyleSheet(_STYLE)
        outside = widgets.QVBoxLayout(self._dialog)
        outside.setContentsMargins(28, 22, 28, 22)
        outside.setSpacing(14)
        heading = widgets.QLabel(title)
        heading.setObjectName("title")
        heading.setWordWrap(True)
        inside = widgets.QWidget()
        self._form = widgets.QFormLayout(inside)
        self._form.setHorizontalSpacing(18)
        for question in questions:
            self._add(widgets, question)
        self._scroll = widgets.QScrollArea()  # many questions scroll
        self._scroll.setWidget(inside)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(widgets.QFrame.Shape.NoFrame)
        self._scroll.setStyleSheet("QScrollArea, QScrollArea > QWidget > QWidget { background: white; }")
        note = widgets.QLabel(sentence("dialog.needed", language))
        note.setObjectName("note")
        for part in (heading, self._scroll, note):
            outside.addWidget(part)
        buttons = widgets.QHBoxLayout()
        buttons.addStretch()
        for key, act in (("cancel", self._dialog.reject), ("begin", self._accept)):
            button = widgets.QPushButton(sentence(f"dialog.{key}", language))
            button.setAutoDefault(key == "begin")
            button.setDefault(key == "begin")
            button.clicked.connect(act)
            buttons.addWidget(button)
        outside.addLayout(buttons)
        self._fit()

    def _add(self, widgets: Any, question: Question) -> None:
        if question.choices:
            line = widgets.QComboBox()
            if question.value not in question.choices:
                line.addItem(f"– {sentence('dialog.choose', self._language)} –", "")
            for value, called in question.choices.items():
                line.addItem(called, value)
            line.setCurrentIndex(max(0, line.findData(question.value)))
        else:
            line = widgets.QLineEdit(question.value)
            line.setPlaceholderText(question.hint)
            line.setMaxLength(500)
        wrong = widgets.QLabel("")
        wrong.setWordWrap(True)
        wrong.setProperty("wrong", "true")
        self._form.addRow(question.label + (" *" if question.required else ""), line)
        self._form.addRow("", wrong)
        self._form.setRowVisible(line, not question.late)
        self._form.setRowVisible(wrong, False)
        self._lines[question.name], self._wrong[question.name] = line, wrong

    def _fit(self) -> None:
        """As large as the questions need, and no larger than the screen."""
        room = self._dialog.screen().availableGeometry()
        self._form.activate()
        width = min(max(self._form.sizeHint().width(), 620), room.width() - 120)
        needed = max(self._form.sizeHint().height(), self._form.totalHeightForWidth(width))
        self._scroll.setFixedSize(width, min(needed, room.height() - 220))
        self._dialog.adjustSize()

    def _accept(self) -> None:
        typed = {
            question.name: str(line.currentData() or "") if question.choices else str(line.text())
            for question, line in zip(self._questions, self._lines.values(), strict=True)
            if not (question.late and line.isHidden())
        }
        problems = self._check(typed)
        for name, line in self._lines.items():
            message = problems.get(name, "")
            if message:
                self._form.setRowVisible(line, True)
            self._wrong[name].setText(message)
            self._form.setRowVisible(self._wrong[name], bool(message))
            line.setProperty("wrong", "true" if message else "false")
            line.style().unpolish(line)
            line.style().polish(line)
        if not problems:
            self._answers = typed
            self._dialog.accept()
            return
        self._fit()
        first = next((line for name, line in self._lines.items() if name in problems), None)
        if first is not None:
            first.setFocus()
            self._scroll.ensureWidgetVisible(first)

    def run(self) -> dict[str, str] | None:
        """Until it closes; what was typed, or None when it was cancelled."""
        self._dialog.show()
        self._dialog.activateWindow()
        self._dialog.raise_()
        empty = [self._lines[question.name] for question in self._questions if not (question.late or question.value)]
        if empty:
            empty[0].setFocus()
        self._dialog.exec()
        self._dialog.deleteLater()
        return self._answers
