# SPDX-License-Identifier: Apache-2.0
"""A pendant: pressed, released, cut off, unplugged."""

import os

import pytest

import lastgate as lg
from lastgate.kernel.estop import pendant as pendant_module
from lastgate.kernel.estop.pendant import Pendant, open_pendant


class Contact:
    """A contact that a test closes, opens and breaks."""

    def __init__(self) -> None:
        self.closed = True
        self.broken = False
        self.detach = 0

    def contact_closed(self) -> bool:
        if self.broken:
            raise OSError(19, "No such device")
        return self.closed

    def close(self) -> None:
        self.detach += 1


@pytest.fixture
def contact(monkeypatch):
    made = Contact()

    def reopen(device):
        if made.broken:
            raise OSError(2, "No such file or directory")
        return made

    monkeypatch.setattr(pendant_module, "open_pendant", reopen)
    return made


def test_active_low_reads_an_open_contact_as_pressed(contact):
    with Pendant("any") as pendant:
        assert not pendant.pressed()
        contact.closed = False
        assert pendant.pressed()
        contact.closed = True
        assert not pendant.pressed()


def test_active_high_reads_a_closed_contact_as_pressed(contact):
    with Pendant("any", active_low=False) as pendant:
        assert pendant.pressed()
        contact.closed = False
        assert not pendant.pressed()


@pytest.mark.parametrize("word", ["false", "true", 0, 1, None])
def test_level_is_true_or_false_and_nothing_that_python_calls_so(word):
    with pytest.raises(lg.ROSConfigError, match="active_low must be True or False"):
        Pendant("any", active_low=word)


@pytest.mark.parametrize("active_low", [True, False])
def test_lost_device_is_a_press_until_it_is_back_and_released(contact, active_low):
    contact.closed = active_low
    pendant = Pendant("any", active_low=active_low)
    assert not pendant.pressed()
    contact.broken = True
    assert pendant.pressed()
    assert "lost" in pendant.trouble
    assert pendant.pressed()  # and stays one while it cannot be opened again
    contact.broken = False
    assert not pendant.pressed()
    assert pendant.trouble == ""


def test_device_that_is_not_there_is_a_press(tmp_path):
    pendant = Pendant(str(tmp_path / "ttyUSB9"))
    assert pendant.pressed()
    assert "No such file" in pendant.trouble


def test_terminal_without_a_line_to_read_is_a_press():
    main, side = os.openpty()
    try:
        pendant = Pendant(os.ttyname(side))
        assert pendant.pressed()
        assert pendant.trouble
    finally:
        os.close(main)
        os.close(side)


@pytest.mark.parametrize("device", ["/dev/gpiochip0:a", "/dev/sda:3", "/dev/input/event0:"])
def test_description_that_names_no_pendant_is_refused(device):
    with pytest.raises(lg.ROSConfigError):
        open_pendant(device)


def test_key_beyond_any_keyboard_is_refused():
    with pytest.raises(lg.ROSConfigError, match="key code"):
        open_pendant("/dev/input/event0:9999")
