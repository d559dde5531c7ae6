"""Records what a JACK server's loudspeaker is given, with the times at which it is, as the server
tells them: ``python jack_recorder.py FILE SECONDS``.

The file has for each block of samples when its first one is played (s on the monotonic clock,
without the latency of the device), how many there are, and the samples of the left channel.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_float, c_int, c_uint32, c_uint64, c_void_p, cast
from typing import Any

AUDIO, IS_INPUT, NO_START = b"32 bit float mono audio", 1, 1
PROCESS = CFUNCTYPE(c_int, c_uint32, c_void_p)


def library() -> Any:
    jack = ctypes.CDLL("libjack.so.0")
    for name, result, *arguments in (
        ("jack_client_open", c_void_p, c_char_p, c_int, c_void_p),
        ("jack_port_register", c_void_p, c_void_p, c_char_p, c_char_p, c_uint32, c_uint32),
        ("jack_port_get_buffer", c_void_p, c_void_p, c_uint32),
        ("jack_set_process_callback", c_int, c_void_p, PROCESS, c_void_p),
        ("jack_activate", c_int, c_void_p),
        ("jack_last_frame_time", c_uint32, c_void_p),
        ("jack_frames_to_time", c_uint64, c_void_p, c_uint32),
        ("jack_get_time", c_uint64),
        ("jack_port_get_all_connections", POINTER(c_char_p), c_void_p, c_void_p),
        ("jack_port_by_name", c_void_p, c_void_p, c_char_p),
        ("jack_connect", c_int, c_void_p, c_char_p, c_char_p),
        ("jack_client_close", c_int, c_void_p),
    ):
        function = getattr(jack, name)
        function.restype, function.argtypes = result, list(arguments)
    return jack


def main(path: str, seconds: float) -> None:
    jack = library()
    client = jack.jack_client_open(b"recorder", NO_START, None)
    port = jack.jack_port_register(client, b"in", AUDIO, IS_INPUT, 0)
    blocks: list[tuple[float, bytes]] = []

    @PROCESS
    def process(frames: int, _: Any) -> int:
        samples = ctypes.string_at(cast(jack.jack_port_get_buffer(port, frames), POINTER(c_float)), 4 * frames)
        blocks.append((jack.jack_frames_to_time(client, jack.jack_last_frame_time(client)) / 1e6, samples))
        return 0

    jack.jack_set_process_callback(client, process, None)
    jack.jack_activate(client)
    beside = jack.jack_get_time() / 1e6 - time.monotonic()  # its clock is not slewed, as the monotonic one is
    print("ready", flush=True)
    until, heard = time.monotonic() + seconds, b""
    while time.monotonic() < until:
        found = jack.jack_port_get_all_connections(client, jack.jack_port_by_name(client, b"system:playback_1"))
        name = found[0] if found else None
        if name and name != heard:
            heard = name
            jack.jack_connect(client, name, b"recorder:in")
        time.sleep(0.02)
    jack.jack_client_close(client)
    with open(path, "wb") as file:
        for at, samples in blocks:
            file.write(struct.pack("<dI", at - beside, len(samples) // 4) + samples)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
