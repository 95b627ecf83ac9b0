"""golden_check.py - the wire by a second implementation: google.protobuf must agree with every golden vector.

tests/data/golden/NAME.json says a message's type, its bytes in hex (a Frame with its length before it) and its fields
(bytes in hex, 64-bit integers as text, "inf" for infinity).  From type and fields alone Python must produce exactly the
bytes, and read them back to exactly the fields.  The C half is tests/unit/test_golden.c.

    golden_check.py PROTO GOLDEN_DIR           check; exit 1 on the first disagreement
    golden_check.py PROTO GOLDEN_DIR --write   make the bytes of each
"""

import importlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from google.protobuf.descriptor import FieldDescriptor as FD

INTEGERS_64 = (FD.TYPE_UINT64, FD.TYPE_INT64, FD.TYPE_FIXED64)


def load(proto):
    """The module protoc generates from `proto`."""
    out = tempfile.TemporaryDirectory()
    path = pathlib.Path(proto)
    subprocess.run(["protoc", f"--proto_path={path.parent}", f"--python_out={out.name}", path.name], check=True)
    sys.path.insert(0, out.name)
    module = importlib.import_module(path.stem + "_pb2")
    module.keep_alive = out
    return module


def to_wire(field, value):
    if field.type == FD.TYPE_BYTES:
        return bytes.fromhex(value)
    if field.type == FD.TYPE_DOUBLE:
        return float(value)
    if field.type in INTEGERS_64:
        return int(value)
    return value


def fill(message, values):
    for name, value in values.items():
        field = message.DESCRIPTOR.fields_by_name[name]
        repeated = field.label == FD.LABEL_REPEATED
        if field.type == FD.TYPE_MESSAGE and repeated:
            for item in value:
                fill(getattr(message, name).add(), item)
        elif field.type == FD.TYPE_MESSAGE:
            getattr(message, name).SetInParent()
            fill(getattr(message, name), value)
        elif repeated:
            getattr(message, name).extend(to_wire(field, item) for item in value)
        else:
            setattr(message, name, to_wire(field, value))


def from_wire(field, value):
    if field.type == FD.TYPE_BYTES:
        return value.hex()
    if field.type == FD.TYPE_MESSAGE:
        return read(value)
    if field.type == FD.TYPE_DOUBLE:
        return "inf" if value == float("inf") else value
    if field.type in INTEGERS_64:
        return str(value)
    return value


def read(message):
    """The fields that are there, as in the JSON."""
    out = {}
    for field, value in message.ListFields():
        many = field.label == FD.LABEL_REPEATED
        out[field.name] = [from_wire(field, v) for v in value] if many else from_wire(field, value)
    return out


def encode(module, vector):
    message = getattr(module, vector["type"])()
    fill(message, vector["fields"])
    body = message.SerializeToString(deterministic=True)
    return struct.pack(">I", len(body)) + body if vector["type"] == "Frame" else body


def decode(module, type_name, data):
    message = getattr(module, type_name)()
    if type_name == "Frame":
        (length,) = struct.unpack(">I", data[:4])
        assert length == len(data) - 4, "length prefix"
        data = data[4:]
    message.ParseFromString(data)
    return read(message)


def covers_every_kind(module, names):
    kinds = {"frame_" + field.name for field in module.Frame.DESCRIPTOR.fields}
    documents = {"descriptor_", "manifest", "charge", "plan", "record_plan", "record_", "opening", "evidence"}
    missing = kinds - names
    missing |= {d for d in documents if not any(n.startswith(d) for n in names)}
    return missing


def main():
    proto, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    write = sys.argv[3:] == ["--write"]
    module = load(proto)
    paths = sorted(folder.glob("*.json"))
    faults = [f"no vector of {m}" for m in sorted(covers_every_kind(module, {p.stem for p in paths}))]
    for path in paths:
        vector = json.loads(path.read_text(encoding="utf-8"))
        data = encode(module, vector)
        if write:
            vector = {"type": vector["type"], "bytes": data.hex(), "fields": vector["fields"]}
            path.write_text(json.dumps(vector, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if vector["bytes"] != data.hex():
            faults.append(f"{path.stem}: encodes to other bytes")
        if decode(module, vector["type"], bytes.fromhex(vector["bytes"])) != vector["fields"]:
            faults.append(f"{path.stem}: decodes to other fields")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(paths)} vectors, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
