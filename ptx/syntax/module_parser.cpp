// SPDX-License-Identifier: Apache-2.0
// Reads what a module declares, and skips the code of its functions.
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "ptx/syntax/declarations.h"
#include "ptx/syntax/module_data.h"
#include "ptx/syntax/tokens/lexer.h"

namespace gmt::ptx {
namespace {

// Initializers are at most this large for a text of any size, and more for a large one: a value of
// eight bytes takes at least two characters.
constexpr std::uint64_t kInitializerBytes = 16u << 20;

class ModuleParser {
public:
  explicit ModuleParser(Module::Data& module)
      : module_(module), lexer_(module.text, 0, module.text.size()) {
    budget_.bytes = kInitializerBytes + 8 * module.text.size();
  }

  void parse() {
    if (!lexer_.accept_directive("version")) lexer_.fail_expected("'.version' at the begin of PTX");
    parse_version();
    while (!lexer_.at_end()) {
      if (lexer_.accept(';')) continue;
      const std::size_t before = lexer_.offset();
      if (lexer_.accept("@@")) { // DWARF of old
        lexer_.skip_line();
        continue;
      }
      const std::string_view directive = lexer_.accept_directive();
      if (directive.empty()) lexer_.fail_expected("a directive");
      parse_directive(before, directive);
    }
  }

private:
  void parse_directive(std::size_t before, std::string_view directive) {
    if (parse_settings(directive)) return;
    Linkage linkage = Linkage::kStatic;
    const std::size_t begin = before;
    if (linkage_named(directive, linkage)) {
      before = lexer_.offset();
      directive = lexer_.accept_directive();
    }
    const Space space = declared_space(directive);
    if (directive == "entry" || directive == "func") {
      parse_function(begin, linkage, directive == "entry");
    } else if (space == Space::kGlobal || space == Space::kConst || space == Space::kShared ||
               space == Space::kTexture || space == Space::kLocal) {
      parse_variables(linkage, space);
    } else {
      lexer_.fail_at(before,
                     "expected a function or a variable, found '." + std::string(directive) + "'");
    }
  }

  bool parse_settings(std::string_view directive) {
    if (directive == "version") {
      parse_version();
    } else if (directive == "target") {
      parse_target();
    } else if (directive == "address_size") {
      module_.address_size = lexer_.integer32("32 or 64");
      if (module_.address_size != 32 && module_.address_size != 64)
        lexer_.fail("an address has 32 or 64 bits");
    } else if (directive == "file") {
      parse_file();
    } else if (directive == "section") {
      parse_section();
    } else if (directive == "pragma") {
      do {
        lexer_.string("a string behind .pragma");
      } while (lexer_.accept(','));
    } else if (directive == "alias") {
      parse_alias();
    } else {
      return false;
    }
    return true;
  }

  static bool linkage_named(std::string_view directive, Linkage& linkage) {
    static constexpr std::pair<std::string_view, Linkage> kNames[] = {
      {"visible", Linkage::kVisible},
      {"extern", Linkage::kExtern},
      {"weak", Linkage::kWeak},
      {"common", Linkage::kCommon}};
    for (const auto& [name, value] : kNames) {
      if (name != directive) continue;
      linkage = value;
      return true;
    }
    return false;
  }

  void parse_version() {
    if (!lexer_.at_digit()) lexer_.fail_expected("a version");
    const Literal literal = lexer_.literal();
    const double version = std::bit_cast<double>(literal.bits);
    if (literal.number != Number::kFloat64 || !(version >= 1 && version < 1000)) {
      lexer_.fail("a version must be like 8.3");
    }
    module_.version = static_cast<std::uint32_t>(std::lround(version * 10));
  }

  void parse_target() {
    do {
      const std::string_view word = lexer_.identifier("a target");
      if (word == "debug") module_.debug = true;
      const std::size_t digits = word.find('_') + 1;
      if (!word.starts_with("sm_") && !word.starts_with("compute_")) continue;
      module_.target_name = word;
      module_.target = 0;
      for (const char c : word.substr(digits, 4)) {
        if (c < '0' || c > '9') break;
        module_.target = module_.target * 10 + static_cast<std::uint32_t>(c - '0');
      }
    } while (lexer_.accept(','));
  }

  void parse_file() {
    const std::uint32_t index = lexer_.integer32("the number of a file");
    module_.files[index] = lexer_.string("the path of a file");
    if (!lexer_.accept(',')) return;
    lexer_.integer("a time"); // and a size
    lexer_.expect(',', "behind the time of a file");
    lexer_.integer("the size of a file");
  }

  void parse_section() {
    const std::string_view name = lexer_.accept_directive();
    if (name.empty()) lexer_.fail_expected("the name of a section");
    lexer_.expect('{', "of a section");
    const std::size_t begin = lexer_.offset();
    const std::size_t end = lexer_.skip_braces();
    if (name != "debug_str") return;
    module_.names_begin = begin;
    module_.names_end = end;
  }

  void parse_alias() {
    const std::string_view name = lexer_.identifier("the name of an alias");
    lexer_.expect(',', "of .alias");
    const std::string_view aliasee = lexer_.identifier("the function of an alias");
    lexer_.expect(';', "behind .alias");
    const auto found = module_.names.find(name);
    if (found == module_.names.end() || found->second.kind != SymbolKind::kFunction) {
      lexer_.fail("the alias " + quoted(name) + " is not declared as a function");
    }
    Function& function = module_.functions[found->second.index];
    if (function.has_body) lexer_.fail("the alias " + quoted(name) + " has a body");
    function.alias_of = aliasee;
  }

  void parse_variables(Linkage linkage, Space space) {
    const TypeOfVariable type = parse_type_of_variable(lexer_, space);
    do {
      Variable variable = parse_variable(lexer_, type, &budget_);
      variable.linkage = linkage;
      add(std::move(variable));
    } while (lexer_.accept(','));
    lexer_.expect(';', "behind a variable");
  }

  void add(Variable&& variable) {
    const auto next = static_cast<std::uint32_t>(module_.variables.size());
    const auto [found, is_new] =
      module_.names.try_emplace(variable.name, Symbol{SymbolKind::kVariable, next});
    if (is_new) {
      module_.variables.push_back(std::move(variable));
      return;
    }
    if (found->second.kind != SymbolKind::kVariable)
      fail_duplicate(variable.text_offset, variable.name);
    Variable& other = module_.variables[found->second.index];
    if (other.space != variable.space) fail_duplicate(variable.text_offset, variable.name);
    if (variable.linkage == Linkage::kExtern) return;
    const bool may_repeat = other.linkage == Linkage::kExtern || other.linkage == Linkage::kCommon;
    if (!may_repeat) fail_duplicate(variable.text_offset, variable.name);
    other = std::move(variable);
  }

  [[noreturn]] void fail_duplicate(std::size_t offset, std::string_view name) {
    lexer_.fail_at(offset, quoted(name) + " is defined more than once");
  }

  void parse_function(std::size_t begin, Linkage linkage, bool is_entry) {
    Function function;
    function.linkage = linkage;
    function.is_entry = is_entry;
    function.text_offset = static_cast<std::uint32_t>(begin);
    if (!is_entry) {
      if (lexer_.accept_directive("attribute")) skip_attributes();
      if (lexer_.accept('(')) function.returns = parse_parameters(lexer_);
    }
    function.name = lexer_.identifier("the name of a function");
    if (lexer_.accept('(')) function.parameters = parse_parameters(lexer_);
    parse_tuning(function);
    if (lexer_.accept('{')) {
      function.has_body = true;
      function.body_begin = static_cast<std::uint32_t>(lexer_.offset());
      function.body_end = static_cast<std::uint32_t>(lexer_.skip_braces());
    } else if (!lexer_.accept(';')) {
      lexer_.fail_expected("'{' or ';' behind the head of a function");
    }
    add(std::move(function));
  }

  void skip_attributes() {
    lexer_.expect('(', "behind .attribute");
    for (int depth = 1; depth > 0;) {
      if (lexer_.at_end() || lexer_.peek() == '{') lexer_.fail_expected("')' of .attribute");
      if (lexer_.accept('(')) {
        ++depth;
      } else if (lexer_.accept(')')) {
        --depth;
      } else if (lexer_.accept_directive().empty() && !lexer_.accept(',')) {
        lexer_.integer("a number of an attribute");
      }
    }
  }

  // .maxntid 128, 1, 1 and the like. Later versions of PTX may have more: they are skipped.
  void parse_tuning(Function& function) {
    for (;;) {
      const std::string_view directive = lexer_.accept_directive();
      if (directive.empty()) return;
      if (directive == "pragma") {
        do {
          lexer_.string("a string behind .pragma");
        } while (lexer_.accept(','));
        lexer_.expect(';', "behind .pragma");
        continue;
      }
      std::uint32_t values[3] = {0, 0, 0};
      std::size_t count = 0;
      while (lexer_.at_digit()) {
        const std::uint32_t value = lexer_.integer32("a number");
        if (count < 3) values[count++] = value;
        if (!lexer_.accept(',')) break;
      }
      set_tuning(function, directive, values, count);
    }
  }

  static void set_tuning(Function& function, std::string_view directive,
                         const std::uint32_t (&values)[3], std::size_t count) {
    const auto set = [&](std::uint32_t(&dimensions)[3]) {
      for (std::size_t i = 0; i < 3; ++i) dimensions[i] = i < count ? values[i] : 1;
    };
    if (directive == "maxntid") set(function.max_threads);
    if (directive == "reqntid") set(function.required_threads);
    if (directive == "reqnctapercluster") set(function.required_cluster);
    if (directive == "minnctapersm") function.min_blocks = values[0];
    if (directive == "maxnreg") function.max_registers = values[0];
    if (directive == "noreturn") function.noreturn = true;
  }

  void add(Function&& function) {
    const auto next = static_cast<std::uint32_t>(module_.functions.size());
    const auto [found, is_new] =
      module_.names.try_emplace(function.name, Symbol{SymbolKind::kFunction, next});
    if (is_new) {
      module_.functions.push_back(std::move(function));
      return;
    }
    if (found->second.kind != SymbolKind::kFunction)
      fail_duplicate(function.text_offset, function.name);
    Function& other = module_.functions[found->second.index];
    if (!function.has_body) return; // declared again
    if (other.has_body || !other.alias_of.empty())
      fail_duplicate(function.text_offset, function.name);
    if (function.parameters.size() != other.parameters.size() ||
        function.returns.size() != other.returns.size()) {
      lexer_.fail_at(function.text_offset,
                     quoted(function.name) + " was declared with other parameters");
    }
    function.noreturn = function.noreturn || other.noreturn;
    other = std::move(function);
  }

  Module::Data& module_;
  Lexer lexer_;
  InitializerBudget budget_;
};

} // namespace

Module parse_module(std::string text) {
  text.resize(text.find_last_not_of('\0') + 1); // fat binaries pad with NULs
  if (text.size() > std::numeric_limits<std::uint32_t>::max() / 2) {
    throw ParseError(1, "more than 2 GiB of PTX");
  }
  auto data = std::make_unique<Module::Data>();
  data->text = std::move(text);
  ModuleParser(*data).parse();
  return Module(std::move(data));
}

} // namespace gmt::ptx
