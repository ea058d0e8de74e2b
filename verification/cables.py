"""Machines that are network namespaces, joined by cables that can be slow, lossy or cut.

A cable is two network devices (tun), one in each namespace, and a thread that carries every packet
from one to the other: late, not at all, or at once. Linux has `tc netem` for that, but as a module
that many kernels come without; /dev/net/tun is nearly everywhere. Only root may make either.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["Cable", "inside", "namespaces", "why_not"]

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
CLONE_NEWNET = 0x40000000
LARGEST_PACKET = 65536
NUMBERS = itertools.count()


def why_not() -> str | None:
    """Return why there can be no cables on this machine; None if there can."""
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    if shutil.which("ip") is None:
        return "the command `ip` is missing: install Debian's package iproute2"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    return None


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def namespaces(*roles: str) -> Iterator[list[str]]:
    """Make a namespace for each role, and remove them at the end; give their names."""
    names = [f"oddarm-{os.getpid()}-{role}" for role in roles]
    with contextlib.ExitStack() as stack:
        for name in names:
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "delete", name)
            _ip("-n", name, "link", "set", "lo", "up")
        yield names


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Be in a namespace, with this thread and the threads and processes that it starts there."""
    outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    wanted = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        _enter(wanted)
        yield
    finally:
        _enter(outside)
        os.close(wanted)
        os.close(outside)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot enter the network namespace")


class Cable:
    """A cable between two namespaces; close it to take it away.

    Args:
        ends: The namespace and the address of each end.

    Attributes:
        delay: The least and the most seconds that a packet is on its way.
        loss: The share of packets that are lost.
        cut: Whether all packets are lost.
        lost: How many packets were lost.
        carried: How many packets arrived.
    """

    def __init__(self, *ends: tuple[str, str]) -> None:
        self.delay = (0.0, 0.0)
        self.loss = 0.0
        self.cut = False
        self.lost = self.carried = 0
        self._rng = random.Random(0)
        self._closed = False
        (_, here), (_, there) = ends
        self._devices = [_device(*ends[0], there), _device(*ends[1], here)]
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take the cable away."""
        self._closed = True
        self._thread.join()
        for device in self._devices:
            os.close(device)

    def _carry(self) -> None:
        one, two = self._devices
        other = {one: two, two: one}
        under_way: list[tuple[float, int, int, bytes]] = []
        numbers = itertools.count()
        while not self._closed:
            patience = 0.1
            if under_way:
                patience = min(patience, max(0.0, under_way[0][0] - time.monotonic()))
            for device in select.select(self._devices, [], [], patience)[0]:
                packet = os.read(device, LARGEST_PACKET)
                if self.cut or self._rng.random() < self.loss:
                    self.lost += 1
                    continue
                due = time.monotonic() + self._rng.uniform(*self.delay)
                heapq.heappush(under_way, (due, next(numbers), other[device], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(under_way)
                with contextlib.suppress(BlockingIOError):  # a queue that is full loses packets
                    os.write(device, packet)
                    self.carried += 1


def _device(namespace: str, address: str, peer: str) -> int:
    """Make a network device of a namespace whose packets this process carries."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"c{os.getpid()}-{next(NUMBERS)}"
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_NO_PI))
    _ip("link", "set", name, "netns", namespace)
    _ip("-n", namespace, "address", "add", address, "peer", peer, "dev", name)
    _ip("-n", namespace, "link", "set", name, "up")
    return device
