// What the JSON parser tells about a safetensors header, checked word by word as it is read:
// nothing is kept that the format does not have, so nothing nests deeper than it does, and a name
// that comes twice is seen. One object for one header; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/io/safetensors_header.h"
#include "nlohmann/json.hpp"

namespace remora::io {

inline constexpr std::string_view kMetadataName = "__metadata__";

/// A handler for nlohmann::json::sax_parse; its functions return false to stop, and then `status`
/// says why.
class SafetensorsJson {
 public:
  SafetensorsJson(SafetensorsHeader& header, int64_t data_bytes)
      : header_(header), data_bytes_(data_bytes) {}

  const absl::Status& status() const { return status_; }

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(int64_t value);
  bool number_unsigned(uint64_t value);
  bool number_float(double, const std::string& text);
  bool string(std::string& text);
  bool binary(nlohmann::json::binary_t&) { return unexpected("binary data"); }
  bool start_object(size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error);

 private:
  /// What the next word belongs to.
  enum class Place : uint8_t {
    kFile,         // the object that is the header, before it begins
    kName,         // a tensor's name, or the end
    kMetadata,     // the object of the metadata, before it begins
    kMetadataKey,  // or its end
    kMetadataText,
    kTensor,  // the object of a tensor, before it begins
    kField,   // a field's name, or the end
    kDType,
    kShape,  // the list, before it begins
    kSizes,
    kOffsets,  // likewise
    kOffset,
  };

  /// 'tensor "x": field "shape"', or whatever is being read.
  std::string where() const;
  bool fail(std::string_view what);
  bool unexpected(std::string_view what);
  bool finish_tensor();
  /// The list that a number belongs to, or nullptr where none may stand.
  Dims* numbers();

  SafetensorsHeader& header_;
  const int64_t data_bytes_;
  absl::Status status_;
  Place place_ = Place::kFile;
  bool has_metadata_ = false;
  std::string metadata_key_;
  SafetensorsHeader::Tensor tensor_;  // the one that is being read
  Dims offsets_;
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

}  // namespace remora::io
