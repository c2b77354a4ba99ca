#include "dispatch/captured_program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "dispatch/attrs_codec.h"
#include "dispatch/error.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::dispatch {

const Spec& CapturedProgram::spec(const CapturedSource& source) const {
  switch (source.kind) {
    case CapturedSource::Kind::kInput:
      return inputs[source.index];
    case CapturedSource::Kind::kInitializer:
      return initializers[source.index].spec;
    case CapturedSource::Kind::kResult:
      break;
  }
  return graph->outputs[source.index];
}

Attrs CapturedProgram::attrs_of(const GraphOp& op) const {
  Attrs attrs = op.attrs;
  set_params(attrs, std::span(params).subspan(op.first_param, op.params));
  return attrs;
}

namespace {

constexpr uint64_t kSourceKinds = 3;

void append_sources(std::string& out, const std::vector<CapturedSource>& sources) {
  append_varint(out, sources.size());
  for (const CapturedSource& source : sources) {
    append_varint(out, source.index * kSourceKinds + static_cast<uint64_t>(source.kind));
  }
}

absl::Status malformed(std::string_view field, std::string_view what) {
  return absl::InvalidArgumentError(str_cat("captured graph: ", field, ": ", what));
}

/// Reads the parts in their order. Each entry takes at least one byte, which bounds every count.
class ProgramDecoder {
 public:
  explicit ProgramDecoder(std::string_view bytes) : in_(bytes) {}

  absl::StatusOr<CapturedProgram> decode() {
    REMORA_RETURN_IF_ERROR(
        read_specs("inputs", [&](Spec spec) { program_.inputs.push_back(std::move(spec)); }));
    REMORA_RETURN_IF_ERROR(read_specs("initializers", [&](Spec spec) {
      program_.initializers.emplace_back(std::move(spec), nullptr);
    }));
    REMORA_RETURN_IF_ERROR(read_sources("externals", program_.externals));
    REMORA_RETURN_IF_ERROR(read_sources("outputs", program_.outputs));
    REMORA_ASSIGN_OR_RETURN(const size_t params, read_count("params", in_.size()));
    for (size_t i = 0; i < params; ++i) {
      uint64_t value = 0;
      if (!read_varint(in_, value)) return malformed("params", "cut short");
      program_.params.push_back(value);
    }
    if (!in_.empty()) {
      REMORA_ASSIGN_OR_RETURN(program_.graph,
                              decode_graph(in_, {kMaxCapturedOps, kMaxCapturedInputs}));
    }
    REMORA_RETURN_IF_ERROR(check());
    return std::move(program_);
  }

 private:
  absl::StatusOr<size_t> read_count(std::string_view field, size_t max) {
    uint64_t count = 0;
    if (!read_varint(in_, count)) return malformed(field, "cut short");
    if (count > std::min(max, in_.size())) {
      return malformed(field, str_cat("the count ", count, " exceeds ", std::min(max, in_.size())));
    }
    return static_cast<size_t>(count);
  }

  template <typename Take>
  absl::Status read_specs(std::string_view field, Take&& take) {
    REMORA_ASSIGN_OR_RETURN(const size_t count, read_count(field, kMaxCapturedInputs));
    for (size_t i = 0; i < count; ++i) {
      Spec spec;
      if (const absl::Status status = read_spec(in_, spec); !status.ok()) {
        return malformed(field, str_cat(i, ": ", std::string(status.message())));
      }
      take(std::move(spec));
    }
    return absl::OkStatus();
  }

  absl::Status read_sources(std::string_view field, std::vector<CapturedSource>& sources) {
    REMORA_ASSIGN_OR_RETURN(const size_t count, read_count(field, kMaxCapturedOps * kMaxOpOutputs));
    for (size_t i = 0; i < count; ++i) {
      uint64_t coded = 0;
      if (!read_varint(in_, coded)) return malformed(field, "cut short");
      const uint64_t index = coded / kSourceKinds;
      if (index > UINT32_MAX)
        return malformed(field, str_cat("the index ", index, " is too large"));
      sources.push_back(
          {static_cast<CapturedSource::Kind>(coded % kSourceKinds), static_cast<uint32_t>(index)});
    }
    return absl::OkStatus();
  }

  size_t size_of(CapturedSource::Kind kind) const {
    if (kind == CapturedSource::Kind::kInput) return program_.inputs.size();
    if (kind == CapturedSource::Kind::kInitializer) return program_.initializers.size();
    return program_.graph == nullptr ? 0 : program_.graph->outputs.size();
  }

  absl::Status check() const {
    const size_t wanted_inputs = program_.graph == nullptr ? 0 : program_.graph->inputs.size();
    const size_t wanted_params = program_.graph == nullptr ? 0 : program_.graph->params;
    if (program_.externals.size() != wanted_inputs) {
      return malformed("externals", str_cat(program_.externals.size(), " for a graph with ",
                                            wanted_inputs, " external inputs"));
    }
    if (program_.params.size() != wanted_params) {
      return malformed("params",
                       str_cat(program_.params.size(), " for a graph with ", wanted_params));
    }
    if (program_.outputs.empty()) return malformed("outputs", "there is none");
    for (size_t i = 0; i < program_.externals.size(); ++i) {
      const CapturedSource& source = program_.externals[i];
      if (source.kind == CapturedSource::Kind::kResult || source.index >= size_of(source.kind)) {
        return malformed("externals", str_cat(i, " is no input and no initializer"));
      }
      if (program_.spec(source) != program_.graph->inputs[i]) {
        return malformed("externals",
                         str_cat(i, " is ", program_.spec(source).str(), ", the graph wants ",
                                 program_.graph->inputs[i].str()));
      }
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (program_.outputs[i].index >= size_of(program_.outputs[i].kind)) {
        return malformed("outputs", str_cat(i, " is not there"));
      }
    }
    return absl::OkStatus();
  }

  std::string_view in_;
  CapturedProgram program_;
};

}  // namespace

std::string encode_program(const CapturedProgram& program) {
  std::string out;
  append_varint(out, program.inputs.size());
  for (const Spec& spec : program.inputs) append_spec(out, spec);
  append_varint(out, program.initializers.size());
  for (const HostData& initializer : program.initializers) append_spec(out, initializer.spec);
  append_sources(out, program.externals);
  append_sources(out, program.outputs);
  append_varint(out, program.params.size());
  for (const uint64_t value : program.params) append_varint(out, value);
  if (program.graph != nullptr) out += program.graph->key;
  return out;
}

absl::StatusOr<CapturedProgram> decode_program(std::string_view bytes) {
  return ProgramDecoder(bytes).decode();
}

std::string program_checksum(const CapturedProgram& program) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const std::string encoding = encode_program(program);
  XXH3_128bits_update(state.get(), encoding.data(), encoding.size());
  for (const HostData& initializer : program.initializers) {
    XXH3_128bits_update(state.get(), initializer.bytes.get(), initializer.span().size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

}  // namespace remora::dispatch
