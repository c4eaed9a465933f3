// SPDX-License-Identifier: Apache-2.0
// SQLite can load extensions; a statically linked command cannot. The linker gives it this function
// instead of dlopen (--wrap), which it would warn of.

extern "C" void* __wrap_dlopen(const char*, int); // NOLINT: the linker makes the name
extern "C" void* __wrap_dlopen(const char*, int) { return nullptr; } // NOLINT
