// SPDX-License-Identifier: Apache-2.0
// Declares what checked code needs, reads the text again, and prints it with the checked functions
// behind it. It is one file because it is one class: each part of the new text uses names that
// other parts have declared.
#include "rewriter/rewriter.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "ptx/print/print.h"
#include "rewriter/body_rewriter.h"
#include "rewriter/functions.h"
#include "rewriter/launch_number.h"
#include "rewriter/shared_alignment.h"
#include "rewriter/shared_copies.h"
#include "rewriter/shared_state.h"

namespace gmt::rewriter {
namespace {

using ptx::Body;
using ptx::Function;
using ptx::Module;

bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// The declaration of a function up to its body, with the name of its checked form.
std::string checked_head(const Module& module, const Function& function) {
  std::string head(
    module.text().substr(function.text_offset, function.body_begin - 1 - function.text_offset));
  std::size_t at = head.find(function.name);
  while (at != std::string::npos) {
    const std::size_t end = at + function.name.size();
    const bool is_whole = (at == 0 || !continues_name(head[at - 1])) &&
                          (end == head.size() || !continues_name(head[end]));
    if (is_whole) break;
    at = head.find(function.name, end);
  }
  if (at == std::string::npos) return {};
  head.replace(at, function.name.size(), std::string(kChecked) + std::string(function.name));
  if (launch_parameter(function).is_there)
    add_launch_parameter(head, at + kChecked.size() + function.name.size(), function);
  if (function.is_entry) return head;
  // Others than the module itself call the plain form.
  const std::size_t directive = head.find(".func");
  return directive == std::string::npos ? std::string() : head.substr(directive);
}

// Where the directives of the text's head end: declarations may follow.
std::size_t end_of_head(const Module& module) {
  std::size_t end = module.text().size();
  for (const ptx::Variable& variable : module.variables())
    end = std::min<std::size_t>(end, variable.text_offset);
  for (const Function& function : module.functions())
    end = std::min<std::size_t>(end, function.text_offset);
  const std::string_view text = module.text().substr(0, end);
  std::size_t line = text.rfind("\n.address_size");
  if (line == std::string_view::npos) line = text.rfind("\n.target");
  if (line == std::string_view::npos) return std::string_view::npos;
  const std::size_t next = text.find('\n', line + 1);
  return next == std::string_view::npos ? next : next + 1;
}

// About how many accesses of memory stand in a body: the words of them, as bodies are parsed later,
// one by one.
std::size_t accesses_in(std::string_view body) {
  std::size_t count = 0;
  for (const std::string_view word : {"ld.", "st.", "atom.", "red."}) {
    for (std::size_t at = body.find(word); at != std::string_view::npos;) {
      const std::string_view behind = body.substr(at + word.size());
      const bool is_word = at == 0 || (!continues_name(body[at - 1]) && body[at - 1] != '.');
      if (is_word && !behind.starts_with("param") && !behind.starts_with("const")) ++count;
      at = body.find(word, at + word.size());
    }
  }
  return count;
}

class ModuleRewriter {
public:
  ModuleRewriter(std::string_view text, const Options& options, bool follows_shared)
      : options_(options), given_(ptx::parse_module(std::string(text))),
        follows_shared_(follows_shared && options.checks_written) {
    result_.text = text;
  }

  // Whether a function has no checks, which was not known before: it may write shared memory that
  // others take for unwritten.
  bool is_spoilt() const { return shared_.is_followed() && has_plain_function_; }

  Rewritten run() {
    const Functions functions = choose_functions(given_, options_);
    forms_ = functions.forms;
    for (std::uint32_t i = 0; i < forms_.size(); ++i) {
      if (!functions.why_plain[i].empty()) leave_plain(i, functions.why_plain[i]);
    }
    if (std::ranges::count(forms_, Form::kBoth) == 0) return std::move(result_);
    if (is_large())
      options_.most_copied = std::min(options_.most_copied, options_.most_copied_in_large);
    if (std::string reason = why_not(); !reason.empty()) {
      leave_all_plain(reason);
      return std::move(result_);
    }
    try {
      write();
    } catch (const ptx::ParseError& error) { // of what was written
      result_ = {};
      result_.text = given_.text();
      leave_all_plain(error.what());
    }
    return std::move(result_);
  }

private:
  // Whether what gets checks has so many accesses that an assembler takes long for copies.
  bool is_large() const {
    std::size_t all = 0;
    for (std::uint32_t i = 0; i < forms_.size(); ++i) {
      const Function& function = given_.functions()[i];
      if (forms_[i] == Form::kPlain || !function.has_body) continue;
      const std::size_t its = accesses_in(
        given_.text().substr(function.body_begin, function.body_end - function.body_begin));
      const bool is_left_plain = options_.most_accesses != 0 && its > options_.most_accesses;
      if (!is_left_plain) all += its;
    }
    return all > options_.large_text;
  }

  std::string why_not() const {
    if (given_.address_size() != 64) return "its addresses have 32 bits";
    if (given_.target() < 70) return "it is for a device before Volta";
    if (end_of_head(given_) == std::string_view::npos) return "its head has no line of its own";
    const auto is_ours = [](const auto& named) { return named.name.starts_with("__gmt_"); };
    if (std::ranges::any_of(given_.variables(), is_ours) ||
        std::ranges::any_of(given_.functions(), is_ours))
      return "it has names of checked code already";
    return {};
  }

  void leave_all_plain(const std::string& reason) {
    for (std::uint32_t i = 0; i < forms_.size(); ++i) {
      if (given_.functions()[i].is_entry && forms_[i] != Form::kPlain) leave_plain(i, reason);
    }
  }

  void leave_plain(std::uint32_t function, std::string reason) {
    if (!given_.functions()[function].is_entry) has_plain_function_ = true;
    forms_[function] = Form::kPlain;
    result_.writes_unseen = options_.checks_written; // checked ones may call it
    result_.unchecked.push_back(
      {std::string(given_.functions()[function].name), std::move(reason)});
  }

  bool has_word(std::string_view word) const {
    return given_.text().find(word) != std::string_view::npos;
  }

  // Arrays without a size begin where the others end, each rounded up to its own alignment: the
  // block's shared memory ends behind the one that is aligned most.
  std::uint32_t alignment_of_dynamic() const {
    std::uint32_t most = 16;
    for (const ptx::Variable& variable : given_.variables()) {
      const bool is_dynamic = variable.space == ptx::Space::kShared && variable.unsized;
      if (is_dynamic) most = std::max(most, variable.alignment);
    }
    return most;
  }

  bool has_placed() const {
    return options_.table == 0 || options_.window == 0 || options_.checks_written;
  }

  // The text with declarations of all that checked code names. `sites` is wide enough for the
  // number that is known in the end.
  std::string declared(std::size_t& sites, std::size_t& words) const {
    std::string added;
    if (has_placed()) {
      added += ".visible .const .align 8 .u64 " + std::string(kTable) + "[7];\n";
      added += ".visible .global .align 4 .u32 " + std::string(kFlagged) + ";\n";
    }
    added += ".visible .global .align 8 .u64 " + std::string(kCounts) + "[";
    sites = added.size();
    added += "1           ];\n.visible .global .align 64 .b8 " + std::string(kRecords) + "[" +
             std::to_string(options_.records * sizeof(Record)) +
             "];\n.visible .global .align 4 .u32 " + std::string(kUsed) + ";\n";
    if (has_shared_) {
      added += ".extern .shared .align " + std::to_string(alignment_of_dynamic()) + " .b8 " +
               std::string(kDynamic) + "[];\n";
    }
    if (shared_.is_followed()) {
      added += ".shared .align 16 .b8 " + std::string(kSharedState) + "[" +
               std::to_string(shared_.bytes()) + "];\n";
    }
    added += ".global .align 16 .u32 " + std::string(kAccesses) + "[";
    words = added.size();
    added += "1           ];\n" + report_function(options_.records, has_placed()) +
             array_check_function() + global_check_function(options_, knows_block_);
    for (std::uint32_t i = 0; i < forms_.size(); ++i) {
      const Function& function = given_.functions()[i];
      if (forms_[i] == Form::kBoth && !function.is_entry)
        added += checked_head(given_, function) + ";\n";
    }
    added += copies_.declarations(); // last, as their alignment is written anew
    const std::size_t at = end_of_head(given_);
    sites += at;
    words += at;
    std::string text(given_.text());
    text.insert(at, added);
    text = with_aligned_arrays(std::move(text));
    added_lines_ = static_cast<std::uint32_t>(std::ranges::count(added, '\n'));
    return text;
  }

  void write() {
    for (std::uint32_t i = 0; i < forms_.size(); ++i) {
      if (forms_[i] == Form::kBoth && checked_head(given_, given_.functions()[i]).empty())
        leave_plain(i, "its declaration is not understood");
    }
    if (follows_shared_ && !has_plain_function_) shared_ = shared_state_of(given_);
    copies_ = SharedCopies(given_, forms_);
    std::size_t sites = 0, words = 0;
    module_.emplace(ptx::parse_module(declared(sites, words)));
    copies_.find_in(*module_);
    control_ = {variable(kCounts), variable(kRecords), variable(kUsed)};
    if (has_placed()) control_.table = variable(kTable);
    if (shared_.is_followed()) control_.shared_state = variable(kSharedState);
    control_.shared_covered = shared_.covered;
    control_.report = variable(kReport);
    control_.check_global = variable(kCheckGlobal);
    control_.check_array = variable(kCheckArray);
    if (has_shared_) control_.dynamic = variable(kDynamic);
    std::string behind;
    // Called functions first: whether they have a checked form is known then.
    for (const bool entries : {false, true}) {
      for (std::uint32_t i = 0; i < forms_.size(); ++i) {
        if (forms_[i] == Form::kBoth && given_.functions()[i].is_entry == entries)
          behind += checked_function(i);
      }
    }
    result_.text = ptx::print_module(
      *module_, [this](const Function& function) { return checked_only(function); });
    result_.text += behind;
    const std::string count =
      std::to_string(std::max<std::size_t>(1, result_.sites.size()) * kCountKinds);
    result_.text.replace(sites, count.size(), count);
    if (!words_.empty())
      result_.text.replace(words, result_.text.find(']', words) + 1 - words, words_text());
  }

  // How the declaration of kAccesses goes on.
  std::string words_text() const {
    std::string text = std::to_string(words_.size() * 4) + "] = {";
    for (const AccessWords& each : words_) {
      text += std::to_string(static_cast<std::uint32_t>(each.offset)) + "," +
              std::to_string(each.word) + "," + std::to_string(each.site) + "," +
              std::to_string(each.array_bytes) + ",";
    }
    text.back() = '}';
    return text;
  }

  std::uint32_t variable(std::string_view name) const { return module_->find(name)->index; }

  // The number of a function of the text as it was given.
  std::optional<std::uint32_t> given(std::string_view name) const {
    const auto found = given_.find(name);
    if (!found || found->kind != ptx::SymbolKind::kFunction) return std::nullopt;
    return found->index;
  }

  std::optional<Body> checked_body(const Function& function, std::string& reason) {
    Body body = ptx::parse_body(*module_, function);
    if (function.is_entry && has_too_many(body)) {
      reason = options_.why_too_many;
      return std::nullopt;
    }
    note_unchecked(function, body);
    const LaunchName launch = name_launch(function, body);
    call_checked(body, launch);
    std::vector<Site>& sites = result_.sites;
    const std::size_t known = words_.size(), first = sites.size();
    const BodyContext context{*module_, function, options_, control_,
                              names_,   launch,   words_,   knows_block_};
    reason = add_checks(body, context, sites);
    if (!reason.empty()) {
      words_.resize(known);
      sites.resize(first);
      return std::nullopt;
    }
    for (std::size_t i = first; i < sites.size(); ++i) sites[i].ptx_line -= added_lines_;
    return body;
  }

  bool has_too_many(const Body& body) const {
    if (options_.most_accesses == 0) return false;
    const auto accesses = std::ranges::count_if(body.instructions, [&](const auto& instruction) {
      return classify(body, instruction).role == Role::kAccess;
    });
    return accesses > options_.most_accesses;
  }

  void note_unchecked(const Function& function, const Body& body) {
    std::string_view last;
    for (const ptx::Instruction& instruction : body.instructions) {
      const std::string_view reason = why_unchecked(body, instruction);
      if (options_.checks_written && writes_unseen(body, instruction)) result_.writes_unseen = true;
      if (reason.empty() || reason == last) continue;
      last = reason;
      result_.unchecked.push_back({std::string(function.name), std::string(reason)});
    }
  }

  // What is called has checks, or is known to write no memory that the program has.
  bool writes_unseen(const Body& body, const ptx::Instruction& instruction) const {
    if (body.mnemonic(instruction).opcode != "call") return may_write_unseen(body, instruction);
    const ptx::Operand* target = ptx::call_of(body, instruction).target;
    if (target == nullptr || target->kind != ptx::OperandKind::kFunction)
      return !options_.checks_by_pointer;
    return writes_elsewhere(*module_, target->id);
  }

  // A function whose address is taken has the parameters that its callers know.
  LaunchName name_launch(const Function& function, Body& body) const {
    const auto found = given(function.name);
    if (!found || forms_[*found] != Form::kBoth || !launch_parameter(function).is_there)
      return std::nullopt;
    return add_launch_name(body);
  }

  // Direct calls lead to the checked forms, which get the number of the launch.
  void call_checked(Body& body, LaunchName launch) {
    std::vector<std::uint32_t> calls;
    for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
      const ptx::Instruction& instruction = body.instructions[i];
      if (body.mnemonic(instruction).opcode != "call") continue;
      const ptx::Operand* target = ptx::call_of(body, instruction).target;
      if (target == nullptr || target->kind != ptx::OperandKind::kFunction) continue;
      const std::uint32_t called = resolve_alias(*module_, target->id);
      const std::string_view name = module_->functions()[called].name;
      const auto found = given(name);
      if (!found || forms_[*found] != Form::kBoth) continue;
      const auto checked = module_->find(std::string(kChecked) + std::string(name));
      if (!checked) continue;
      body.operands[static_cast<std::size_t>(target - body.operands.data())].id = checked->index;
      if (launch_parameter(given_.functions()[*found]).is_there) calls.push_back(i);
    }
    pass_launch(body, launch, calls, names_);
  }

  // A checked form beside the plain one. A function that is declared must have a body: where checks
  // cannot be added, it is the plain one.
  std::string checked_function(std::uint32_t index) {
    const Function& function = *module_->find_function(given_.functions()[index].name);
    std::string reason;
    std::optional<Body> body = checked_body(function, reason);
    if (!body) {
      result_.unchecked.push_back({std::string(function.name), reason});
      if (function.is_entry) return {};
      result_.writes_unseen = has_plain_function_ = true;
      body = ptx::parse_body(*module_, function);
      call_checked(*body, name_launch(function, *body));
    } else if (function.is_entry) {
      result_.kernels.emplace_back(function.name);
      if (!shared_.why_not.empty() && uses_shared(*module_, *body))
        result_.unchecked.push_back({std::string(function.name), std::string(shared_.why_not)});
      result_.launch_parameters.push_back(launch_parameter(function));
    }
    copies_.use_in(*body);
    std::string text = "\n" + checked_head(*module_, function) + limit_of(function) + "{\n";
    ptx::print_body(*module_, function, *body, text);
    return text + "}\n";
  }

  std::string limit_of(const Function& function) const {
    const bool has_limit = !function.is_entry || function.max_registers != 0;
    if (has_limit || options_.most_registers == nullptr) return {};
    const std::uint32_t most = options_.most_registers(function.name);
    return most == 0 ? std::string() : ".maxnreg " + std::to_string(most) + "\n";
  }

  std::optional<Body> checked_only(const Function& function) {
    const auto found = given(function.name);
    if (!found || forms_[*found] != Form::kCheckedOnly) return std::nullopt;
    std::string reason;
    std::optional<Body> body = checked_body(function, reason);
    if (!body) result_.unchecked.push_back({std::string(function.name), reason});
    if (!body) result_.writes_unseen = has_plain_function_ = true;
    return body;
  }

  Options options_;
  const Module given_;
  const bool follows_shared_;
  const bool has_shared_ = has_word(".shared");
  // An address may be that of shared memory of another block of a cluster.
  const bool knows_block_ = has_shared_ && !has_word("mapa") && !has_word("shared::cluster");
  bool has_plain_function_ = false; // that a checked kernel may call
  SharedState shared_;
  SharedCopies copies_;
  std::optional<Module> module_; // with the declarations
  mutable std::uint32_t added_lines_ = 0;
  std::vector<Form> forms_; // of given_
  ControlVariables control_;
  Names names_;
  std::vector<AccessWords> words_; // of kAccesses
  Rewritten result_;
};

} // namespace

Rewritten rewrite(std::string_view text, const Options& options) {
  ModuleRewriter rewriter(text, options, true);
  Rewritten rewritten = rewriter.run();
  return rewriter.is_spoilt() ? ModuleRewriter(text, options, false).run() : rewritten;
}

} // namespace gmt::rewriter
