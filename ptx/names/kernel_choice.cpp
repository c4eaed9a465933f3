// SPDX-License-Identifier: Apache-2.0
#include "ptx/names/kernel_choice.h"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <regex.h>
#include <stdexcept>
#include <utility>

namespace gmt::ptx {

namespace {

std::string without_spaces(std::string_view text) {
  std::string kept(text);
  std::erase(kept, ' ');
  return kept;
}

// How many brackets are open behind each character: what they hold is no part of a name's own path.
class Depth {
public:
  int after(char c) {
    if (c == '<' || c == '(' || c == '[' || c == '{') ++open_;
    if ((c == '>' || c == ')' || c == ']' || c == '}') && open_ > 0) --open_;
    return open_;
  }

private:
  int open_ = 0;
};

std::string demangled(std::string_view linked) {
  int status = 0;
  const std::string name(linked);
  const std::unique_ptr<char, decltype(&std::free)> plain(
    abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return plain != nullptr ? std::string(plain.get()) : name;
}

// Where the parameters begin; what stands in brackets before, such as (anonymous namespace), is
// followed by a path.
std::size_t parameters_of(std::string_view name) {
  Depth depth;
  int before = 0;
  std::size_t opened = std::string_view::npos;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const int now = depth.after(name[i]);
    if (name[i] == '(' && before == 0) opened = i;
    const bool is_in_path = now == 0 && name[i] == ')' && name.substr(i + 1).starts_with("::");
    if (is_in_path) opened = std::string_view::npos;
    before = now;
  }
  return opened;
}

// "void ns::step<int>(int*)" -> "ns::step<int>": templates have their return type before them.
std::string_view name_alone(std::string_view whole) {
  std::string_view name = whole.substr(0, parameters_of(whole));
  Depth depth;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth.after(name[i]) == 0 && name[i] == ' ') begin = i + 1;
  }
  return name.substr(begin);
}

std::string_view without_arguments(std::string_view name) {
  if (!name.ends_with('>')) return name;
  Depth depth;
  int before = 0;
  std::size_t opened = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' && before == 0) opened = i;
    before = depth.after(name[i]);
  }
  return name.substr(0, opened);
}

// The names that people may write for it, without spaces, each also without what is before a "::".
std::vector<std::string> names_of(std::string_view linked, std::string_view whole) {
  std::vector<std::string> names{std::string(linked)};
  const std::string_view alone = name_alone(whole);
  const std::size_t where = whole.find(alone);
  for (const std::string_view form :
       {whole, whole.substr(where), alone, without_arguments(alone)}) {
    const std::string text = without_spaces(form);
    names.push_back(text);
    Depth depth;
    for (std::size_t i = 0; i + 2 < text.size(); ++i) {
      if (depth.after(text[i]) == 0 && text[i] == ':' && text[i + 1] == ':')
        names.push_back(text.substr(i + 2));
    }
  }
  return names;
}

// The place of the last '*' is where the search goes on when the rest does not fit.
bool fits(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

// Ends behind the comma or at the list's end; commas in brackets and in expressions belong to it.
std::size_t end_of_name(std::string_view list, std::size_t begin) {
  if (list[begin] == '/') {
    for (std::size_t i = begin + 1; i < list.size(); ++i) {
      if (list[i] == '/' && (i + 1 == list.size() || list[i + 1] == ',')) return i + 1;
    }
    return list.size();
  }
  Depth depth;
  for (std::size_t i = begin; i < list.size(); ++i) {
    if (depth.after(list[i]) == 0 && list[i] == ',') return i;
  }
  return list.size();
}

} // namespace

struct KernelChoice::Pattern {
  struct Free {
    void operator()(regex_t* compiled) const {
      ::regfree(compiled);
      delete compiled;
    }
  };
  std::string glob;
  std::unique_ptr<regex_t, Free> expression; // null: by the glob

  bool names(std::string_view linked, const std::string& whole,
             const std::vector<std::string>& all) const {
    if (expression == nullptr)
      return std::ranges::any_of(all, [this](const std::string& name) { return fits(glob, name); });
    const auto is_found = [this](const std::string& text) {
      return ::regexec(expression.get(), text.c_str(), 0, nullptr, 0) == 0;
    };
    return is_found(whole) || is_found(std::string(linked));
  }
};

KernelChoice::KernelChoice() = default;
KernelChoice::KernelChoice(std::string_view only, std::string_view skip)
    : only_(read(only)), skip_(read(skip)) {}
KernelChoice::~KernelChoice() = default;
KernelChoice::KernelChoice(KernelChoice&&) noexcept = default;
KernelChoice& KernelChoice::operator=(KernelChoice&&) noexcept = default;

KernelChoice::Patterns KernelChoice::read(std::string_view list) {
  Patterns patterns;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = end_of_name(list, begin);
    const std::string_view name = list.substr(begin, end - begin);
    begin = end + 1;
    Pattern pattern;
    if (name.size() > 1 && name.starts_with('/') && name.ends_with('/')) {
      const std::string text(name.substr(1, name.size() - 2));
      auto compiled = std::make_unique<regex_t>();
      const int error = ::regcomp(compiled.get(), text.c_str(), REG_EXTENDED | REG_NOSUB);
      if (error != 0) {
        char reason[128];
        ::regerror(error, compiled.get(), reason, sizeof reason);
        throw std::invalid_argument(std::string(name) + " (" + reason + ")");
      }
      pattern.expression.reset(compiled.release());
    } else {
      pattern.glob = without_spaces(name);
      if (pattern.glob.empty()) continue;
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

bool KernelChoice::includes(std::string_view linked) const {
  if (is_all()) return true;
  const std::string whole = demangled(linked);
  const std::vector<std::string> all = names_of(linked, whole);
  const auto is_named = [&](const Pattern& one) { return one.names(linked, whole, all); };
  return (only_.empty() || std::ranges::any_of(only_, is_named)) &&
         std::ranges::none_of(skip_, is_named);
}

} // namespace gmt::ptx
