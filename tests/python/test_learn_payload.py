"""The bytes of a payload: what is written is read again, and nothing else is."""
import struct

import numpy
import pytest

from tombola_learn import BadPayload, pack, unpack


def test_the_bytes_are_those_of_the_format():
    assert pack({"w": numpy.array([[1.0, -2.0]]), "at": numpy.array([7])}) == (
        b"TOMBPAY1" + struct.pack("<I", 2) + b"\x01w\x01\x02" + struct.pack("<II", 1, 2) + b"\x02at\x02\x01"
        + struct.pack("<I", 1) + b"\0" * 3 + struct.pack("<ff", 1, -2) + struct.pack("<i", 7))


def test_arrays_survive():
    drawn = numpy.random.default_rng(1)
    for names in range(1, 65, 7):
        arrays = {f"a{i}": drawn.normal(size=drawn.integers(0, 4, i % 5)) for i in range(names)}
        arrays["tree"] = numpy.array([-1, 2**31 - 1])
        if len(arrays) > 64:
            continue
        data = pack(arrays)
        assert len(data) % 4 == 0
        back = unpack(data)
        assert list(back) == list(arrays)
        for k, v in arrays.items():
            assert back[k].shape == v.shape and numpy.array_equal(back[k], v.astype(back[k].dtype))


@pytest.mark.parametrize("arrays, sentence", [
    ({}, "0 arrays"),
    ({f"a{i}": [1.0] for i in range(65)}, "65 arrays"),
    ({"W": [1.0]}, "is no name"),
    ({"w" * 33: [1.0]}, "is no name"),
    ({"w\n": [1.0]}, "is no name"),
    ({"w": [float("nan")]}, "w: not a finite number"),
    ({"w": [float("inf")]}, "w: not a finite number"),
    ({"w": [1e39]}, "w: not a finite number"),
    ({"w": [2**31]}, "does not fit"),
    ({"w": ["x"]}, "neither floats nor integers"),
    ({"w": numpy.zeros((1,) * 5)}, "more than 4 dimensions"),
])
def test_what_is_no_payload_is_not_written(arrays, sentence):
    with pytest.raises(BadPayload, match=sentence):
        pack(arrays)


def test_no_other_bytes_are_read():
    data = pack({"w": numpy.array([1.0, 2.0]), "t": numpy.array([3])})
    for n in range(len(data)):
        with pytest.raises(BadPayload):
            unpack(data[:n])
    with pytest.raises(BadPayload, match="after its end"):
        unpack(data + b"\0")
    for i in range(len(data)):
        changed = bytearray(data)
        changed[i] ^= 1
        try:
            assert set(unpack(bytes(changed))) != set() and i > 11
        except BadPayload:
            pass
    assert struct.pack("<f", 1) in data
    with pytest.raises(BadPayload, match="finite"):
        unpack(data.replace(struct.pack("<f", 1), struct.pack("<f", float("nan"))))
    twice = pack({"v": numpy.array([1.0]), "w": numpy.array([1.0])}).replace(b"\1v", b"\1w")
    with pytest.raises(BadPayload, match="array 'w'"):
        unpack(twice)
