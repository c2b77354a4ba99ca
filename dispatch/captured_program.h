// What a capture scope gives: a graph in relative form, the values of its params, where its
// external inputs come from, and the host data among them. Plain data; immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "dispatch/buffer.h"
#include "dispatch/graph.h"

namespace remora::dispatch {

/// Where an operand of a captured graph, or one of its outputs, comes from.
struct CapturedSource {
  enum class Kind : uint8_t { kInput = 0, kInitializer = 1, kResult = 2 };
  Kind kind = Kind::kInput;
  uint32_t index = 0;  // among the inputs, the initializers, or Graph::outputs
  bool operator==(const CapturedSource&) const = default;
};

struct CapturedProgram {
  GraphPtr graph;                         // null where nothing is computed
  std::vector<uint64_t> params;           // of the capture; a draw's are taken anew by each run
  std::vector<Spec> inputs;               // in the order of `complete`
  std::vector<HostData> initializers;     // in order of first use
  std::vector<CapturedSource> externals;  // by external input of `graph`: inputs and initializers
  std::vector<CapturedSource> outputs;    // in the order of `complete`

  const Spec& spec(const CapturedSource& source) const;
  /// An op's attributes with the params of the capture in their places.
  Attrs attrs_of(const GraphOp& op) const;
};

/// All but the initializers, as bytes: varints, Specs and the graph's own encoding (graph.h), last:
///     inputs: count, Specs. initializers: count, Specs. externals: count, sources.
///     outputs: count, sources. params: count, values. graph key, or nothing.
/// A source is the varint index * 3 + kind.
std::string encode_program(const CapturedProgram& program);

/// The program of `bytes`, whose initializers have Specs but no bytes yet. INVALID_ARGUMENT names
/// what is wrong: every count, source, Spec and shape rule is checked again, and nothing is
/// allocated beyond a multiple of what `bytes` really holds. RESOURCE_EXHAUSTED beyond limits.h.
absl::StatusOr<CapturedProgram> decode_program(std::string_view bytes);

/// 32 hex digits of the XXH3-128 of `encode_program` and every initializer's bytes.
std::string program_checksum(const CapturedProgram& program);

}  // namespace remora::dispatch
