"""Gymnasium environments at the end of a socket, for `dqs train gym:ID`, which is a C program.

The program holds this file and starts it as `python -c FILE ID` with the socket as descriptor 3; it needs gymnasium and
numpy alone. One process serves all instances of a run, in the order they ask. A message is four 32-bit numbers (what,
instance, bytes, 0) and so many bytes; each gets one answer of the same form, whose `what` is 0, or 1 with one line that
says what is wrong.
"""
from __future__ import annotations

import ast
import os
import signal
import socket
import struct
import sys
from typing import Any

HEAD = struct.Struct("<4I")
OPEN, CLOSE, RESET, STEP = range(4)
# Tasks that only the clock ends. What is not listed is taken to be able to end by itself.
ENDLESS = {"Pendulum", "HalfCheetah", "Swimmer", "Reacher", "Pusher"}


def ends(name: str | None) -> bool:
    """Can an episode of this Gymnasium id end by itself?"""
    return (name or "").rpartition("-v")[0] not in ENDLESS


def why_unfit(observation: Any, action: Any) -> str | None:
    """Why these spaces are not for continuous control, in one line; None if they are."""
    import numpy
    from gymnasium.spaces import Box
    if not isinstance(observation, Box):
        return f"the observation space is {observation}; it must be a Box: wrap it in gymnasium.wrappers.FlattenObservation"
    if not isinstance(action, Box):
        return f"the action space is {action}; it must be a Box: these algorithms learn continuous actions"
    if not numpy.issubdtype(action.dtype, numpy.floating):
        return f"actions are of type {action.dtype}; they must be floating point numbers"
    if not (numpy.isfinite(action.low).all() and numpy.isfinite(action.high).all()):
        return ("the bounds of the actions are infinite; wrap the environment in "
                "gymnasium.wrappers.RescaleAction or ClipAction, with bounds that make sense")
    if not (action.low < action.high).all():
        return "an action has bounds without room between them"
    if observation.shape is None or int(numpy.prod(observation.shape)) < 1 or int(numpy.prod(action.shape)) < 1:
        return "observations or actions are empty"
    return None


class Server:
    def __init__(self, name: str):
        self.name = name
        self.lanes: dict[int, Any] = {}

    def open(self, lane: int, data: bytes) -> bytes:
        import gymnasium
        import numpy
        options: dict[str, Any] = {}
        for pair in filter(None, data.decode().split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                raise ValueError(f"option '{pair}' has no value; write key=value,key=value")
            try:
                options[key.strip()] = ast.literal_eval(value.strip())
            except (ValueError, SyntaxError):
                options[key.strip()] = value.strip()
        env: Any = gymnasium.make(self.name, **options)
        problem = why_unfit(env.observation_space, env.action_space)
        if problem:
            raise ValueError(problem)
        self.lanes[lane] = env
        action = env.action_space
        sizes = struct.pack("<4I", int(numpy.prod(env.observation_space.shape)), int(numpy.prod(action.shape)),
                            ends(self.name), 0)
        return sizes + b"".join(numpy.asarray(b, "<f4").tobytes() for b in (action.low, action.high))

    def reset(self, lane: int, data: bytes) -> bytes:
        (seed,) = struct.unpack("<Q", data)
        return self.observed(self.lanes[lane].reset(seed=seed >> 33)[0])  # 31 bits suit every environment

    def step(self, lane: int, data: bytes) -> bytes:
        import numpy
        env = self.lanes[lane]
        action = numpy.frombuffer(data, "<f4").reshape(env.action_space.shape).astype(env.action_space.dtype)
        obs, reward, terminated, truncated, _ = env.step(action)
        return struct.pack("<dII", float(reward), bool(terminated), bool(truncated)) + self.observed(obs)

    @staticmethod
    def observed(obs: Any) -> bytes:
        import numpy
        return numpy.asarray(obs, "<f4").tobytes()

    def close(self, lane: int, data: bytes) -> bytes:
        env = self.lanes.pop(lane, None)
        if env is not None:
            env.close()
        return b""

    def answer(self, what: int, lane: int, data: bytes) -> tuple[int, bytes]:
        try:
            return 0, (self.open, self.close, self.reset, self.step)[what](lane, data)
        except ImportError as problem:
            return 1, f"{problem} (Python is {sys.executable}); pip install gymnasium, or set PYTHON".encode()
        except Exception as problem:
            return 1, " ".join(f"{type(problem).__name__}: {problem}".split()).encode()[:300]


def receive(stream: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            return None
        data += part
    return bytes(data)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which then saves
    os.dup2(2, 1)  # what an environment prints is not for the program's standard output
    stream, server = socket.socket(fileno=3), Server(sys.argv[1])
    while (head := receive(stream, HEAD.size)) is not None:
        what, lane, size, _ = HEAD.unpack(head)
        data = receive(stream, size) if size else b""
        if data is None:
            return
        bad, reply = server.answer(what, lane, data)
        stream.sendall(HEAD.pack(bad, lane, len(reply), 0) + reply)


if __name__ == "__main__":
    main()
