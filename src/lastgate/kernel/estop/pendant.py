# SPDX-License-Identifier: Apache-2.0
"""Stop buttons that are really there: a GPIO line, a serial line, a key. A device that is lost is a press."""

import contextlib
import fcntl
import os
import struct
import termios
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from lastgate.contracts.exceptions import ROSConfigError

POLL_PERIOD_S = 0.01


class PendantDevice(Protocol):
    """A device that can tell whether its contact is closed; `OSError` means that it no longer can."""

    def contact_closed(self) -> bool:
        """Returns the level of the line: high, asserted, or key down."""
        ...

    def close(self) -> None:
        """Releases the device."""
        ...


class SerialLine:
    """Reads the CTS line of a serial port: a button between RTS, which is held high, and CTS."""

    def __init__(self, path: Path) -> None:
        """Opens the port; raises `OSError` when there is none."""
        self._file = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        fcntl.ioctl(self._file, termios.TIOCMBIS, struct.pack("I", termios.TIOCM_RTS))

    def contact_closed(self) -> bool:
        """Returns whether CTS is high."""
        (bits,) = struct.unpack("I", fcntl.ioctl(self._file, termios.TIOCMGET, struct.pack("I", 0)))
        return bool(bits & termios.TIOCM_CTS)

    def close(self) -> None:
        """Closes the port."""
        os.close(self._file)


class GpioLine:
    """Reads one line of a GPIO character device (`/dev/gpiochip0:17`), through version 2 of its interface."""

    # From linux/gpio.h: struct gpio_v2_line_request is 592 bytes, struct gpio_v2_line_values 16.
    _GET_LINE = 0xC250B407
    _GET_VALUES = 0xC010B40E
    _REQUEST_BYTES = 592
    _INPUT = 1 << 2

    def __init__(self, path: Path, line: int) -> None:
        """Asks the chip for the line as an input; raises `OSError` when it refuses."""
        request = bytearray(self._REQUEST_BYTES)
        struct.pack_into("I", request, 0, line)  # offsets[64]
        request[256:264] = b"lastgate"  # consumer[32]
        struct.pack_into("Q", request, 288, self._INPUT)  # config.flags
        struct.pack_into("I", request, 560, 1)  # num_lines
        chip = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(chip, self._GET_LINE, request)
        finally:
            os.close(chip)
        (self._file,) = struct.unpack_from("i", request, 588)

    def contact_closed(self) -> bool:
        """Returns whether the line is high."""
        values = bytearray(struct.pack("QQ", 0, 1))
        fcntl.ioctl(self._file, self._GET_VALUES, values)
        return bool(struct.unpack("QQ", values)[0] & 1)

    def close(self) -> None:
        """Gives the line back."""
        os.close(self._file)


class EvdevKey:
    """Reads whether a key of an input device is down (`/dev/input/event3:28`, 28 being Enter)."""

    _KEY_BYTES = 96
    _GET_KEYS = (2 << 30) | (_KEY_BYTES << 16) | (ord("E") << 8) | 0x18

    def __init__(self, path: Path, key: int) -> None:
        """Opens the device; raises `OSError` when there is none."""
        if not 0 <= key < 8 * self._KEY_BYTES:
            raise ROSConfigError(f"a key code must be from 0 to {8 * self._KEY_BYTES - 1}, got {key}")
        self._key = key
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def contact_closed(self) -> bool:
        """Returns whether the key is down."""
        keys = bytearray(self._KEY_BYTES)
        fcntl.ioctl(self._file, self._GET_KEYS, keys)
        return bool(keys[self._key // 8] >> (self._key % 8) & 1)

    def close(self) -> None:
        """Closes the device."""
        os.close(self._file)


def open_pendant(device: str) -> PendantDevice:
    """Opens the device that a description names.

    Args:
        device: `/dev/gpiochipN:LINE`, `/dev/input/eventN:KEY`, or the path of a serial port.

    Raises:
        ROSConfigError: The description names none of these.
        OSError: There is no such device, or it cannot be read.
    """
    path, separator, number = device.rpartition(":")
    if not separator:
        return SerialLine(Path(device))
    if not number.isdigit():
        raise ROSConfigError(f"`{device}` must end with the number of a line or a key")
    if Path(path).name.startswith("gpiochip"):
        return GpioLine(Path(path), int(number))
    if Path(path).name.startswith("event"):
        return EvdevKey(Path(path), int(number))
    raise ROSConfigError(
        f"`{device}` is no pendant: use /dev/gpiochipN:LINE, /dev/input/eventN:KEY or a serial port"
    )


class Pendant:
    """Turns the level of a contact into pressed or not.

    Active-low by default, so that a cut wire reads as pressed. Whatever goes wrong with the device is a press, and
    stays one until the device is back and not pressed.
    """

    def __init__(self, device: str, *, active_low: bool = True) -> None:
        """Describes a pendant; it is opened when it is first asked."""
        # Taken the wrong way round, a button that is pressed is the only one that lets the robot move.
        if not isinstance(active_low, bool):
            raise ROSConfigError(f"active_low must be True or False, got {active_low!r}")
        self._description = device
        self._active_low = active_low
        self._device: PendantDevice | None = None
        self.trouble = ""

    def pressed(self) -> bool:
        """Returns whether the button is pressed or cannot be read; `trouble` says why."""
        try:
            if self._device is None:
                self._device = open_pendant(self._description)
            closed = self._device.contact_closed()
        except OSError as error:
            self.close()
            self.trouble = f"the device is lost: {error.strerror or error}"
            return True
        self.trouble = ""
        return not closed if self._active_low else closed

    def close(self) -> None:
        """Releases the device."""
        if self._device is not None:
            with contextlib.suppress(OSError):  # it is gone, which is what was asked for
                self._device.close()
            self._device = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
