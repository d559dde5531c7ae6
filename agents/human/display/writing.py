"""The box in which a text is written freely: PsychoPy's own, in which the window's events say what a
key writes, with any layout and input method."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from PIL import ImageFont
from typing_extensions import override

from ....stimuli.render.fonts import own_font, wrap
from ..input.answering import Writing
from .colours import TEXT

#: Space between the edge of the box and the text, in letters' heights.
_MARGIN = 0.5
#: Distance of two lines, in letters' heights, as the box lays them out at the most.
_LINE = 1.5
#: Letters that are drawn once before anybody writes: the first time takes long.
_USUAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789äöüÄÖÜß.,;:!?()'\"-"


def take_dead_keys(shown: Any) -> None:
    """Have X put a dead key and a letter together (^ and e are ê): pyglet asks for that in a window
    to which no keys come, and the letter comes alone."""
    if getattr(shown, "_x_ic", None) is None:
        return
    from pyglet.libs.x11 import xlib

    view, style = shown._view, xlib.XIMPreeditNothing | xlib.XIMStatusNothing
    shown._x_ic = xlib.XCreateIC(
        shown.display._x_im, b"inputStyle", style, b"clientWindow", view, b"focusWindow", view, None
    )
    xlib.XSetICFocus(shown._x_ic)


class WritingBox(Writing):
    """A box on the canvas in which somebody writes.

    Parameters
    ----------
    win : the PsychoPy window
    middle, size : its middle and its size, in pixels from the middle of the window
    letter_px : height of letters; they become smaller where a text has no room
    most : so many characters at most
    """

    def __init__(self, win: Any, middle: tuple[float, float], size: tuple[int, int], letter_px: int, most: int) -> None:
        from psychopy.visual.textbox2.textbox2 import TextBox2, allFonts

        name = "Noto Sans"  # comes with PsychoPy
        if (own := own_font()) is not None:
            allFonts.addFontFile(str(own))
            name = str(ImageFont.truetype(str(own)).getname()[0])
        take_dead_keys(win.winHandle)
        self._win, self._size, self._letter, self.most = win, size, letter_px, most
        #: whether what is typed is written here
        self.listens = False
        self._box: Any = TextBox2(
            win,
            _USUAL,
            font=name,
            alignment="top left",
            units="pix",
            pos=middle,
            size=size,
            letterHeight=letter_px,
            color=TEXT,
            colorSpace="rgb255",
            padding=_MARGIN * letter_px,
            placeholder="",
            formattingSyntax="",  # a star is a star
            editable=True,
            autoLog=False,
        )
        write, move = self._box._onText, self._box._onCursorKeys
        self._box._onText, self._box._onCursorKeys = self._heeding(write), self._heeding(move)
        self._box.draw()
        win.clearBuffer()
        self.begin()

    def _heeding(self, heard: Callable[[str], None]) -> Callable[[str], None]:
        def hear(what: str) -> None:
            if self.listens:
                heard(what)
                self._keep_to_the_limit()

        return hear

    @property
    @override
    def text(self) -> str:
        return str(self._box.text)

    @override
    def insert(self, sign: str) -> None:
        self._box.addCharAtCaret(sign)
        self._keep_to_the_limit()

    def begin(self) -> None:
        """Begin with an empty box."""
        self._box.text = ""
        self._box.caret.index = 0
        self._win.currentEditable = self._box

    @property
    @override
    def state(self) -> Hashable:
        return self.text, self._box.caret.index, self.listens

    def draw(self) -> None:
        """Draw the text, in letters that have room."""
        (wide, high), size = self._size, self._letter
        while size > 8 and len(self._lines(size, wide)) * _LINE * size > high - 2 * _MARGIN * self._letter:
            size -= 1
        if size != round(self._box.letterHeight):
            self._box.letterHeight = size
        self._box.draw()

    def _lines(self, size: int, wide: int) -> list[str]:
        paragraphs = self.text.split("\n")
        return [line for text in paragraphs for line in wrap(text, size, wide - 3 * _MARGIN * self._letter) or [""]]

    def _keep_to_the_limit(self) -> None:
        while len(self.text) > self.most:
            self._box.deleteCaretLeft()
