// Putting arrays of the reference onto a device, in every way a tensor may lie there, and getting
// them back.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "dispatch/device.h"
#include "dispatch/value.h"
#include "dispatch/window.h"
#include "tests/reference/array.h"

namespace remora::test {

/// How an operand lies in its storage. Each but the first is a view that the device made.
enum class Layout : uint8_t {
  kContiguous,
  kTransposed,  // axes stored in reverse order
  kReversed,    // negative strides
  kStrided,     // every second element along each axis, behind an offset
  kExpanded,    // stride 0 along axis 0; see `repeat_first`
};
inline constexpr std::array kLayouts = {Layout::kContiguous, Layout::kTransposed, Layout::kReversed,
                                        Layout::kStrided, Layout::kExpanded};
std::string_view layout_name(Layout layout);

/// `array` with what lies at 0 of axis 0 repeated along that axis: what kExpanded can express.
reference::Array repeat_first(const reference::Array& array);

/// `array` as a value on `device`. kExpanded keeps only what `repeat_first` would.
dispatch::Value place(const Device& device, const reference::Array& array,
                      Layout layout = Layout::kContiguous);
std::vector<dispatch::Value> place_all(const Device& device,
                                       std::span<const reference::Array> arrays,
                                       Layout layout = Layout::kContiguous);

/// The bytes of each value.
std::vector<dispatch::HostData> read_all(std::span<const dispatch::Value> values);

}  // namespace remora::test
