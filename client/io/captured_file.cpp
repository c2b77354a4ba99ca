#include "client/io/captured_file.h"

#include "client/io/file_error.h"
#include "client/io/safetensors_file.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::io {
namespace {

constexpr const char* kFormatField = "format";
constexpr const char* kFormat = "remora.captured_graph";
constexpr const char* kVersionField = "version";
constexpr const char* kVersion = "1";
constexpr const char* kChecksumField = "checksum";
constexpr const char* kGraphTensor = "graph";

std::string initializer_name(size_t index) { return str_cat("initializer.", index); }

std::string field(const Metadata& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? std::string() : found->second;
}

/// The bytes of initializer `index`, if the file holds what the graph says.
absl::StatusOr<dispatch::HostData> read_initializer(const SafetensorsFile& file, size_t index,
                                                    const Spec& spec) {
  const std::string name = initializer_name(index);
  const SafetensorsHeader::Tensor* tensor = file.find(name);
  if (tensor == nullptr) {
    return malformed(str_cat("tensor ", in_quotes(name), ", which the graph needs, is not there"));
  }
  if (tensor->spec != spec) {
    return malformed(str_cat("tensor ", in_quotes(name), " is ", tensor->spec.str(),
                             ", but the graph says ", spec.str()));
  }
  return file.read(*tensor);
}

}  // namespace

absl::Status write_captured(const std::filesystem::path& path,
                            const dispatch::CapturedProgram& program) {
  const std::string encoding = encode_program(program);
  std::vector<NamedData> tensors;
  tensors.push_back({kGraphTensor, dispatch::HostData::copy_of(
                                       {DType::kU8, {static_cast<int64_t>(encoding.size())}},
                                       std::as_bytes(std::span(encoding)))});
  for (size_t i = 0; i < program.initializers.size(); ++i) {
    tensors.push_back({initializer_name(i), program.initializers[i]});
  }
  return write_safetensors(path, std::move(tensors),
                           {{kFormatField, kFormat},
                            {kVersionField, kVersion},
                            {kChecksumField, program_checksum(program)}});
}

absl::StatusOr<dispatch::CapturedProgram> read_captured(const std::filesystem::path& path) {
  REMORA_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::open(path));
  const Metadata& metadata = file.metadata();
  if (field(metadata, kFormatField) != kFormat) {
    return malformed(str_cat("a safetensors file, but no captured graph: metadata field \"",
                             kFormatField, "\" is ", in_quotes(field(metadata, kFormatField)),
                             ", not \"", kFormat, "\""));
  }
  if (field(metadata, kVersionField) != kVersion) {
    return absl::UnimplementedError(str_cat("a captured graph of version ",
                                            in_quotes(field(metadata, kVersionField)),
                                            "; this build reads version ", kVersion));
  }
  const SafetensorsHeader::Tensor* graph = file.find(kGraphTensor);
  if (graph == nullptr || graph->spec.dtype != DType::kU8 || graph->spec.shape.rank() != 1) {
    return malformed(str_cat("tensor \"", kGraphTensor, "\" is no list of u8"));
  }
  REMORA_ASSIGN_OR_RETURN(const dispatch::HostData encoding, file.read(*graph));
  const std::span<const std::byte> bytes = encoding.span();
  REMORA_ASSIGN_OR_RETURN(
      dispatch::CapturedProgram program,
      dispatch::decode_program({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  const size_t initializers = program.initializers.size();
  if (file.tensors().size() != initializers + 1) {
    return malformed(str_cat("holds ", file.tensors().size(), " tensors; the graph and its ",
                             initializers, " initializers are ", initializers + 1));
  }
  for (size_t i = 0; i < initializers; ++i) {
    REMORA_ASSIGN_OR_RETURN(program.initializers[i],
                            read_initializer(file, i, program.initializers[i].spec));
  }
  const std::string checksum = program_checksum(program);
  if (field(metadata, kChecksumField) != checksum) {
    return absl::DataLossError(str_cat("the checksum of the contents is ", checksum,
                                       ", but the file says ",
                                       in_quotes(field(metadata, kChecksumField))));
  }
  return program;
}

}  // namespace remora::io
