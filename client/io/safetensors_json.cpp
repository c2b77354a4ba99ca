#include "client/io/safetensors_json.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "client/io/file_error.h"
#include "client/io/limits.h"
#include "dispatch/limits.h"
#include "dispatch/str_cat.h"

namespace remora::io {

namespace {

/// The format writes the names of dtypes.def in capitals.
std::optional<DType> dtype_of(const std::string& text) {
  if (std::ranges::any_of(text, [](char c) { return absl::ascii_islower(c); })) return std::nullopt;
  return dtype_from_name(absl::AsciiStrToLower(text));
}

std::string known_dtypes() {
  std::string list;
#define DTYPE(number, enumerator, name, storage, category) \
  list += str_cat(list.empty() ? "" : ", ", absl::AsciiStrToUpper(#name));
#include "dispatch/dtypes.def"
#undef DTYPE
  return list;
}

}  // namespace

std::string SafetensorsJson::where() const {
  const std::string tensor = str_cat("tensor ", in_quotes(tensor_.name));
  switch (place_) {
    case Place::kFile:
    case Place::kName:
      return "the header";
    case Place::kMetadata:
    case Place::kMetadataKey:
      return in_quotes(kMetadataName);
    case Place::kMetadataText:
      return str_cat(in_quotes(kMetadataName), ": ", in_quotes(metadata_key_));
    case Place::kTensor:
    case Place::kField:
      return tensor;
    case Place::kDType:
      return str_cat(tensor, ": field \"dtype\"");
    case Place::kShape:
    case Place::kSizes:
      return str_cat(tensor, ": field \"shape\"");
    case Place::kOffsets:
    case Place::kOffset:
      return str_cat(tensor, ": field \"data_offsets\"");
  }
  return "the header";
}

bool SafetensorsJson::fail(std::string_view what) {
  status_ = malformed(str_cat(where(), ": ", what));
  return false;
}

bool SafetensorsJson::unexpected(std::string_view what) {
  return fail(str_cat(what, " is not expected here"));
}

Dims* SafetensorsJson::numbers() {
  if (place_ == Place::kSizes) return &tensor_.spec.shape.sizes();
  return place_ == Place::kOffset ? &offsets_ : nullptr;
}

bool SafetensorsJson::number_integer(int64_t value) {
  if (numbers() == nullptr) return unexpected("a number");
  return fail(str_cat(value, " is negative"));
}

bool SafetensorsJson::number_unsigned(uint64_t value) {
  Dims* list = numbers();
  if (list == nullptr) return unexpected("a number");
  if (value > static_cast<uint64_t>(INT64_MAX)) return fail(str_cat(value, " is too large"));
  const int64_t limit = place_ == Place::kSizes ? dispatch::kMaxRank : 2;
  if (std::ssize(*list) == limit) return fail(str_cat("has more than ", limit, " numbers"));
  list->push_back(static_cast<int64_t>(value));
  return true;
}

bool SafetensorsJson::number_float(double, const std::string& text) {
  if (numbers() == nullptr) return unexpected("a number");
  return fail(str_cat(in_quotes(text), " is not an integer of 64 bits"));
}

bool SafetensorsJson::string(std::string& text) {
  if (place_ == Place::kMetadataText) {
    if (!header_.metadata.emplace(metadata_key_, std::move(text)).second) {
      return fail("the key comes twice");
    }
    place_ = Place::kMetadataKey;
    return true;
  }
  if (place_ != Place::kDType) return unexpected("a string");
  const std::optional<DType> dtype = dtype_of(text);
  if (!dtype) return fail(str_cat(in_quotes(text), " is not one of ", known_dtypes()));
  tensor_.spec.dtype = *dtype;
  place_ = Place::kField;
  return true;
}

bool SafetensorsJson::start_object(size_t) {
  switch (place_) {
    case Place::kFile:
      place_ = Place::kName;
      return true;
    case Place::kMetadata:
      place_ = Place::kMetadataKey;
      return true;
    case Place::kTensor:
      place_ = Place::kField;
      return true;
    default:
      return unexpected("an object");
  }
}

bool SafetensorsJson::key(std::string& name) {
  if (place_ == Place::kMetadataKey) {
    metadata_key_ = std::move(name);
    place_ = Place::kMetadataText;
    return true;
  }
  if (place_ == Place::kName && name == kMetadataName) {
    if (std::exchange(has_metadata_, true)) return fail("\"__metadata__\" comes twice");
    place_ = Place::kMetadata;
    return true;
  }
  if (place_ == Place::kName) {
    tensor_ = {std::move(name), {}, 0};
    offsets_.clear();
    has_dtype_ = has_shape_ = has_offsets_ = false;
    place_ = Place::kTensor;
    return true;
  }
  // An object's key arrives nowhere else than in a tensor.
  bool* seen = name == "dtype"          ? &has_dtype_
               : name == "shape"        ? &has_shape_
               : name == "data_offsets" ? &has_offsets_
                                        : nullptr;
  if (seen == nullptr) return fail(str_cat("field ", in_quotes(name), " is unknown"));
  if (std::exchange(*seen, true)) return fail(str_cat("field ", in_quotes(name), " comes twice"));
  place_ = seen == &has_dtype_   ? Place::kDType
           : seen == &has_shape_ ? Place::kShape
                                 : Place::kOffsets;
  return true;
}

bool SafetensorsJson::end_object() {
  if (place_ == Place::kField) return finish_tensor();
  if (place_ == Place::kMetadataKey) place_ = Place::kName;
  return true;
}

bool SafetensorsJson::start_array(size_t) {
  if (place_ != Place::kShape && place_ != Place::kOffsets) return unexpected("a list");
  place_ = place_ == Place::kShape ? Place::kSizes : Place::kOffset;
  return true;
}

bool SafetensorsJson::end_array() {
  if (place_ == Place::kOffset && offsets_.size() != 2) return fail("is not a pair");
  place_ = Place::kField;
  return true;
}

bool SafetensorsJson::parse_error(size_t position, const std::string&,
                                  const nlohmann::json::exception& error) {
  // The library's own text begins with a code in brackets.
  const std::string_view text = error.what();
  const size_t bracket = text.find("] ");
  const std::string_view reason = bracket == text.npos ? text : text.substr(bracket + 2);
  status_ = malformed(str_cat("the header is no JSON at byte ", position, ": ", in_quotes(reason)));
  return false;
}

bool SafetensorsJson::finish_tensor() {
  if (!has_dtype_) return fail("field \"dtype\" is missing");
  if (!has_shape_) return fail("field \"shape\" is missing");
  if (!has_offsets_) return fail("field \"data_offsets\" is missing");
  if (const absl::Status status = check_shape(tensor_.spec.shape); !status.ok()) {
    return fail(str_cat("field \"shape\": ", std::string(status.message())));
  }
  const int64_t begin = offsets_[0];
  const int64_t end = offsets_[1];
  if (begin > end || end > data_bytes_) {
    return fail(str_cat("field \"data_offsets\": [", begin, ", ", end, "] does not lie in the ",
                        data_bytes_, " bytes of data"));
  }
  if (end - begin != tensor_.spec.byte_size()) {
    return fail(str_cat("field \"data_offsets\": [", begin, ", ", end, "] are ", end - begin,
                        " bytes, but ", tensor_.spec.str(), " takes ", tensor_.spec.byte_size()));
  }
  if (header_.tensors.size() == kMaxFileTensors) {
    return fail(str_cat("comes after ", kMaxFileTensors, " others, which is the limit"));
  }
  if (!header_.places.emplace(tensor_.name, header_.tensors.size()).second) {
    return fail("the name comes twice");
  }
  tensor_.begin = begin;
  header_.tensors.push_back(std::move(tensor_));
  place_ = Place::kName;
  return true;
}

}  // namespace remora::io
