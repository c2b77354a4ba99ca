#include "client/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "client/io/file_error.h"
#include "client/io/limits.h"
#include "client/io/safetensors_json.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "nlohmann/json.hpp"

namespace remora::io {

namespace {

/// The element types in the order of the format: the writer puts the last ones first.
constexpr std::array kLayoutOrder = {
    DType::kBool, DType::kU8,  DType::kI8,  DType::kI16, DType::kU16, DType::kF16, DType::kBF16,
    DType::kI32,  DType::kU32, DType::kF32, DType::kF64, DType::kI64, DType::kU64};

size_t layout_rank(DType dtype) {
  return static_cast<size_t>(std::ranges::find(kLayoutOrder, dtype) - kLayoutOrder.begin());
}

/// Every byte of the data must belong to exactly one tensor.
absl::Status check_places(const SafetensorsHeader& header, int64_t data_bytes) {
  std::vector<size_t> order(header.tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto end_of = [&](const SafetensorsHeader::Tensor& tensor) {
    return tensor.begin + tensor.spec.byte_size();
  };
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const auto& left = header.tensors[a];
    const auto& right = header.tensors[b];
    return std::pair(left.begin, end_of(left)) < std::pair(right.begin, end_of(right));
  });
  int64_t position = 0;
  for (const size_t index : order) {
    const auto& tensor = header.tensors[index];
    if (tensor.begin != position) {
      const bool overlaps = tensor.begin < position;
      return malformed(str_cat("tensor ", in_quotes(tensor.name),
                               ": field \"data_offsets\": begins at ", tensor.begin,
                               ", but what lies before it ends at ", position,
                               overlaps ? ": they overlap" : ": there is a hole"));
    }
    position = end_of(tensor);
  }
  if (position != data_bytes) {
    return malformed(str_cat("the tensors fill ", position, " bytes, but ", data_bytes,
                             " bytes of data follow the header"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> json_text(std::string_view what, const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return malformed(str_cat(what, " ", in_quotes(text), " is not UTF-8"));
  }
}

absl::StatusOr<std::string> metadata_json(const Metadata& metadata) {
  std::string json = "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    REMORA_ASSIGN_OR_RETURN(const std::string key_json, json_text("the metadata key", key));
    REMORA_ASSIGN_OR_RETURN(const std::string value_json,
                            json_text(str_cat("the metadata of ", in_quotes(key), ":"), value));
    if (json.back() != '{') json += ',';
    json += key_json;
    json += ':';
    json += value_json;
  }
  return json + "}";
}

}  // namespace

absl::StatusOr<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                           int64_t data_bytes) {
  if (!json.starts_with('{')) return malformed("the header does not begin with '{'");
  // The parser would take a zero byte for the end of the text.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    return malformed(str_cat("the header is no JSON at byte ", zero, ": a zero byte"));
  }
  SafetensorsHeader header;
  SafetensorsJson reader(header, data_bytes);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return reader.status();
  REMORA_RETURN_IF_ERROR(check_places(header, data_bytes));
  return header;
}

void sort_for_safetensors(std::vector<NamedData>& tensors) {
  std::ranges::sort(tensors, [](const NamedData& left, const NamedData& right) {
    const size_t left_rank = layout_rank(left.data.spec.dtype);
    const size_t right_rank = layout_rank(right.data.spec.dtype);
    return left_rank != right_rank ? left_rank > right_rank : left.name < right.name;
  });
}

absl::StatusOr<std::string> format_safetensors_header(std::span<const NamedData> tensors,
                                                      const Metadata& metadata) {
  uint64_t length = 0;
  std::string text(sizeof(length), '\0');
  text += '{';
  if (!metadata.empty()) {
    REMORA_ASSIGN_OR_RETURN(const std::string json, metadata_json(metadata));
    text += json;
  }
  int64_t begin = 0;
  for (const NamedData& tensor : tensors) {
    if (tensor.name == kMetadataName) {
      return malformed(str_cat("no tensor can have the name \"", kMetadataName, "\""));
    }
    const Spec& spec = tensor.data.spec;
    REMORA_ASSIGN_OR_RETURN(const std::string name, json_text("the name", tensor.name));
    const std::string sizes = absl::StrJoin(spec.shape.sizes(), ",");
    if (text.back() != '{') text += ',';
    text += str_cat(name, ":{\"dtype\":\"",
                    absl::AsciiStrToUpper(std::string(dtype_name(spec.dtype))), "\",\"shape\":[",
                    sizes, "],\"data_offsets\":[", begin, ",", begin + spec.byte_size(), "]}");
    begin += spec.byte_size();
  }
  text += '}';
  while (text.size() % 8 != 0) text += ' ';
  length = text.size() - sizeof(length);
  if (length > kMaxSafetensorsHeaderBytes) {
    return malformed(str_cat("the header takes ", length, " bytes; the format allows ",
                             kMaxSafetensorsHeaderBytes));
  }
  std::memcpy(text.data(), &length, sizeof(length));
  return text;
}

}  // namespace remora::io
