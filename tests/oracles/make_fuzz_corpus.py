#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets to tests/fuzz/corpus. Standard library only.

The safetensors seeds are assembled byte by byte from the format's description (8 bytes of header length, the JSON
header, the data), not by our own writer, so that they are also an outside view of the format.
"""
import json
import struct
import zlib
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "fuzz" / "corpus"
SIZES = {"F32": 4, "F64": 8, "I64": 8, "U8": 1}


def safetensors(tensors, metadata=None, checksum=False):
    """tensors: [(name, type, shape, data)]; the checksum is a last tensor over all bytes before it."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, kind, shape, data in tensors:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    if checksum:
        header["checksum"] = {"dtype": "U8", "shape": [4], "data_offsets": [offset, offset + 4]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors)
    return whole + struct.pack("<I", zlib.crc32(whole)) if checksum else whole


def seeds():
    floats = struct.pack("<6f", 1, -2, 3.5, 0, 1e30, -0.0)
    yield "safetensors/empty", safetensors([])
    yield "safetensors/one", safetensors([("w", "F32", [2, 3], floats)])
    yield "safetensors/types", safetensors(
        [("d", "F64", [1], struct.pack("<d", 0.25)), ("n", "I64", [2], struct.pack("<2q", -1, 7)),
         ("w", "F32", [3, 2], floats), ("e", "F32", [0, 5], b""), ("b", "U8", [3], b"abc")],
        {"format": "dqs", "step": "12"})
    yield "safetensors/checksum", safetensors([("w", "F32", [6], floats)], {"a": "b"}, checksum=True)
    yield "safetensors/truncated", safetensors([("w", "F32", [2, 3], floats)])[:-5]
    yield "safetensors/overlong", struct.pack("<Q", 2**63) + b"{}"
    yield "config/plain", b"env: pendulum\nalgo: dqs\npreset: quick\nsteps: 5000\nseed: 3\neval_every: 1000\n"
    yield "config/quoted", b"# a comment\nname: \"a \\\"b\\\"\"\nout: 'it''s'\nmax_minutes: 1e-3\ninit_replay: yes\n"
    yield "config/nested", b"steps:\n  - 1\n  - &x [2, *x]\n"
    yield "config/alias", b"a: &a 1\nsteps: *a\n---\nsteps: 2\n"
    yield "config/wrong", b"steps: -1\nstesp: 5\n\tseed: x\n"
    head = b"step,episodes,mean_reward,std_reward\n"
    yield "table/plain", head + b"1000,20,-3.5,0.25\n98000,20,1e3,nan\n100000,100,412.857,7\n"
    yield "table/open", head + b"\n,,,\n5000,1\n100000,1,2,3,4,5\r\n100000,1,2"
    yield "table/words", head + b"1000,x,1,2\n"
    yield "table/twice", b"step,step,mean_reward,,\n1,2,inf,-inf,\n"
    yield "table/wide", b"," * 3000 + b"\n" * 3000
    for i, line in enumerate(("count=12", "count=2e4", "rate=-1.5e-300", "rate=nan", "flag=off", "shape=square",
                              "label=two words", "cuont=1", "count=99999999999999999999")):
        yield f"options/{i}", line.encode()


if __name__ == "__main__":
    for name, data in seeds():
        path = CORPUS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{sum(1 for _ in seeds())} seeds in {CORPUS}")
