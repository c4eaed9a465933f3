// SPDX-License-Identifier: Apache-2.0
// Which shadow an instruction gives its results. Logic, shifts, fields, moves and comparisons of
// integers are exact to the bit; sums and products spoil all bits above the lowest that is spoilt;
// all else spoils the whole result. Carries count as written.
#include "simulated_cuda/executor/program/tracker.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {

void Tracker::by_opcode(const Instruction& in, const Shape& shape) {
  const std::uint32_t bits = bits_of(shape.operands[0].width);
  const std::string width = "b" + std::to_string(bits);
  const std::string of_width = bits == 1 ? ".pred" : "." + width;
  using ptx::BitFlow;
  switch (shape.flow) {
  case BitFlow::kMove: return apply(in, "mov" + of_width, in.r[0], {shadow(in.r[1])});
  case BitFlow::kUnion:
    return apply(in, "or" + of_width, in.r[0], {shadow(in.r[1]), shadow(in.r[2])});
  case BitFlow::kAnd:
  case BitFlow::kOr:
    return apply(in, (shape.flow == BitFlow::kAnd ? "track.and" : "track.or") + of_width, in.r[0],
                 {shadow(in.r[1]), shadow(in.r[2]), in.r[1], in.r[2]});
  case BitFlow::kSum: {
    const std::size_t sources = shape.count_of(Shape::Role::kSource);
    const bool three = sources > 2, one = sources == 1;
    return apply(in, "track.sum." + width, in.r[0],
                 {shadow(in.r[1]), one ? zero_ : shadow(in.r[2]), three ? shadow(in.r[3]) : zero_});
  }
  case BitFlow::kTop:
    return apply(in,
                 shape.operands[1].width == TrackedWidth::k8 ? "track.top.b64" : "track.top.b32",
                 in.r[0], {shadow(in.r[1]), in.r[1]});
  case BitFlow::kSame1: return same(in, shape, {1});
  case BitFlow::kSame12: return same(in, shape, {1, 2});
  case BitFlow::kParts:
  case BitFlow::kWhole: {
    const bool is_whole = shape.flow == BitFlow::kWhole;
    Instruction& made = emit(form(in), in, is_whole ? kTrackedWhole : shape.count);
    for (std::size_t i = 0; i < 5; ++i) made.r[i] = shadow(in.r[i]);
    return;
  }
  case BitFlow::kCompare: compare(in, shape, 0); return compare(in, shape, 1);
  case BitFlow::kConvert: // resolved by the types
  case BitFlow::kAny: return any(in, shape);
  }
}

// All ones where a source is not wholly written.
void Tracker::any(const Instruction& of, const Shape& shape) {
  std::uint32_t sources[4] = {kNoOperand, kNoOperand, kNoOperand, kNoOperand};
  std::uint32_t widths = 0;
  std::size_t count = 0;
  for_each(shape, Shape::Role::kSource, [&](std::size_t at, TrackedWidth width) {
    if (is_written(of.r[at]) || count == 4) return;
    sources[count++] = shadow(of.r[at]);
    widths |= static_cast<std::uint32_t>(width) << (4 * count);
  });
  for_each(shape, Shape::Role::kResult, [&](std::size_t at, TrackedWidth width) {
    if (of.r[at] == kNoOperand) return;
    apply(of, "track.any", of.r[at], {sources[0], sources[1], sources[2], sources[3]},
          widths | static_cast<std::uint32_t>(width));
  });
}

// The instruction itself on the shadows of its data, with the values of its control operands:
// where one of these is not written, the result is not.
void Tracker::same(const Instruction& of, const Shape& shape,
                   std::initializer_list<std::uint32_t> data) {
  Instruction& in = emit(form(of), of, kOneResult);
  std::copy(std::begin(of.r), std::end(of.r), std::begin(in.r));
  in.immediate = of.immediate;
  in.r[0] = shadow(of.r[0]);
  for (const std::uint32_t at : data) in.r[at] = shadow(of.r[at]);
  for_each(shape, Shape::Role::kSource, [&](std::size_t at, TrackedWidth width) {
    const bool is_data = std::find(data.begin(), data.end(), at) != data.end();
    if (is_data || is_written(of.r[at])) return;
    apply(of, "track.spoil", of.r[0], {shadow(of.r[at])},
          static_cast<std::uint32_t>(shape.operands[0].width) | static_cast<std::uint32_t>(width)
                                                                  << 4);
  });
}

// Of integers, and joined with no other predicate, the values are looked at, too.
void Tracker::compare(const Instruction& in, const Shape& shape, std::uint32_t which) {
  if (in.r[which] == kNoOperand) return;
  if (in.r[4] == kNoOperand && shape.relation != Shape::Relation::kNone) {
    static constexpr const char* kRelations[] = {"", "eq.", "lt.", "le."};
    const std::string exact = std::string("track.compare.") +
                              kRelations[static_cast<std::size_t>(shape.relation)] +
                              std::string(ptx::name_of(shape.compared));
    const std::size_t swapped = shape.is_swapped ? 1 : 0;
    const std::uint32_t a = in.r[2 + swapped], b = in.r[3 - swapped];
    return apply(in, exact, in.r[which], {shadow(a), shadow(b), a, b});
  }
  Instruction& made = emit("track.compare", in, kOneResult);
  made.r[0] = shadow(in.r[which]);
  made.r[1] = shadow(in.r[2]);
  made.r[2] = shadow(in.r[3]);
  const bool is_joined = in.r[4] != kNoOperand;
  made.r[3] = is_joined ? in.r[4] : zero_;
  made.r[4] = is_joined ? shadow(in.r[4]) : zero_;
  made.extra = static_cast<std::uint32_t>(shape.operands[2].width);
  made.immediate = is_joined ? in.extra : 0;
}

// A result that the host may see. What was only moved takes its state along.
void Tracker::check_output(const Instruction& in, const Shape& shape) {
  const bool is_global = shape.space == ptx::Space::kGlobal || shape.space == ptx::Space::kNone;
  if (!is_global || in.source == ptx::kNone) return;
  const ptx::Instruction& syntax = program_.source_of(code_, in);
  if (syntax.operand_count < 2) return;
  if (derivation_of(*code_.body, code_.body->operand(syntax, 1), computed_) == Derivation::kMoved)
    return;
  for (std::uint32_t i = 0; i < shape.count; ++i)
    check(in, in.r[i], width_of_bits(8 * shape.element));
}

void Tracker::load_or_store(const Instruction& in, const Shape& shape, const char* name) {
  const bool load = shape.memory == Shape::Memory::kLoad;
  Instruction& made = emit(name, in, load ? static_cast<std::uint8_t>(shape.count) : 0);
  for (std::uint32_t i = 0; i < shape.count; ++i) made.r[i] = shadow(in.r[i]);
  made.r[4] = in.r[4];
  made.immediate = in.immediate;
  made.extra = shape.element | std::uint32_t{shape.count} << kTrackedCount |
               static_cast<std::uint32_t>(shape.space) << kTrackedSpace |
               (shape.is_narrow ? kTrackedNarrow : 0);
}

// Shadows of parameters lie behind the parameters.
void Tracker::frame(const Instruction& in, bool is_load, std::uint32_t count) {
  Instruction& made = emit(form(in), in, is_load ? static_cast<std::uint8_t>(count) : 0);
  for (std::size_t i = 0; i < 4; ++i) made.r[i] = shadow(in.r[i]);
  made.r[4] = in.r[4];
  made.immediate = in.immediate + code_.parameter_bytes;
}

// What lanes do with each other happens when all are there: the shadows follow it. Operands that it
// may overwrite are kept.
void Tracker::lanes(const Instruction& in, const Shape& shape) {
  if (shape.kind != Shape::Kind::kShuffle) return;
  keep(in, in.r[3], 0);
  keep(in, in.r[4], 1);
  if (in.r[5] != kNoOperand) keep(in, in.r[5], 2);
}

void Tracker::keep(const Instruction& of, std::uint32_t operand, std::uint32_t which) {
  Instruction& in = emit("mov.b32", of, 0);
  in.r[0] = temporary(which);
  in.r[1] = operand;
}

// The shadow of an element of D comes from a row, a column and an element of C.
void Tracker::product(const Instruction& in, std::uint32_t bytes) {
  Product shadows = code_.products[in.extra];
  if (shadows.metadata != kNoOperand) check(in, shadows.metadata, TrackedWidth::k4);
  for (auto* registers : {&shadows.d, &shadows.a, &shadows.b, &shadows.c}) {
    for (std::uint32_t& each : *registers) each = shadow(each);
  }
  Instruction& made = emit(bytes == 8 ? "track.product.b64" : "track.product.b32", in, 0);
  made.extra = static_cast<std::uint32_t>(code_.products.size());
  code_.products.push_back(std::move(shadows));
}

// What a function of the device itself gives is written.
void Tracker::call(const Instruction& in) {
  const CallSite& site = code_.calls[in.extra];
  if (site.built_in.empty() || site.return_offsets.empty()) return;
  for (std::uint32_t at = 0; at + 4 <= site.return_sizes[0]; at += 4) {
    Instruction& made = emit("st.frame.b32", in, 0);
    made.r[0] = zero_;
    made.immediate = std::int64_t{site.return_offsets[0]} + at + code_.parameter_bytes;
  }
}

} // namespace gmt::executor
