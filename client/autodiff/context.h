// AutodiffContext: whether operations on a tensor may be tracked, and with which checkpointing
// strategy. It comes from the device a tensor is made on and spreads through operations.
#pragma once

#include <string>

#include "dispatch/device.h"

namespace remora {

/// Disabled, or Enabled(strategy).
struct AutodiffContext {
  bool enabled = false;
  Checkpointing strategy = Checkpointing::kDisabled;

  /// That of tensors made on `device`.
  static AutodiffContext of(const Device& device) {
    return {device.has_autodiff(), device.checkpointing()};
  }
  /// `device` with this context's autodiff flags; a capture device, which has none, as it is.
  Device apply_to(const Device& device) const {
    if (!enabled || device.kind() == BackendKind::kCapture) return device.without_autodiff();
    const Device tracked = device.without_autodiff().autodiff();
    return strategy == Checkpointing::kBalanced ? tracked.gradient_checkpointing() : tracked;
  }
  /// "Disabled", "Enabled(Disabled)", "Enabled(Balanced)".
  std::string str() const {
    if (!enabled) return "Disabled";
    return strategy == Checkpointing::kBalanced ? "Enabled(Balanced)" : "Enabled(Disabled)";
  }
  bool operator==(const AutodiffContext&) const = default;
};

}  // namespace remora
