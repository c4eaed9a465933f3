# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges without NVTX: the library that NVTX_INJECTION64_PATH names is given a table of functions, as NVTX's own
headers do it (nvtx3/nvtxDetail/nvtxInit.h, nvtxTypes.h). So ranges reach gpumemtrace, and Nsight Systems as well."""

import builtins
import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

_CALLBACKS, _MODULE_CORE = 1, 1  # NVTX_ETID_CALLBACKS, NVTX_CB_MODULE_CORE
_START, _END = 5, 7  # NVTX_CBID_CORE_RangeStartA, _RangeEnd
_PUSH, _POP, _CORE_SIZE = 9, 11, 16  # NVTX_CBID_CORE_RangePushA, _RangePop, _SIZE

_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
_GetExports = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint)


class _Callbacks(ctypes.Structure):  # NvtxExportTableCallbacks
    _fields_ = [("size", ctypes.c_size_t), ("table", _GetTable)]


class _Injection:
    """The functions of the library, kept with what it was given: it may use that until the process ends."""

    def __init__(self, path: str):
        self._functions = (ctypes.c_void_p * _CORE_SIZE)()
        slots = [ctypes.addressof(self._functions) + 8 * i for i in builtins.range(_CORE_SIZE)]
        self._slots = (ctypes.c_void_p * _CORE_SIZE)(*slots)
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetTable(self._table))
        self._exports = _GetExports(self._export)
        self._library = ctypes.CDLL(path)
        initialize = self._library.InitializeInjectionNvtx2
        initialize.argtypes, initialize.restype = [_GetExports], ctypes.c_int
        initialize(self._exports)

    def _table(self, module: int, table: "ctypes._Pointer", size: "ctypes._Pointer") -> int:
        if module != _MODULE_CORE:
            return 0
        table[0], size[0] = ctypes.addressof(self._slots), _CORE_SIZE
        return 1

    def _export(self, which: int) -> int | None:
        return ctypes.addressof(self._callbacks) if which == _CALLBACKS else None

    def function(self, number: int, answer: type | None, *arguments: type) -> Callable[..., Any] | None:
        address = self._functions[number]
        return ctypes.CFUNCTYPE(answer, *arguments)(address) if address else None


@functools.cache
def _injection() -> _Injection | None:
    """None where no tool listens."""
    path = os.environ.get("NVTX_INJECTION64_PATH")
    try:
        return _Injection(path) if path else None
    except (OSError, AttributeError):  # no library, or none for NVTX
        return None


@functools.cache
def _push_and_pop() -> tuple[Callable[..., int] | None, Callable[..., int] | None]:
    injection = _injection()
    if injection is None:
        return None, None
    return injection.function(_PUSH, ctypes.c_int, ctypes.c_char_p), injection.function(_POP, ctypes.c_int)


@functools.cache
def _start_and_end() -> tuple[Callable[..., int] | None, Callable[..., None] | None]:
    injection = _injection()
    if injection is None:
        return None, None
    start = injection.function(_START, ctypes.c_uint64, ctypes.c_char_p)
    return start, injection.function(_END, None, ctypes.c_uint64)


def _as_text(name: str) -> bytes:
    return name.encode("utf-8", "replace").replace(b"\0", b"?")


def _named(name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"an NVTX range has a name, and {name!r} is none; Python's own range() is builtins.range")
    return _as_text(name)


def range(name: str) -> contextlib.AbstractContextManager[None]:  # noqa: A001
    """What this thread does inside is done in the NVTX range `name`. Does nothing where no tool listens."""
    return _range(_named(name))


def range_of_all_threads(name: str) -> contextlib.AbstractContextManager[None]:
    """The same for what all threads of the process do inside."""
    return _range_of_all_threads(_named(name))


@contextlib.contextmanager
def _range(name: bytes) -> Iterator[None]:
    push, pop = _push_and_pop()
    if push is None or pop is None:
        yield
        return
    push(name)
    try:
        yield
    finally:
        pop()


@contextlib.contextmanager
def _range_of_all_threads(name: bytes) -> Iterator[None]:
    start, end = _start_and_end()
    if start is None or end is None:
        yield
        return
    number = start(name)
    try:
        yield
    finally:
        end(number)
