// SPDX-License-Identifier: Apache-2.0
// Where the command starts, and the only code that turns an exception into words and an exit
// status: a UserError is what the user can mend, anything else is a fault of ours (status 4). Runs
// fully static, so nothing here or below may load a library or look up a user or host name service.

#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "analyzer/command/command.h"

int main(int argc, char** argv) {
  try {
    return gmt::dispatch(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const gmt::UserError& error) {
    gmt::say(error.what());
    return static_cast<int>(error.status());
  } catch (const std::bad_alloc&) {
    gmt::say("out of host memory; give fewer traces at a time, or use a machine with more memory");
  } catch (const std::exception& error) {
    gmt::say(std::string("internal error: ") + error.what() +
             "; please report this with the trace");
  }
  return static_cast<int>(gmt::ExitStatus::kInternal);
}
