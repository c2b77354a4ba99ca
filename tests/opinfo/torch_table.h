// From PyTorch's call to ours. The table is data, torch_table.json; README.md describes its rows.
// This file reads a row and carries it out. Immutable once parsed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "client/bindings/argument.h"
#include "client/bindings/signature.h"
#include "tests/opinfo/cases.h"

namespace remora::opinfo {

/// The tensor of a key of the case.
using TensorOfKey = std::function<Tensor(const std::string&)>;

/// Why a call cannot be made at all: the table, or the library, does not offer it.
struct NotOffered {
  std::string reason;
};

class TorchTable {
 public:
  static absl::StatusOr<TorchTable> parse(std::string_view text);
  /// The table this program was built with.
  static absl::StatusOr<TorchTable> built_in();

  bool has(std::string_view op) const { return rows_.contains(std::string(op)); }
  /// Makes the case's call on `device`. Throws Error when the call is refused.
  std::variant<bindings::Argument, NotOffered> call(const Case& sample, const Device& device,
                                                    const TensorOfKey& tensor) const;

 private:
  /// One way to make an operator's call.
  struct Variant {
    bindings::Signature takes;
    Json call;  // a call expression, or a function's name where the arguments pass through
    Json only;  // argument name -> the values this variant is for
  };

  static absl::StatusOr<Variant> parse_variant(const Json& row);
  std::string our_name(const std::string& torch_name) const;

  absl::flat_hash_map<std::string, std::vector<Variant>> rows_;
  absl::flat_hash_map<std::string, std::string> renames_;
};

}  // namespace remora::opinfo
