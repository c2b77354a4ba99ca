#include "server/value_table.h"

#include <utility>

#include "dispatch/str_cat.h"
#include "proto/limits.h"
#include "server/limits.h"

namespace remora::server {

using dispatch::Value;
using dispatch::ValueId;

absl::Status ValueTable::open_window(uint64_t window) {
  const auto next = values_.lower_bound(ValueId(window, 0));
  const bool alive = next != values_.end() && next->first.window() == window;
  if (alive || recent_windows_.contains(window)) {
    return absl::AlreadyExistsError(str_cat(
        "window ", window, " was used before; the run is ignored. Window numbers are used once"));
  }
  remember(window);
  return absl::OkStatus();
}

absl::Status ValueTable::check_new(ValueId id) const {
  if (!values_.contains(id)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      str_cat("value (", id.window(), ", ", id.index(), ") exists; the record is ignored"));
}

absl::Status ValueTable::check_room(size_t count) const {
  if (count <= limit_ - values_.size()) return absl::OkStatus();
  return absl::ResourceExhaustedError(str_cat("the session holds ", values_.size(), " values and ",
                                              count, " more are asked for; at most ", limit_,
                                              " are allowed"));
}

void ValueTable::add(ValueId id, Value value) {
  remember(id.window());
  values_.insert_or_assign(values_.end(), id, std::move(value));
}

Value ValueTable::find(ValueId id) const {
  const auto found = values_.find(id);
  return found == values_.end() ? Value() : found->second;
}

void ValueTable::drop(uint64_t window, uint32_t first, uint32_t count) {
  const uint64_t begin = ValueId(window, first).bits();
  const auto from = values_.lower_bound(ValueId::from_bits(begin));
  auto to = from;
  while (to != values_.end() && to->first.bits() < begin + count) ++to;
  values_.erase(from, to);
}

void ValueTable::clear() {
  values_.clear();
  recent_windows_.clear();
  recent_order_.clear();
}

void ValueTable::remember(uint64_t window) {
  if (!recent_windows_.insert(window).second) return;
  recent_order_.push_back(window);
  if (recent_order_.size() <= kRememberedWindows) return;
  recent_windows_.erase(recent_order_.front());
  recent_order_.pop_front();
}

}  // namespace remora::server
