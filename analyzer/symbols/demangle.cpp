// SPDX-License-Identifier: Apache-2.0
// Demangling and cutting of C++ function names, see demangle.h. The grammar is that of the Itanium
// demangler's output; where a name is ambiguous (conversion operators inside templates) the longer
// cut is never taken.
#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include "ptx/names/checked_form.h"

namespace gmt {
namespace {

// The demangler recurses on its input: a hostile symbol table must not eat the stack.
constexpr std::size_t kLongestMangled = 16 * 1024;

bool identifier_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

// Drops " [clone .x]" and the qualifiers behind a parameter list.
std::string_view without_trailers(std::string_view name) {
  while (name.ends_with(']')) {
    const std::size_t clone = name.rfind(" [clone ");
    if (clone == std::string_view::npos) break;
    name = name.substr(0, clone);
  }
  for (std::size_t before = name.size() + 1; before != name.size();) {
    before = name.size();
    for (const char* s : {" const", " volatile", " &&", " &", " noexcept"})
      name = without_suffix(name, s);
  }
  return name;
}

// Where the parameter list opens, npos if there is none.
std::size_t parameters_begin(std::string_view name) {
  if (!name.ends_with(')')) return std::string_view::npos;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      const bool call_operator = name.substr(0, i).ends_with("operator");
      return i == 0 || call_operator ? std::string_view::npos : i;
    }
  }
  return std::string_view::npos;
}

bool operator_at(std::string_view name, std::size_t i) {
  constexpr std::string_view kWord = "operator";
  return name.substr(i).starts_with(kWord) && (i == 0 || !identifier_char(name[i - 1])) &&
         (i + kWord.size() >= name.size() || !identifier_char(name[i + kWord.size()]));
}

// Where the name proper begins, behind a template's return type.
std::size_t name_begin(std::string_view base) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (depth == 0 && operator_at(base, i))
      break; // what follows may hold spaces and brackets of its own
    const char c = base[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return begin < base.size() ? begin : 0;
}

std::string with_short_templates(std::string_view name) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth == 0 && operator_at(name, i)) return out.append(name.substr(i));
    const char c = name[i];
    if (c == '<' && depth++ == 0) out += "<...";
    if (c == '>' && depth > 0) --depth;
    if (depth == 0) out += c;
  }
  return out;
}

std::string_view unscoped_with_arguments(std::string_view bare) {
  const std::size_t at = bare.find(unscoped_function(bare));
  return at == std::string_view::npos ? bare : bare.substr(at);
}

std::size_t shared_begin(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

// What `name` shares with others up to `shared` goes, but for the function's own name and the word
// that differs.
std::string without_shared(std::string_view name, std::size_t shared, std::size_t width) {
  constexpr std::string_view kGap = "...";
  const std::size_t head = std::min({name.find('<') + 1, shared, width / 3});
  const std::size_t room = width - head - kGap.size();
  std::size_t begin = shared;
  while (begin > head && shared - begin < room / 2 && identifier_char(name[begin - 1])) --begin;
  if (name.size() - begin < room) { // words before it have room, too
    const std::size_t differs = begin;
    begin = name.size() - room;
    while (begin < differs && identifier_char(name[begin - 1])) ++begin;
  }
  std::string text = std::string(name.substr(0, head)).append(kGap).append(name.substr(begin));
  if (text.size() > width) text.replace(width - kGap.size(), std::string::npos, kGap);
  return text;
}

// nvcc puts a file's static functions of the device into a namespace of its own:
// _INTERNAL_<hash>_<length>_<file>_<hash>.
void drop_internal_namespaces(std::string& name) {
  constexpr std::string_view kInternal = "_INTERNAL_";
  for (std::size_t at = name.find(kInternal); at != std::string::npos;
       at = name.find(kInternal, at)) {
    std::size_t end = at;
    while (end < name.size() && identifier_char(name[end])) ++end;
    const bool is_scope = (at == 0 || !identifier_char(name[at - 1])) &&
                          std::string_view(name).substr(end).starts_with("::");
    if (is_scope) name.erase(at, end + 2 - at);
    else at = end;
  }
}

} // namespace

std::string demangle(std::string_view symbol) {
  if (const std::size_t at = symbol.find('@'); at != std::string_view::npos && at > 0)
    symbol = symbol.substr(0, at);
  std::string name(ptx::plain_name(symbol)); // a checked form is shown as the plain one
  if (name.starts_with("_Z") && name.size() <= kLongestMangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0 && readable) name = readable.get();
    drop_internal_namespaces(name);
  } else if (const std::size_t dot = name.find('.'); dot != std::string::npos && dot > 0) {
    name.resize(dot); // C: step.constprop.0, step.part.1, step.cold
  }
  while (name.ends_with(']')) {
    const std::size_t clone = name.rfind(" [clone ");
    if (clone == std::string::npos) break;
    name.resize(clone);
  }
  return name;
}

std::string_view bare_function(std::string_view name) {
  const std::string_view trimmed = without_trailers(name);
  const std::size_t open = parameters_begin(trimmed);
  if (open == std::string_view::npos) return name_begin(trimmed) == 0 ? trimmed : name;
  const std::string_view base = trimmed.substr(0, open);
  return base.substr(name_begin(base));
}

std::string_view unscoped_function(std::string_view full) {
  const std::string_view name = bare_function(full);
  if (name.ends_with("operator()")) return "operator()";
  int depth = 0;
  std::size_t begin = 0, end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' && depth++ == 0) end = i;
    if (name[i] == '>') --depth;
    if (depth == 0 && name[i] == ':') {
      begin = i + 1;
      end = name.size();
    }
  }
  return name.substr(begin, end - begin);
}

std::string shorten_function(std::string_view name, std::size_t width) {
  if (name.size() <= width) return std::string(name);
  const std::string_view trimmed = without_trailers(name);
  const std::size_t open = parameters_begin(trimmed);
  const std::string_view base = trimmed.substr(0, open);
  std::string_view parameters;
  if (open != std::string_view::npos) parameters = trimmed.substr(open);
  if (parameters.size() > 5) parameters = "(...)";
  std::string text = std::string(base).append(parameters);
  if (text.size() > width) text = with_short_templates(base).append(parameters);
  if (text.size() > width && open != std::string_view::npos) text = text.substr(name_begin(text));
  if (text.size() > width && width >= 3) text = text.substr(0, width - 3).append("...");
  return text;
}

std::map<std::string, std::string> distinct_names(const std::vector<std::string>& names,
                                                  std::size_t width) {
  width = std::max<std::size_t>(width, 12);
  std::map<std::string, std::string> shown;
  std::map<std::string_view, unsigned> bare_names;
  for (const std::string& name : names) {
    if (shown.try_emplace(name).second) ++bare_names[bare_function(name)];
  }
  std::vector<std::string_view> texts;
  for (auto& [name, text] : shown) {
    const std::string_view bare = bare_function(name);
    const auto begin = static_cast<std::size_t>(bare.data() - name.data());
    text = bare_names[bare] == 1 ? bare : std::string_view(name).substr(begin);
    if (text.size() > width) text = std::string(unscoped_with_arguments(text));
    texts.push_back(text);
  }
  std::ranges::sort(texts);
  std::map<std::string_view, std::size_t> alike; // how far a text is like another one
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const std::size_t shared = shared_begin(texts[i - 1], texts[i]);
    for (std::size_t k : {i - 1, i}) alike[texts[k]] = std::max(alike[texts[k]], shared);
  }
  std::map<std::string, std::string> cut;
  for (const auto& [name, text] : shown) {
    if (text.size() <= width) {
      cut[name] = text;
    } else if (const std::size_t shared = alike[text]; shared + 3 > width) {
      cut[name] = without_shared(text, shared, width);
    } else {
      cut[name] = text.substr(0, width - 3).append("...");
    }
  }
  return cut;
}

} // namespace gmt
