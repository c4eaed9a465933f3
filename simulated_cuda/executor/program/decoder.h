// SPDX-License-Identifier: Apache-2.0
// Decodes one function: the state that the parts of decoding share. emit() appends an instruction;
// source() and result() turn operands of the syntax into offsets and put conversions around an
// instruction whose registers are wider than its type. A NotSupported ends the decoding.
#pragma once

#include "ptx/flow/flow.h"
#include "ptx/opcodes/opcodes.h"
#include "simulated_cuda/executor/program/frame_layout.h"
#include "simulated_cuda/executor/program/program.h"
#include "simulated_cuda/executor/program/slots.h"

#include <set>
#include <span>
#include <string>
#include <unordered_map>

namespace gmt::executor {

struct NotSupported {
  std::string reason;
};

// The numbers of a word such as m16n8k32; false if it is another one.
bool read_matrix_shape(std::string_view word, Product* product);

// What the functions of a kernel share while they are decoded.
class ProgramBuilder {
public:
  ProgramBuilder(Program& program, const Addresses& addresses)
      : program_(program), addresses_(addresses) {}

  Program& program() { return program_; }
  const Addresses& addresses() const { return addresses_; }
  // A form always has the same shape.
  std::uint32_t form(const std::string& text, const Shape& shape);
  // A value that all lanes see: an operand.
  std::uint32_t constant(std::uint64_t bits, std::uint32_t bytes);
  std::uint32_t parameter(std::uint32_t offset, std::uint32_t bytes);
  // The program's number of a function; it is decoded later if it is new.
  std::uint32_t function(std::uint32_t linked);
  void lay_out_shared();
  std::uint64_t shared_offset(const ptx::Variable* variable) const;
  void use_shared(const ptx::Variable* variable, std::uint32_t module);
  void use_reserved_shared();
  void collect(std::uint32_t kernel); // all functions that it reaches, and their shared variables

private:
  std::uint32_t end_of_constants() const;
  void collect_function(std::uint32_t linked);
  void collect_initializer(std::uint32_t linked_variable);
  void collect_operands(const Code& code);
  bool calls_indirectly(const Code& code) const;

  Program& program_;
  const Addresses& addresses_;
  std::unordered_map<std::string, std::uint32_t> forms_;
  std::unordered_map<std::string, std::uint32_t> constants_;
  std::unordered_map<const ptx::Variable*, std::uint32_t> shared_; // Program::shared
  std::set<std::uint32_t> seen_variables_;
  std::vector<std::uint32_t> pending_, indirect_;
};

class FunctionDecoder {
public:
  FunctionDecoder(ProgramBuilder& builder, Code& code);
  void decode(); // throws NotSupported; `current` says at which instruction

  std::uint32_t current = ptx::kNone;

private:
  struct Result { // of an operand that is written
    std::uint32_t offset = kNoOperand;
    std::uint32_t narrow = kNoOperand; // written first, if the register is wider
    std::uint32_t narrow_bytes = 0, bytes = 0;
    bool is_signed = false;
  };
  using Operand = ptx::Operand;

  // decode_function.cpp
  void lay_out_parameters();
  void decode_instruction(std::uint32_t index);
  void finish_branches();

  // decode_by_table.cpp: the ways of opcodes.def; those that have a file of their own stand there.
  void decode_by_way();
  [[noreturn]] void decode_not_executed();
  void decode_nothing();
  void decode_by_operands();
  ptx::Type type_for(char letter, const std::vector<ptx::Type>& found) const;

  // decode_operands.cpp
  Instruction& emit(const std::string& form, const Shape& shape = {});
  std::uint32_t temporary();
  std::uint32_t register_offset(std::uint32_t id) const;
  std::uint32_t register_bytes(std::uint32_t id) const;
  std::uint32_t source(const Operand& operand, ptx::Type type);
  std::uint32_t source_of(const Operand& operand, std::uint32_t bytes, ptx::Type type);
  std::uint32_t predicate(const Operand& operand);
  std::uint64_t immediate(const Operand& operand, ptx::Type type) const;
  std::uint32_t special(const Operand& operand, std::uint32_t bytes);
  bool address_of(const Operand& operand, std::uint64_t* value);
  Result result(const Operand& operand, ptx::Type type);
  std::uint32_t convert(std::uint32_t from, std::uint32_t from_bytes, std::uint32_t to_bytes,
                        bool is_signed, std::uint32_t to = kNoOperand);
  void write_back(const Result& result);
  std::uint32_t pass_result(const Operand& operand, ptx::Type type);

  // decode_memory.cpp
  struct Target {
    ptx::Space space = ptx::Space::kNone;
    std::uint32_t operand = kNoOperand;
    std::int64_t offset = 0;
    bool narrow = false;       // the operand has 32 bits
    bool in_frame = false;     // a parameter of a function or of a call: `offset` is known
    bool is_parameter = false; // of the kernel, at `offset`
  };
  Target address(const Operand& operand, ptx::Space space);
  void widen_address(Target* target);
  Shape shape_of_access(const Target& target, std::uint32_t bytes, std::uint32_t count,
                        bool is_load) const;
  void check_words(); // fails at one that the row does not name
  void emit_flag(const char* form, std::uint32_t address, const Target& target,
                 std::uint32_t extra);
  void decode_load();
  void decode_store();
  void decode_atomic(bool has_result);
  void decode_atom() { decode_atomic(true); }
  void decode_red() { decode_atomic(false); }
  void decode_mbarrier();
  std::uint32_t whole_address(Target target);
  void load_parameter(const Target& target, const Operand& data, ptx::Type type);

  // decode_video.cpp
  void decode_video();

  // decode_copies.cpp
  std::uint32_t whole_address_with_offset(const Operand& operand, ptx::Space space);
  void decode_copy();
  void decode_copy_group();
  std::uint32_t combine_of(const std::string& operation) const;
  void decode_bulk_copy();
  void decode_bulk_store();
  void decode_tensor_copy();
  void decode_policy();
  void decode_cluster_barrier();
  void decode_cluster_address();

  // decode_tensor_maps.cpp
  void decode_replace_in_map();
  void decode_copy_of_map();

  // decode_textures.cpp
  std::span<const Operand> elements_of(const Operand& operand) const;
  std::uint32_t coordinates_of(const Operand& address, std::uint32_t form,
                               std::vector<std::uint32_t>& values);
  std::uint32_t texture_object(const Operand& address);
  std::uint32_t in_a_row(const std::vector<std::uint32_t>& values);
  void decode_texture();
  void all_resident(const Operand& predicate);
  void decode_surface();

  // decode_matrices.cpp
  void decode_load_matrix();
  void decode_store_matrix();
  void decode_move_matrix();
  void turn_register(std::uint32_t to, std::uint32_t from); // a matrix of 8 by 8 halves
  void decode_product();
  std::string product_form() const;
  std::uint32_t matrices_moved() const;                 // by ldmatrix and stmatrix
  static std::uint32_t rows_of(std::uint32_t matrices); // a bit for each lane that has one
  void restrict_to_rows(Instruction* access, std::uint32_t matrices);
  std::vector<std::uint32_t> fragment_sources(const Operand& operand, std::uint32_t bytes);
  void emit_product(const std::string& form, Product product, std::uint32_t bytes);

  // decode_wgmma.cpp
  void decode_group_product();
  void decode_group_meeting();
  void load_by_descriptor(std::uint32_t descriptor, const char* form, std::uint32_t outer,
                          bool is_transposed, std::uint32_t matrices, const std::uint32_t* row,
                          std::uint32_t address, const std::uint32_t* fragment);

  // decode_wmma.cpp
  struct Fragment;
  Fragment fragment(std::size_t address_at, std::size_t stride_at);
  void fragment_address(const Fragment& of, std::uint32_t index, std::uint32_t part,
                        std::uint32_t to);
  Instruction& access_fragment(const Fragment& of, bool is_load, std::uint32_t address);
  void decode_load_fragment();
  void decode_store_fragment();
  void decode_fragment_product();

  // decode_control.cpp
  void decode_branch();
  void decode_table_branch();
  void decode_call();
  void decode_barrier();
  void decode_warp_barrier();
  std::uint32_t strength(bool is_strong) const; // Instruction::extra of a load or store
  std::uint32_t scope() const;                  // kBlockScope or 0
  void decode_fence() { emit("fence").extra = scope(); }
  void half_fence(std::uint32_t half) { emit("fence").extra = scope() | half; }
  void decode_proxy_fence();
  void leave(const char* form, const Shape& shape = {});
  void decode_grid_dependency();
  void decode_leave() { leave(is_kernel_ ? "exit" : "ret"); }
  void decode_exit() { leave("exit"); }
  void decode_trap();
  std::size_t begin_guard(); // 0: the instruction has none
  void end_guard(std::size_t begin);

  // decode_special.cpp
  void decode_move();
  void decode_compare(bool to_predicate);
  void decode_setp() { decode_compare(true); }
  void decode_set() { decode_compare(false); }
  void decode_shuffle();
  void decode_vote();
  void decode_match();
  void decode_redux();
  void decode_address_conversion();
  void decode_elect();
  void decode_address_question();
  void decode_logic();
  void decode_conversion();
  void decode_packed_conversion();
  ptx::Type type_of_bits(std::uint32_t bits) const;

  std::string own_form() const; // the mnemonic, without the words that the table calls implied
  std::vector<ptx::Type> types() const;
  ptx::Type only_type() const;
  const ptx::Mnemonic& mnemonic() const { return body_.mnemonic(*instruction_); }
  const Operand& operand(std::size_t index) const;
  bool has(std::string_view modifier) const { return mnemonic().has(modifier); }
  ptx::Space space() const;
  void note_shared_access(ptx::Space space, std::uint32_t bytes);
  [[noreturn]] void fail(const std::string& reason) const { throw NotSupported{reason}; }

  ProgramBuilder& builder_;
  Program& program_;
  Code& code_;
  const ptx::Body& body_;
  ptx::Flow flow_;
  Slots slots_;
  const ptx::Instruction* instruction_ = nullptr;
  const ptx::Opcode* opcode_ = nullptr; // its row
  bool is_kernel_ = false;
  ptx::Instruction unguarded_;
  FrameLayout layout_;
  std::uint32_t temporaries_ = 0, most_temporaries_ = 0;
  std::vector<std::uint32_t> start_of_;      // decoded index of an instruction
  std::vector<std::uint32_t> unfenced_;      // products by wgmma
  std::vector<bool> joins_;                  // lanes meet before this instruction
  std::vector<std::uint32_t> local_offsets_; // of Body::variables
  struct Fix {
    std::uint32_t at, target, join;
  };
  std::vector<Fix> fixes_;
  std::vector<std::vector<std::uint32_t>> table_targets_;
};

} // namespace gmt::executor
