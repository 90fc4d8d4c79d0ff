"""A cable between two network namespaces that delays every packet and loses some.

The kernel's own means for that (netem) are missing on many machines. Here each end is a device
whose packets this process reads and writes: it carries them from one end to the other.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import select
import struct
import threading
import time
from collections import deque
from pathlib import Path

import pytest

_TUNSETIFF, _TUN, _NO_HEADER = 0x400454CA, 0x0001, 0x1000
_NETWORK = 0x40000000  # CLONE_NEWNET


def tunnel_end(space: str, device: str) -> int:
    """Make a device in a namespace; what is read from the file are the packets sent there."""
    made: list[int] = []

    def enter_and_make() -> None:
        # A thread of its own: only it goes into the namespace, and ends there.
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/run/netns/{space}").open() as there:
            if libc.setns(there.fileno(), _NETWORK):
                return
        try:
            file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH", device.encode(), _TUN | _NO_HEADER))
        except OSError:
            return
        made.append(file)

    thread = threading.Thread(target=enter_and_make)
    thread.start()
    thread.join()
    if not made:
        pytest.skip("this machine makes no devices whose packets a test could lose")
    return made[0]


class BadCable:
    """Carries packets both ways while it is open."""

    def __init__(self, one: int, other: int, *, delay: float, loss: float) -> None:
        self.to = {one: other, other: one}
        self.delay, self.loss = delay, loss
        self.lost = 0
        self._under_way: deque[tuple[float, int, bytes]] = deque()
        self._rng = random.Random(1)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> BadCable:
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        self._thread.join()
        for end in self.to:
            os.close(end)

    def _carry(self) -> None:
        while not self._over.is_set():
            readable, _, _ = select.select([*self.to], [], [], 0.002)
            for end in readable:
                packet = os.read(end, 65536)
                if self._rng.random() < self.loss:
                    self.lost += 1
                else:
                    self._under_way.append((time.monotonic() + self.delay, self.to[end], packet))
            while self._under_way and self._under_way[0][0] <= time.monotonic():
                _, end, packet = self._under_way.popleft()
                os.write(end, packet)
