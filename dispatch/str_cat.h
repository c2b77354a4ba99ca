// Text for errors and names. Debian's Abseil has a string_view of its own, so `absl::StrCat`
// refuses the standard one there; this one takes both.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace remora {

/// Concatenates strings and numbers.
template <typename... Parts>
std::string str_cat(const Parts&... parts) {
  const auto part = [](const auto& value) -> decltype(auto) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string_view>) {
      return std::string(value);
    } else {
      return (value);
    }
  };
  return absl::StrCat(part(parts)...);
}

}  // namespace remora
