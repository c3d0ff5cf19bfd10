# SPDX-License-Identifier: Apache-2.0
"""Our codec against one of another project, and against bytes that are no message."""

import numpy as np
import pytest
from fixtures import ros_messages as ros
from hypothesis import given, settings
from hypothesis import strategies as st

from lastgate import _core

ROWS = np.arange(21.0).reshape(3, 7) / 7.0


def encode(rows=ROWS, **fields):
    values = {
        "control_mode": 0,
        "stamp_s": 1.5,
        "ee_name": "hand",
        "frame_id": "base",
        "rskill_id": "pick",
        "trace_id": "00-ab",
        "tick_index": 3,
    }
    return _core.encode_action_chunk(rows, **{**values, **fields})


def test_chunk_that_we_write_is_read_by_rosbags():
    message = ros.from_bytes(encode(), "openral_msgs/msg/ActionChunk")
    assert (message.horizon, message.n_dof, message.control_mode, message.tick_index) == (3, 7, 0, 3)
    assert (message.ee_name, message.frame_id, message.rskill_id) == ("hand", "base", "pick")
    assert np.array_equal(message.flat, ROWS.ravel())
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


@pytest.mark.parametrize("little_endian", [True, False])
def test_chunk_of_rosbags_is_read_in_either_byte_order(little_endian):
    fields = _core.decode_action_chunk(ros.to_bytes(ros.action_chunk(ROWS), little_endian=little_endian))
    assert fields is not None
    assert fields.flat == ROWS.ravel().tolist()
    assert (fields.horizon, fields.n_dof, fields.rskill_id, fields.tick_index) == (
        3,
        7,
        "pick",
        7,
    )
    assert fields.stamp_s == 1.5
    assert fields.confidence == 0.5


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(0, 20),
    width=st.integers(1, 9),
    texts=st.lists(
        st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20),
        min_size=5,
        max_size=5,
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_codecs_write_the_same_bytes(rows, width, texts, seed):
    numbers = np.random.default_rng(seed).normal(size=(rows, width))
    frame_id, ee_name, frame, rskill_id, trace_id = texts
    theirs = ros.action_chunk(
        numbers,
        header=ros.header(12.25),
        ee_name=ee_name,
        frame_id=frame,
        rskill_id=rskill_id,
        trace_id=trace_id,
        rskill_revision="",
        confidence=0.0,
        tick_index=9,
    )
    ours = encode(
        numbers,
        stamp_s=12.25,
        ee_name=ee_name,
        frame_id=frame,
        rskill_id=rskill_id,
        trace_id=trace_id,
        tick_index=9,
    )
    assert ours == ros.to_bytes(theirs)
    # A frame in the header moves everything behind it, so alignment is exercised too.
    theirs.header.frame_id = frame_id
    assert _core.decode_action_chunk(ros.to_bytes(theirs)).flat == numbers.ravel().tolist()


def test_every_shortened_chunk_is_refused():
    payload = ros.to_bytes(ros.action_chunk(ROWS))
    assert _core.decode_action_chunk(payload) is not None
    for size in range(len(payload)):
        assert _core.decode_action_chunk(payload[:size]) is None, size


def test_padding_to_four_bytes_is_read_and_more_is_refused():
    payload = ros.to_bytes(ros.action_chunk(ROWS))
    # Real senders leave garbage in their padding.
    assert _core.decode_action_chunk(payload + b"\x56\x00\x00") is not None
    assert _core.decode_action_chunk(payload + b"\x00" * 4) is None


@pytest.mark.parametrize("order", [2, 3, 6, 7, 10, 11, 255])
def test_other_encodings_are_refused(order):
    payload = bytearray(ros.to_bytes(ros.action_chunk(ROWS)))
    payload[1] = order
    assert _core.decode_action_chunk(bytes(payload)) is None


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"ab\xc3", b"\xe0\x80\x80"]
)
def test_text_that_is_not_utf8_is_refused(text):
    name = b"x" * len(text)
    payload = ros.to_bytes(ros.action_chunk(ROWS, rskill_id=name.decode()))
    assert payload.count(name + b"\0") == 1
    assert _core.decode_action_chunk(payload) is not None
    assert _core.decode_action_chunk(payload.replace(name + b"\0", text + b"\0")) is None


def test_huge_lengths_are_refused_without_being_believed():
    payload = bytearray(ros.to_bytes(ros.action_chunk(ROWS)))
    where = payload.index(ROWS.size.to_bytes(4, "little"))  # the count of `flat`
    for huge in (0xFFFFFFFF, 0x20000000, ROWS.size + 1):
        broken = payload.copy()
        broken[where : where + 4] = huge.to_bytes(4, "little")
        assert _core.decode_action_chunk(bytes(broken)) is None


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_mutated_bytes_are_read_or_refused_and_never_anything_else(data):
    payload = bytearray(ros.to_bytes(ros.action_chunk(ROWS)))
    for _ in range(data.draw(st.integers(1, 8))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    fields = _core.decode_action_chunk(bytes(payload))
    assert fields is None or isinstance(fields.flat, list)


def test_joint_state_is_what_rosbags_reads():
    names = ["a", "längeres", "c"]
    payload = _core.encode_joint_state(
        names, positions=np.array([1.0, 2.0, 3.0]), velocities=np.array([0.1, 0.2, 0.3]), stamp_s=10.25
    )
    message = ros.from_bytes(payload, "sensor_msgs/msg/JointState")
    assert message.name == names
    assert message.position.tolist() == [1.0, 2.0, 3.0]
    assert message.velocity.tolist() == [0.1, 0.2, 0.3]
    assert message.header.stamp.sec == 10


def test_catalogue_of_the_kernel_is_that_of_python():
    from lastgate.contracts import CATALOGUE

    for code, entry in CATALOGUE.items():
        assert _core.violation_word(code.number) == str(code)
        assert _core.failure_kind(code.number) == entry.kind
        if entry.state is not None:
            assert _core.controller_state(code.number) == entry.state
