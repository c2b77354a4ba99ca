#include "dispatch/op.h"

#include <algorithm>
#include <array>

#include "absl/container/flat_hash_map.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/shape_rules.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {
namespace {

constexpr ShapeRule elementwise_rule(bool truth) {
  return truth ? &rules::elementwise_truth : &rules::elementwise;
}

enum ElementwiseResult : uint8_t { kSame, kTruth };

constexpr bool numbers_are_unique_and_small() {
  constexpr std::array kNumbers = {
#define UNARY(number, ...) number,
#define BINARY(number, ...) number,
#define TERNARY(number, ...) number,
#define OP(number, ...) number,
#define FAST(number, ...) number,
#include "dispatch/ops.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
  };
  std::array<bool, kMaxOpCode + 1> seen{};
  for (const int number : kNumbers) {
    if (number < 1 || number > kMaxOpCode || seen[static_cast<size_t>(number)]) return false;
    seen[static_cast<size_t>(number)] = true;
  }
  return true;
}
static_assert(numbers_are_unique_and_small(),
              "ops.def: a wire number is used twice or out of range");

const std::vector<OpInfo>& rows() {
  // Leaked: windows may still run while the process exits.
  static const std::vector<OpInfo>& table = *new std::vector<OpInfo>{
  // leaked
#define ELEMENTWISE(name, kind, inputs, expression, dtypes, result, doc)                         \
  OpInfo{                                                                                        \
      OpCode::name, #name, kind,        inputs, 1, dtypes, elementwise_rule((result) == kTruth), \
      NoAttrs{},    false, #expression, doc},
#define UNARY(number, name, expression, dtypes, result, doc) \
  ELEMENTWISE(name, OpKind::kUnary, 1, expression, dtypes, result, doc)
#define BINARY(number, name, expression, dtypes, result, doc) \
  ELEMENTWISE(name, OpKind::kBinary, 2, expression, dtypes, result, doc)
#define TERNARY(number, name, expression, dtypes, result, doc)                \
  OpInfo{OpCode::name, #name, OpKind::kTernary, 3,  1, dtypes, &rules::where, \
         NoAttrs{},    false, #expression,      doc},
#define OP(number, name, kind, inputs, outputs, attrs, rule, dtypes, doc) \
  OpInfo{OpCode::name, #name,   OpKind::kind, inputs, outputs, dtypes,    \
         &rules::rule, attrs{}, false,        "",     doc},
#define FAST(number, name, inputs, outputs, attrs, rule, decomposition, dtypes, doc) \
  OpInfo{OpCode::name, #name,   OpKind::kComposite,                                  \
         inputs,       outputs, dtypes,                                              \
         &rules::rule, attrs{}, true,                                                \
         "",           doc},
#include "dispatch/ops.def"
#undef ELEMENTWISE
#undef UNARY
#undef BINARY
#undef TERNARY
#undef OP
#undef FAST
  };
  return table;
}

// By wire number; null where there is no row.
const std::array<const OpInfo*, kMaxOpCode + 1>& by_number() {
  static const auto table = [] {
    std::array<const OpInfo*, kMaxOpCode + 1> result{};
    for (const OpInfo& row : rows()) result[static_cast<size_t>(row.code)] = &row;
    return result;
  }();
  return table;
}

}  // namespace

bool contains(DTypeSet set, DType dtype) {
  if (is_float(dtype)) return (set & kFloats) != 0;
  if (dtype == DType::kBool) return (set & kBools) != 0;
  return (set & kIntegers) != 0;
}

std::span<const OpInfo> catalogue() { return rows(); }

const OpInfo* find_op(uint64_t wire_number) {
  return wire_number <= kMaxOpCode ? by_number()[static_cast<size_t>(wire_number)] : nullptr;
}

const OpInfo* find_op(std::string_view name) {
  static const auto& table = *[] {
    auto* result = new absl::flat_hash_map<std::string, const OpInfo*>;  // leaked, as rows()
    for (const OpInfo& row : rows()) result->emplace(std::string(row.name), &row);
    return result;
  }();
  const auto found = table.find(std::string(name));
  return found == table.end() ? nullptr : found->second;
}

const OpInfo& op_info(OpCode code) { return *by_number()[static_cast<size_t>(code)]; }

DType op_dtype(const OpInfo& info, std::span<const Spec> inputs, std::span<const Spec> outputs) {
  if (inputs.empty()) return outputs.empty() ? DType::kF32 : outputs[0].dtype;
  return info.kind == OpKind::kTernary ? inputs.back().dtype : inputs.front().dtype;
}

absl::StatusOr<Specs> infer(const OpInfo& info, std::span<const Spec> inputs, const Attrs& attrs) {
  if (info.inputs == kVariadic ? inputs.empty() || inputs.size() > kMaxOpInputs
                               : inputs.size() != static_cast<size_t>(info.inputs)) {
    return absl::InvalidArgumentError(
        info.inputs == kVariadic ? str_cat(info.name, ": ", inputs.size(), " operands; 1 to ",
                                           kMaxOpInputs, " are allowed")
                                 : str_cat(info.name, ": ", inputs.size(), " operands where ",
                                           info.inputs, " are needed"));
  }
  if (attrs.index() != info.default_attrs.index()) {
    return absl::InvalidArgumentError(str_cat(info.name, ": attributes of another operation"));
  }
  REMORA_ASSIGN_OR_RETURN(Specs outputs, info.rule({info.name, inputs, attrs}));
  const DType dtype = op_dtype(info, inputs, outputs);
  if (!contains(info.dtypes, dtype)) {
    return absl::InvalidArgumentError(str_cat(info.name, ": does not take ", dtype_name(dtype)));
  }
  for (const Spec& spec : outputs) {
    if (absl::Status status = check_shape(spec.shape); !status.ok()) {
      return absl::InvalidArgumentError(
          str_cat(info.name, ": result ", std::string(status.message())));
    }
  }
  return outputs;
}

}  // namespace remora::dispatch
