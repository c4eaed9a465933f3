// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/live/terminal_keys.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace gmt {
namespace {

constexpr std::string_view kOtherScreen = "\033[?1049h\033[?25l",
                           kOwnScreen = "\033[?25h\033[?1049l";

termios own_modes{}; // of the terminal; one object changes it at a time

void write_plain(std::string_view text) {
  // A terminal that is gone needs nothing any more.
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

void give_back() {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &own_modes);
  write_plain(kOwnScreen);
}

void on_end(int signal) {
  give_back();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void on_new_size(int) {} // it interrupts poll()

} // namespace

TerminalKeys::TerminalKeys() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return; // in the background it would be stopped
  if (::tcgetattr(STDIN_FILENO, &own_modes) != 0) return;
  termios raw = own_modes;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return;
  is_on_ = true;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_end);
  struct sigaction resize = {};
  resize.sa_handler = on_new_size;
  ::sigaction(SIGWINCH, &resize, nullptr);
  write_plain(kOtherScreen);
}

TerminalKeys::~TerminalKeys() {
  if (!is_on_) return;
  give_back();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) std::signal(signal, SIG_DFL);
}

char TerminalKeys::wait(std::chrono::milliseconds most) const {
  pollfd input{is_on_ ? STDIN_FILENO : -1, POLLIN, 0};
  if (::poll(&input, 1, static_cast<int>(most.count())) <= 0 || !is_on_) return '\0';
  char key = '\0';
  return ::read(STDIN_FILENO, &key, 1) == 1 ? key : '\0';
}

std::size_t window_rows() {
  winsize window = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_row : 0;
}

} // namespace gmt
