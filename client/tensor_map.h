// TensorMap: tensors by name, in the order they were added. What a module's state is, and what a
// file of tensors holds. A value; not thread-safe while it changes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/tensor.h"

namespace remora {

class TensorMap {
 public:
  using Entry = std::pair<std::string, Tensor>;

  TensorMap() = default;
  /// INVALID_ARGUMENT if a name comes twice.
  TensorMap(std::initializer_list<Entry> entries);

  /// Adds a tensor behind the others. INVALID_ARGUMENT if the name is there already.
  void add(std::string name, Tensor tensor);
  /// The tensor of that name; NOT_FOUND if there is none.
  const Tensor& at(std::string_view name) const;
  /// The same, or nullptr. Valid until the map changes.
  const Tensor* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace remora
