// SPDX-License-Identifier: Apache-2.0
// The table of subcommands and the choice of one. A first word that is no command means `run`:
// `gpumemtrace ./app` is the whole of the everyday use.

#include "analyzer/command/command.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "analyzer/base/printable.h"
#include "analyzer/command/build_facts.h"
#include "analyzer/command/console.h"
#include "analyzer/command/options/preset_options.h"

#ifndef GPUMEMTRACE_VERSION
#define GPUMEMTRACE_VERSION "unknown"
#endif

namespace gmt {

namespace {

constexpr CommandInfo kCommands[] = {
  {"run", CommandId::kRun, "[run] [options] PROGRAM [ARGUMENT...]",
   "run a program and print what is wrong with its memory",
   "  gpumemtrace ./app --epochs 1             the report goes to stderr, the status is the program's\n"
   "  gpumemtrace --device simulated ./app     on a machine with no GPU; kernels run on the processor\n"
   "  gpumemtrace bash -c './a && ./b'         children are followed; one report for all\n",
   command_run},
  {"check", CommandId::kCheck, "check [options] PROGRAM [ARGUMENT...]",
   "the same for CI: fails when something is wrong",
   "  gpumemtrace check ./app                  23 if an error was found, else the program's status\n"
   "  gpumemtrace check --fail-on warning --suppressions known.supp ctest\n"
   "  gpumemtrace check --format json --output report.json ./app\n",
   command_run},
  {"record", CommandId::kRecord, "record [options] PROGRAM [ARGUMENT...]",
   "run a program and keep the trace for a later report",
   "  gpumemtrace record --trace-dir /data ./app\n"
   "  gpumemtrace record --stack-depth 64 --max-trace 8G ./app\n",
   command_run},
  {"report", CommandId::kReport, "report [options] [TRACE...]",
   "report on traces: 0 passed, 1 failed, 2 usage, 3 unreadable, 4 internal",
   "  gpumemtrace report                       the newest run in the current directory\n"
   "  gpumemtrace report /data                 the newest run in that one\n"
   "  gpumemtrace report --format json --output report.json gpumemtrace.app.host.4711\n",
   command_report},
  {"diff", CommandId::kDiff, "diff [options] BEFORE AFTER",
   "compare two runs: 0 nothing is worse, 1 something is",
   "  gpumemtrace diff main.json branch.json   JSON reports; databases are taken, too\n"
   "  gpumemtrace diff --format html --output compare.html main.db branch.db\n"
   "  gpumemtrace diff gpumemtrace.app.host.4711 gpumemtrace.app.host.4712\n",
   command_diff},
  {"top", CommandId::kTop, "top [options] [PID|TRACE]",
   "look at a run while it goes on: who holds how much memory",
   "  gpumemtrace top                          the newest run in the current directory\n"
   "  gpumemtrace top 4711                     the run of this process\n"
   "  gpumemtrace top --once --format json gpumemtrace.app.host.4711\n"
   "  gpumemtrace top --once --format prometheus --output gpu.prom 4711\n",
   command_top},
  {"attach", CommandId::kAttach, "attach PID...",
   "record from now on what processes under 'record --idle' do",
   "  gpumemtrace record --idle ./server &     costs next to nothing until it is asked for\n"
   "  gpumemtrace attach 4711\n",
   command_attach},
  {"follow", CommandId::kFollow, "follow [options] PID|TRACE",
   "answer questions about a run while it goes on, a line of JSON each",
   "  echo '{\"do\": \"snapshot\"}' | gpumemtrace follow 4711\n", command_follow},
  {"dump", CommandId::kDump, "dump [options] TRACE", "print every event of a trace as one line",
   "  gpumemtrace dump gpumemtrace.app.host.4711 | grep cuMemFree\n"
   "  gpumemtrace dump --format jsonl gpumemtrace.app.host.4711 | jq .call\n",
   command_dump},
  {"last", CommandId::kLast, "last [TRACE]",
   "after a crash: the last calls of each thread, what was not waited for, and the report",
   "  gpumemtrace last                         the newest run in the current directory\n"
   "  gpumemtrace last gpumemtrace.app.host.4711\n",
   command_last},
  {"replay", CommandId::kReplay, "replay [options] FILE",
   "run a launch that --capture stored on the processor, with all checks: 0 as the GPU, 1 not",
   "  gpumemtrace --capture scale:3 ./app      stores the third launch of the kernel\n"
   "  gpumemtrace replay gpumemtrace.scale.3.4711.capture\n"
   "  gpumemtrace replay --device-seed 7 gpumemtrace.scale.3.4711.capture\n",
   command_replay},
  {"pack", CommandId::kPack, "pack [options] [TRACE...]",
   "make one file of traces, which the other commands read as it is",
   "  gpumemtrace pack -o crash.tar.zst        the newest run in the current directory\n"
   "  gpumemtrace report crash.tar.zst\n",
   command_pack},
  {"clean", CommandId::kClean, "clean [options] [FOLDER|TRACE...]",
   "list traces with their sizes, and remove them",
   "  gpumemtrace clean                        lists those in the current directory\n"
   "  gpumemtrace clean --remove --older-than 7 /data\n",
   command_clean},
  {"cache", CommandId::kCache, "cache [options]",
   "list what --kernel-checks keeps for later runs, and remove it",
   "  gpumemtrace cache                        compiled code, and caches of Triton and CuPy\n"
   "  gpumemtrace cache --remove\n",
   command_cache},
  {"nvcc", CommandId::kNvcc, "nvcc [COMPILER] [ARGUMENT...]",
   "compile so that malloc and free in kernels are checked",
   "  gpumemtrace nvcc -O2 -c kernels.cu       nvcc with one more include; all words are nvcc's own\n"
   "  gpumemtrace nvcc /opt/cuda/bin/nvcc -c kernels.cu\n"
   "  cmake -DCMAKE_CUDA_COMPILER_LAUNCHER='gpumemtrace;nvcc' .\n",
   command_nvcc},
  {"help", CommandId::kHelp, "help [COMMAND|FINDING|findings|options]",
   "explain a command, a finding, all findings or all options",
   "  gpumemtrace help check\n  gpumemtrace help leak\n", command_help},
};

} // namespace

std::span<const CommandInfo> commands() { return kCommands; }

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

namespace {

// The commands of which a program inherits the dispositions of signals.
bool starts_a_program(CommandId id) {
  return id == CommandId::kRun || id == CommandId::kCheck || id == CommandId::kRecord ||
         id == CommandId::kNvcc;
}

// The libraries of others in it: a scanner for weaknesses wants to know them.
std::string libraries() {
#ifdef GPUMEMTRACE_LIBRARIES
  return "contains: " GPUMEMTRACE_LIBRARIES "\n";
#else
  return "contains no library of others: it is linked with those of this machine\n";
#endif
}

} // namespace

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    throw UserError(
      "no program to run; write 'gpumemtrace ./app', or 'gpumemtrace help' for all commands",
      ExitStatus::kUsage);
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") {
    Settings settings;
    settings.words.assign(arguments.begin() + 1, arguments.end());
    return command_help(settings);
  }
  if (first == "--version") {
    const bool is_verbose = arguments.size() > 1 && arguments[1] == "--verbose";
    if (const std::size_t most = is_verbose ? 2 : 1; arguments.size() > most)
      throw UserError("'--version' stands alone, or with '--verbose', and '" + arguments[most] +
                        "' is one word more",
                      ExitStatus::kUsage);
    write_output(STDOUT_FILENO, "standard output",
                 "gpumemtrace " + tool_version() + "\n" +
                   (is_verbose ? build_facts() + libraries() : ""));
    return 0;
  }
  const CommandInfo* command = find_command(first);
  std::span<const std::string> rest(arguments);
  if (command) {
    rest = rest.subspan(1);
  } else {
    command = find_command("run");
  }
  // A report above the limit of RLIMIT_FSIZE shall be an error of write().
  if (!starts_a_program(command->id)) std::signal(SIGXFSZ, SIG_IGN);
  if (command->id == CommandId::kNvcc) { // options are the compiler's, also --help
    Settings settings;
    settings.words.assign(rest.begin(), rest.end());
    return command->run(settings);
  }
  std::vector<std::string> words = preset_options(command->id);
  words.insert(words.end(), rest.begin(), rest.end());
  const Settings settings = parse_options(command->id, words);
  if (settings.help) {
    print_help_of(*command);
    return 0;
  }
  for (const std::string& notice : settings.notices) say(notice);
  return command->run(settings);
}

std::string tool_version() { return GPUMEMTRACE_VERSION; }

void say(std::string_view sentence) {
  const std::string line = "gpumemtrace: " + printable_lines(sentence) + "\n";
  write_all(STDERR_FILENO, line); // nothing is left to say if this fails
}

} // namespace gmt
