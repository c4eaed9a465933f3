// SPDX-License-Identifier: Apache-2.0
// The decoded code of one kernel and of all functions that it reaches. An instruction is a form
// ("add.ftz.f32") with operands that are offsets into registers of a warp or into constants.
// Invariants: an operand's register is as wide as the form's type says, since decoding has put
// conversions around instructions whose registers are wider; branches hold distances, so that
// instructions can be copied as a whole. `go` is null until a machine has bound the form.
#pragma once

#include "ptx/syntax/link.h"
#include "ptx/syntax/ptx.h"
#include "simulated_cuda/executor/program/shape.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gmt::executor {

struct Warp;
struct Instruction;
using Handler = const Instruction* (*)(Warp&, const Instruction*);

inline constexpr std::uint32_t kLanes = 32;
inline constexpr std::uint32_t kConstantOperand = 0x80000000u; // else an offset in the registers
inline constexpr std::uint32_t kNoOperand = 0xffffffffu;

struct Instruction {
  Handler go = nullptr;
  Handler guarded = nullptr; // what `go` calls for the lanes whose guard holds
  // Results first, then sources, as the form's shape has them
  std::uint32_t r[6] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand, kNoOperand, kNoOperand};
  std::int64_t immediate = 0;       // offset of an address; distance of a branch, in instructions
  std::int32_t join = 0;            // distance to where the lanes of a branch meet; 0: nowhere
  std::uint32_t guard = kNoOperand; // a predicate
  std::uint32_t flip = 0;           // ~0: the guard, or a branch's predicate, is negated
  std::uint32_t extra = 0;          // index of a call, a table, a special register
  std::uint32_t form = 0;           // Program::forms, shapes
  std::uint32_t source = 0;         // Code::body.instructions
  std::uint32_t shown : 1 = 0;      // it counts as an instruction of the program
  std::uint32_t number : 31 = 0;    // of all functions: Program::instruction()
};

// Instruction::extra of a barrier: 1 if it is aligned, and twice one of these.
inline constexpr std::uint32_t kBarrierSync = 0, kBarrierArrive = 1, kBarrierOr = 2,
                               kBarrierAnd = 3, kBarrierPopc = 4;

// A part of the constants: a value that all lanes see.
struct Constant {
  std::uint32_t offset = 0; // in Program::constants
  std::uint32_t bytes = 0;  // 1, 2, 4, 8 or 16
};

// A constant that is a part of the kernel's parameters.
struct ParameterConstant {
  Constant constant;
  std::uint32_t parameter_offset = 0;
};

// Copies between the areas of parameters of two frames.
struct ParameterCopy {
  std::uint32_t from = 0, to = 0, bytes = 0;
};
struct RegisterCopy { // of functions that take parameters in registers
  std::uint32_t from = 0, to = 0, bytes = 0;
};

struct CallSite {
  std::uint32_t function = ptx::kNone;         // Program::functions; kNone: indirect, or built in
  std::string_view built_in;                   // vprintf, malloc, ...
  std::uint32_t target = kNoOperand;           // the register of an indirect call
  std::vector<std::uint32_t> argument_offsets; // in the caller's area of parameters
  std::vector<std::uint32_t> argument_sizes;
  std::vector<std::uint32_t> return_offsets;
  std::vector<std::uint32_t> return_sizes;
  std::vector<std::uint32_t> argument_registers; // kNoOperand: it lies in the area
  std::vector<std::uint32_t> return_registers;
};

// Operands of a product of matrices, which are more than Instruction::r holds: the registers of
// each fragment in the order of the text.
struct Product {
  std::vector<std::uint32_t> d, a, b, c;
  std::uint32_t metadata = kNoOperand; // of a sparse one: which elements of A it has
  std::uint32_t selector = 0;          // and which lanes have the metadata
  std::uint32_t m = 0, n = 0, k = 0;
};

// Where an instruction of a function lies in the same function with tracked registers.
struct TrackedPosition {
  std::uint32_t start = 0; // the first of those that tracking put before it
  std::uint32_t own = 0;   // the instruction itself
};

// An instruction of a Program::features that is counted: what executes it.
struct Counted {
  Handler handler = nullptr;
  std::uint32_t feature = 0;
};

// What may give other results than a GPU.
struct Feature {
  std::string name;
  bool is_counted = false; // else it is known only that the code has it
};

// One function.
struct Code {
  std::string_view name;
  std::uint32_t linked = 0; // index of ptx::Linked::functions()
  std::uint32_t module_index = 0;
  const ptx::Module* module = nullptr;
  std::shared_ptr<const ptx::Body> body;
  std::vector<Instruction> instructions;
  std::vector<CallSite> calls;
  std::vector<Product> products;                 // Instruction::extra of Shape::Kind::kProduct
  std::vector<Counted> counted;                  // by instruction, if any is counted
  std::vector<std::vector<std::int32_t>> tables; // instruction indices of brx.idx targets
  // Of a tracked program: how many of its first operands each instruction that tracking added
  // writes; 0 for the others
  std::vector<std::uint8_t> tracked_results;
  std::vector<TrackedPosition> tracked_positions; // by the instruction without tracking
  std::string unsupported; // why it cannot be executed, of one that perhaps is never called
  std::uint32_t register_bytes = 0;  // of a warp
  std::uint32_t parameter_bytes = 0; // of a lane: own, and those of calls
  std::uint32_t local_bytes = 0;     // of a lane
  std::vector<std::uint32_t> parameter_offsets, parameter_sizes; // of a .func
  std::vector<std::uint32_t> return_offsets, return_sizes;
  std::vector<std::uint32_t> parameter_registers, return_registers; // kNoOperand: in the area
};

// A variable in shared memory.
struct SharedVariable {
  std::string_view name;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool is_dynamic = false;
  bool is_reserved = false; // the system's, which %reserved_smem_offset_1 leads to
};

// Why a kernel cannot be executed.
struct Unsupported {
  std::string reason; // half a sentence; empty: it can
  std::uint32_t code = 0;
  std::uint32_t source = ptx::kNone;
};

struct Program {
  const ptx::Linked* linked = nullptr;
  std::vector<std::unique_ptr<Code>> functions; // [0] is the kernel
  std::unordered_map<std::uint32_t, std::uint32_t> function_of_linked;
  std::vector<std::string> forms;
  std::vector<Shape> shapes;        // of each of them
  std::vector<std::byte> constants; // what is no parameter is filled in
  std::vector<ParameterConstant> parameters;
  std::vector<SharedVariable> shared;
  std::uint64_t static_shared_bytes = 0;      // where dynamic shared memory begins, gaps included
  std::uint32_t reserved_shared = kNoOperand; // where the system's own lies, if the code asks
  std::uint32_t shared_granule = 4;           // the smallest access to it that the code can make
  bool has_indirect_calls = false;
  std::size_t directly_reached = 0; // functions; those behind may be called by their address
  bool uses_heap = false, uses_printf = false, uses_grid_sync = false;
  bool uses_generic_parameters = false;
  // Pointers by which the kernel loads from and writes to memory of the device: where they lie in
  // its parameters. See pointers.h
  std::vector<std::uint32_t> loaded_through, written_through;
  bool writes_elsewhere = true; // by other pointers
  Unsupported unsupported;
  bool bound = false;      // to handlers
  bool is_tracked = false; // see tracking.h
  std::vector<Feature> features;

  // The instruction of a number, and its function.
  const Instruction& instruction(std::uint32_t number, const Code** code) const {
    std::size_t i = 0;
    for (; number >= functions[i]->instructions.size(); ++i)
      number -= static_cast<std::uint32_t>(functions[i]->instructions.size());
    *code = functions[i].get();
    return functions[i]->instructions[number];
  }
  std::uint64_t instruction_count() const {
    std::uint64_t count = 0;
    for (const auto& code : functions) count += code->instructions.size();
    return count;
  }
  const ptx::Instruction& source_of(const Code& code, const Instruction& instruction) const {
    return code.body->instructions[instruction.source];
  }
};

// Where a kernel's variables and functions lie, for operands that are addresses.
class Addresses {
public:
  virtual ~Addresses() = default;
  virtual std::uint64_t of_variable(std::uint32_t linked_variable) const = 0;
  virtual std::uint64_t of_function(std::uint32_t linked_function) const = 0;
};

// Whether the device has a function of this name itself.
bool is_built_in(std::string_view name);

// Never fails for what it does not know: Program::unsupported says so. Throws ptx::ParseError.
std::unique_ptr<Program> decode(const ptx::Linked& linked, std::uint32_t kernel,
                                const Addresses& addresses);

// Offset of each parameter of a kernel in its parameter memory; returns its size.
std::size_t lay_out_parameters(const std::vector<ptx::Variable>& parameters,
                               std::vector<std::uint32_t>* offsets);

// Beginnings of the windows of the generic address space.
inline constexpr std::uint64_t kSharedWindow = 0x0001000000000000ull;
inline constexpr std::uint64_t kLocalWindow = 0x0001010000000000ull;
inline constexpr std::uint64_t kParameterWindow = 0x0001020000000000ull;
inline constexpr std::uint32_t kReservedSharedBytes = 1024, kReservedSharedPart = 512;
inline constexpr std::uint64_t kWindowBytes = 0x100000000ull;
inline constexpr std::uint64_t kFunctionWindow = 0x0001030000000000ull; // 16 bytes a function
inline constexpr std::uint64_t kWorkspaceBase = 0x0001040000000000ull;  // of a cooperative grid

} // namespace gmt::executor
