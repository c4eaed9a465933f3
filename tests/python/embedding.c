// SPDX-License-Identifier: Apache-2.0
// A program that calls CUDA, then loads Python's library and runs a line of Python: embedding
// LIBRARY CODE.
#include <dlfcn.h>
#include <stddef.h>

int cudaMalloc(void** pointer, size_t bytes);

static int run_python(void* library, const char* code) {
  void (*initialize)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
  int (*run)(const char*) = (int (*)(const char*))dlsym(library, "PyRun_SimpleString");
  initialize(0);
  int result = run(code);
  return result;
}

int main(int count, char** words) {
  void* pointer;
  if (count != 3 || cudaMalloc(&pointer, 1000) != 0) return 2;
  void* library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  return library == NULL || run_python(library, words[2]) != 0;
}
