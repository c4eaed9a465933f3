// SPDX-License-Identifier: Apache-2.0
// print_ptx FOLDER: writes each PTX of the tests into FOLDER/original as it is, into FOLDER/printed
// as it is printed from its syntax, and into FOLDER/inserted with instructions that do nothing.
// PTX that cannot be read is left out.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/print/insert.h"
#include "ptx/print/print.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"

namespace {

using namespace gmt::ptx;

bool accesses_memory(const Body& body, const Instruction& instruction) {
  const std::string_view opcode = body.mnemonic(instruction).opcode;
  return opcode == "ld" || opcode == "st" || opcode == "atom" || opcode == "red";
}

// Before each access of memory, a register gets a value that nothing reads.
void insert_moves(Body& body) {
  Instruction move;
  move.mnemonic = static_cast<std::uint32_t>(body.mnemonics.size());
  body.mnemonics.push_back(mnemonic_of("mov.u32"));
  move.operand_count = 2;
  move.first_operand = static_cast<std::uint32_t>(body.operands.size());
  Operand target;
  target.kind = OperandKind::kRegister;
  target.id = add_registers(body, Type::kB32, {"%gmt_inserted"});
  Operand value;
  value.kind = OperandKind::kImmediate;
  value.bits = 1;
  body.operands.insert(body.operands.end(), {target, value});
  std::vector<Insertion> moves;
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
    if (!accesses_memory(body, body.instructions[i])) continue;
    move.line = body.instructions[i].line;
    moves.push_back({i, false, move});
  }
  insert(body, moves);
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void print(const std::filesystem::path& folder, const std::filesystem::path& path) {
  // NAME.ptx, also for NAME.ptx.zst
  const auto name = path.extension() == ".zst" ? path.stem() : path.filename();
  const std::string text = test::read_fixture(path);
  try {
    const Module module = parse_module(text);
    const auto as_it_is = [&module](const Function& function) {
      return std::optional(parse_body(module, function));
    };
    const auto with_moves = [&module](const Function& function) {
      Body body = parse_body(module, function);
      insert_moves(body);
      return std::optional(std::move(body));
    };
    write(folder / "printed" / name, print_module(module, as_it_is));
    write(folder / "inserted" / name, print_module(module, with_moves));
    write(folder / "original" / name, text);
  } catch (const ParseError&) { // of the fuzzers' inputs
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  try {
    for (const auto& path : test::all_texts()) print(argv[1], path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
