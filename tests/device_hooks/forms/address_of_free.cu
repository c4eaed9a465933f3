// SPDX-License-Identifier: Apache-2.0
// The one form that the renaming breaks: with GPUMEMTRACE_NO_RENAME, or behind an #undef, it
// compiles, and calls by the logged names are logged all the same.
#include <cstdlib>
#include <memory>

#if defined(UNDEFINE)
#undef free
#endif

__global__ void one_malloc(void** out) { out[0] = gpumemtrace_malloc(8); }

int main() {
  std::unique_ptr<char, decltype(&std::free)> text(static_cast<char*>(std::malloc(10)), &std::free);
  std::unique_ptr<char, void (*)(void*)> other(static_cast<char*>(std::malloc(10)), std::free);
  return text && other ? 0 : 1;
}
