#include "client/tensor_map.h"

#include "client/apply.h"
#include "dispatch/str_cat.h"

namespace remora {

TensorMap::TensorMap(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) add(entry.first, entry.second);
}

void TensorMap::add(std::string name, Tensor tensor) {
  const auto [place, is_new] = index_.try_emplace(name, entries_.size());
  if (!is_new) refuse("TensorMap::add", str_cat("there is a tensor \"", name, "\" already"));
  entries_.emplace_back(std::move(name), std::move(tensor));
}

const Tensor* TensorMap::find(std::string_view name) const {
  const auto place = index_.find(std::string(name));
  return place == index_.end() ? nullptr : &entries_[place->second].second;
}

const Tensor& TensorMap::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  throw Error(absl::NotFoundError(str_cat("TensorMap::at: there is no tensor \"", name, "\"")));
}

}  // namespace remora
