"""Keyboards that come and go, through XInput."""

from __future__ import annotations

import ctypes


class Keyboards:
    """A display whose further keyboard, ``Lab XTEST keyboard``, can be unplugged."""

    class Add(ctypes.Structure):
        _fields_ = (
            ("type", ctypes.c_int),
            ("name", ctypes.c_char_p),
            ("send_core", ctypes.c_int),
            ("enable", ctypes.c_int),
        )

    class Remove(ctypes.Structure):
        _fields_ = (
            ("type", ctypes.c_int),
            ("device", ctypes.c_int),
            ("mode", ctypes.c_int),
            ("pointer", ctypes.c_int),
            ("keyboard", ctypes.c_int),
        )

    def __init__(self, name: str) -> None:
        from Xlib import display
        from Xlib.ext import xinput

        self._x11, self._xi = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXi.so.6")
        self._x11.XOpenDisplay.restype = ctypes.c_void_p
        self._server = ctypes.c_void_p(self._x11.XOpenDisplay(name.encode()))
        self._change(self.Add(1, b"Lab", 1, 1))
        connection = display.Display(name)
        connection.xinput_query_version()
        self._number = next(
            device.deviceid
            for device in connection.xinput_query_device(xinput.AllDevices).devices
            if device.name == "Lab keyboard"
        )
        connection.close()

    def unplug(self) -> None:
        """Remove the keyboard."""
        self._change(self.Remove(2, self._number, 2, 0, 0))

    def _change(self, what: ctypes.Structure) -> None:
        assert self._xi.XIChangeHierarchy(self._server, ctypes.byref(what), 1) == 0
        self._x11.XSync(self._server, 0)
