// SPDX-License-Identifier: Apache-2.0
// The process's own calls that matter to a trace: how a process without a watching parent ended,
// what it turns into, and children that come up without us, which are reported to the command.
// errno is kept.
#pragma once

namespace gmt::interposer {

// Asks to be called when exit() begins; recording goes on after it.
void watch_process_end() noexcept;

// Before _exit() and its like.
void record_end(int status) noexcept;

// How the C library finds a program's file.
enum class Lookup : bool { kNone, kPath };

void before_exec(const char* program, char* const* environment, Lookup lookup) noexcept;
// What an exec that returned has answered, which it passes on.
int exec_failed(int result) noexcept;

// A child of this process. Said only when a command started us: a user who preloads by hand knows.
void report_unhooked(const char* program, char* const* environment, Lookup lookup) noexcept;
void report_shell(const char* command) noexcept; // that the C library starts

} // namespace gmt::interposer
