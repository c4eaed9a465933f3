# SPDX-License-Identifier: Apache-2.0
"""The text that NVRTC makes of a source."""

import ctypes
import pathlib


def text_by_nvrtc(nvcc, source):
    """None: there is no NVRTC, neither the loader's nor beside this nvcc."""
    try:
        library = ctypes.CDLL("libnvrtc.so.13")
    except OSError:
        found = list(pathlib.Path(nvcc).resolve().parent.parent.glob("lib64/libnvrtc.so.1?"))
        if not found:
            return None
        library = ctypes.CDLL(str(found[0]))
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_90", b"-lineinfo")
    name = str(source).encode()
    assert library.nvrtcCreateProgram(ctypes.byref(handle), source.read_bytes(), name, 0, None, None) == 0
    assert library.nvrtcCompileProgram(handle, 2, options) == 0
    size = ctypes.c_size_t()
    assert library.nvrtcGetPTXSize(handle, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(handle, text) == 0
    return text.value
