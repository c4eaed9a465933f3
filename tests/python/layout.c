// SPDX-License-Identifier: Apache-2.0
// Prints the offsets of interposer/python/layouts.def as the headers of one version have them.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_runtime.h>
#endif
#include <stddef.h>
#include <stdio.h>

static void print(size_t offset) { printf(" %zu", offset); }

int main(void) {
#if PY_VERSION_HEX < 0x030d0000
  print(offsetof(PyThreadState, cframe));
  print(offsetof(_PyCFrame, current_frame));
  print(offsetof(_PyInterpreterFrame, f_code));
  print(offsetof(_PyInterpreterFrame, previous));
  print(offsetof(_PyInterpreterFrame, prev_instr));
#else
  print(offsetof(PyThreadState, current_frame));
  printf(" kAbsent");
  print(offsetof(_PyInterpreterFrame, f_executable));
  print(offsetof(_PyInterpreterFrame, previous));
  print(offsetof(_PyInterpreterFrame, instr_ptr));
#endif
  print(offsetof(_PyInterpreterFrame, owner));
#if PY_VERSION_HEX < 0x030c0000
  print(offsetof(_PyInterpreterFrame, is_entry));
#else
  printf(" kAbsent");
#endif
  print(offsetof(PyCodeObject, co_filename));
  print(offsetof(PyCodeObject, co_qualname));
  print(offsetof(PyCodeObject, co_linetable));
  print(offsetof(PyCodeObject, co_firstlineno));
#if PY_VERSION_HEX < 0x030c0000
  printf(" kAbsent");
#else
  print(offsetof(PyCodeObject, co_version));
#endif
  print(offsetof(PyCodeObject, co_code_adaptive));
  print(sizeof(PyASCIIObject));
  print(sizeof(PyCompactUnicodeObject));
  printf("\n");
#if PY_VERSION_HEX >= 0x030d0000
  print(offsetof(_Py_DebugOffsets, thread_state) / 8);
  print(offsetof(_Py_DebugOffsets, interpreter_frame) / 8);
  print(offsetof(_Py_DebugOffsets, code_object) / 8);
#endif
  printf("\n");
  return 0;
}
