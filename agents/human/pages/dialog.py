"""The dialog before a session: questions about the participant, checked before it closes; whatever
is wrong is named beside its field.

It knows nothing of studies: questions come in, typed answers go out, and a function says what is
wrong with them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ....core.errors import SpanLabError
from ....core.locale import sentence
from ..display.window import need_display

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
#: given what was typed, by name: what other answers are likely to be, by name
Propose = Callable[[Mapping[str, str]], Mapping[str, str]]


def ask(
    title: str,
    questions: Sequence[Question],
    check: Check,
    language: str = "en",
    propose: Mapping[str, Propose] = MappingProxyType({}),
) -> dict[str, str] | None:
    """Show the dialog until all answers are valid, or somebody cancels it (None).

    Parameters
    ----------
    propose : by question: once its answer is another one, what is put into others, where it can
        still be changed

    Raises
    ------
    SpanLabError
        when there is no display, or PyQt6 or a library that it needs is not installed.
    """
    widgets = _qt()
    dialog = _Dialog(widgets, title, questions, check, language, propose)
    return dialog.run()


def _qt() -> Any:
    """PyQt6's widgets, and a running application. Whatever would make Qt end the process is looked
    for first."""
    need_display()
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
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    if failed:
        raise SpanLabError(
            f"no window can be opened on the display '{os.environ['DISPLAY']}'; check that the display is running"
        )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


class _Dialog:
    """The dialog on the screen."""

    def __init__(
        self,
        widgets: Any,
        title: str,
        questions: Sequence[Question],
        check: Check,
        language: str,
        propose: Mapping[str, Propose],
    ) -> None:
        self._questions, self._check, self._language, self._propose = questions, check, language, propose
        self._proposed_for: dict[str, str] = {}
        self._answers: dict[str, str] | None = None
        self._lines: dict[str, Any] = {}
        self._wrong: dict[str, Any] = {}
        self._labels: dict[str, Any] = {}
        self._dialog = widgets.QDialog()
        self._dialog.setWindowTitle("SpanLab")
        self._dialog.setStyleSheet(_STYLE)
        outside = widgets.QVBoxLayout(self._dialog)
        outside.setContentsMargins(28, 22, 28, 22)
        outside.setSpacing(14)
        heading = widgets.QLabel(title)
        heading.setObjectName("title")
        heading.setWordWrap(True)
        outside.addWidget(heading)
        # Many questions scroll; few take no more room than they need.
        inside = widgets.QWidget()
        form = widgets.QGridLayout(inside)
        form.setContentsMargins(0, 0, 8, 0)
        form.setHorizontalSpacing(18)
        form.setVerticalSpacing(4)
        for row, question in enumerate(questions):
            self._add(widgets, form, row, question)
        scroll = widgets.QScrollArea()
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(widgets.QFrame.Shape.NoFrame)
        scroll.setStyleSheet("QScrollArea, QScrollArea > QWidget > QWidget { background: white; }")
        outside.addWidget(scroll)
        note = widgets.QLabel(sentence("dialog.needed", language))
        note.setObjectName("note")
        outside.addWidget(note)
        buttons = widgets.QHBoxLayout()
        buttons.addStretch()
        for text, act, default in (
            (sentence("dialog.cancel", language), self._dialog.reject, False),
            (sentence("dialog.begin", language), self._accept, True),
        ):
            button = widgets.QPushButton(text)
            button.setAutoDefault(default)
            button.setDefault(default)
            button.clicked.connect(act)
            buttons.addWidget(button)
        outside.addLayout(buttons)
        self._scroll, self._inside = scroll, inside
        self._fit()

    def _add(self, widgets: Any, form: Any, row: int, question: Question) -> None:
        label = widgets.QLabel(question.label + (" *" if question.required else ""))
        line = widgets.QComboBox() if question.choices else widgets.QLineEdit(question.value)
        if question.choices:
            if question.value not in question.choices:
                line.addItem(f"– {sentence('dialog.choose', self._language)} –", "")
            for value, called in question.choices.items():
                line.addItem(called, value)
            line.setCurrentIndex(max(0, line.findData(question.value)))
        else:
            line.setPlaceholderText(question.hint)
            if question.name in self._propose:
                line.editingFinished.connect(lambda name=question.name: self._follow(name))
            line.setMaxLength(500)
        wrong = widgets.QLabel("")
        wrong.setWordWrap(True)
        wrong.setProperty("wrong", "true")
        label.setBuddy(line)
        form.addWidget(label, 2 * row, 0)
        form.addWidget(line, 2 * row, 1)
        form.addWidget(wrong, 2 * row + 1, 1)
        form.setColumnStretch(1, 1)
        self._lines[question.name], self._wrong[question.name], self._labels[question.name] = line, wrong, label
        for part in (label, line):
            part.setVisible(not question.late)
        wrong.hide()

    def _fit(self) -> None:
        """As large as the questions need, and no larger than the screen."""
        room = self._dialog.screen().availableGeometry()
        form = self._inside.layout()
        form.activate()
        width = min(max(form.sizeHint().width(), 600), room.width() - 120)
        height = form.heightForWidth(width) if form.hasHeightForWidth() else form.sizeHint().height()
        fits = height <= room.height() - 220
        self._scroll.setFixedSize(width + (0 if fits else 20), min(height, room.height() - 220))
        self._dialog.adjustSize()

    def _typed(self) -> dict[str, str]:
        return {
            question.name: str(line.currentData() or "") if question.choices else str(line.text())
            for question, line in ((question, self._lines[question.name]) for question in self._questions)
            if not (question.late and line.isHidden())
        }

    def _follow(self, name: str) -> None:
        """Somebody has typed an answer on which others are likely to depend."""
        typed = self._typed()
        if self._proposed_for.get(name, "") == typed[name]:
            return
        self._proposed_for[name] = typed[name]
        late = {question.name for question in self._questions if question.late}
        for other, value in self._propose[name](typed).items():
            line = self._lines.get(other)
            if line is None:
                continue
            if other in late:
                for part in (line, self._labels[other]):
                    part.setVisible(bool(value))
            if value:
                line.setCurrentIndex(max(0, line.findData(value)))
        self._fit()

    def _accept(self) -> None:
        typed = self._typed()
        problems = dict(self._check(typed))
        for name, line in self._lines.items():
            self._mark(name, line, problems.get(name, ""))
        if not problems:
            self._answers = typed
            self._dialog.accept()
            return
        self._fit()
        first = next((self._lines[question.name] for question in self._questions if question.name in problems), None)
        if first is not None:
            first.setFocus()
            self._scroll.ensureWidgetVisible(first)

    def _mark(self, name: str, line: Any, message: str) -> None:
        if message:
            for part in (line, self._labels[name]):
                part.setVisible(True)
        self._wrong[name].setText(message)
        self._wrong[name].setVisible(bool(message))
        line.setProperty("wrong", "true" if message else "false")
        line.style().unpolish(line)
        line.style().polish(line)

    def run(self) -> dict[str, str] | None:
        """Until it closes; what was typed, or None when it was cancelled."""
        self._dialog.show()
        self._dialog.activateWindow()
        self._dialog.raise_()
        empty = [self._lines[question.name] for question in self._questions if not question.late and not question.value]
        if empty:
            empty[0].setFocus()
        self._dialog.exec()
        self._dialog.deleteLater()
        return self._answers
