// An operation is data: a code from the catalogue (ops.def), inputs, outputs and attributes. This
// header turns the catalogue into an enum and a table. Pure functions and constants; any thread may
// call them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "dispatch/attrs.h"
#include "dispatch/shape.h"

namespace remora::dispatch {

/// Operation codes. The numeric value is the permanent wire number.
enum class OpCode : uint16_t {
#define UNARY(number, name, ...) name = (number),
#define BINARY(number, name, ...) name = (number),
#define TERNARY(number, name, ...) name = (number),
#define OP(number, name, ...) name = (number),
#define FAST(number, name, ...) name = (number),
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
};

/// Wire numbers lie in [1, kMaxOpCode].
inline constexpr uint16_t kMaxOpCode = 1023;
/// Changes when the meaning of any existing row changes; part of every key.
inline constexpr uint8_t kCatalogueVersion = 1;

enum class OpKind : uint8_t {
  kCreation,
  kUnary,
  kBinary,
  kTernary,
  kCast,
  kReduction,
  kShape,
  kIndexing,
  kContraction,
  kLinearAlgebra,
  kPooling,
  kComposite,
};

/// Sets of element types, as bits.
enum DTypeSet : uint8_t { kFloats = 1, kIntegers = 2, kBools = 4, kNumbers = 3, kAll = 7 };
bool contains(DTypeSet set, DType dtype);

inline constexpr int kVariadic = -1;

using Specs = absl::InlinedVector<Spec, 2>;

/// What a shape rule sees: the op's operands and attributes.
struct ShapeContext {
  std::string_view op;
  std::span<const Spec> inputs;
  const Attrs& attrs;
};
/// Gives the outputs' Specs, or INVALID_ARGUMENT naming the op, the shapes and what would be right.
/// Both the client and the worker run it, so it trusts nothing.
using ShapeRule = absl::StatusOr<Specs> (*)(const ShapeContext&);

struct OpInfo {
  OpCode code;
  std::string_view name;
  OpKind kind;
  int inputs;  // or kVariadic
  int outputs;
  DTypeSet dtypes;
  ShapeRule rule;
  Attrs default_attrs;          // fixes the attribute struct's type
  bool fast = false;            // a backend runs it, or it expands (decompositions.h)
  std::string_view expression;  // elementwise rows only
  std::string_view doc;
};

/// All rows, in the order of ops.def.
std::span<const OpInfo> catalogue();
/// The row of a code, or nullptr: wire numbers are looked up here before they are trusted.
const OpInfo* find_op(uint64_t wire_number);
const OpInfo* find_op(std::string_view name);
/// The row of a known code.
const OpInfo& op_info(OpCode code);
inline std::string_view op_name(OpCode code) { return op_info(code).name; }

/// The element type an op computes in: that of its last input for `where`, of its first input
/// otherwise, of its output where it has no input.
DType op_dtype(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs);

/// Checks operand count, attribute type, dtypes and shapes, and gives the outputs' Specs.
absl::StatusOr<Specs> infer(const OpInfo& info, std::span<const Spec> inputs, const Attrs& attrs);

}  // namespace remora::dispatch
