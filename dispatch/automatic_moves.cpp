#include "dispatch/automatic_moves.h"

#include <atomic>
#include <cstdlib>

#include "dispatch/registry.h"
#include "dispatch/str_cat.h"

namespace remora {
namespace {

enum class Strictness : uint8_t { kAsEnvironment, kOff, kOn };
std::atomic<Strictness> strictness{Strictness::kAsEnvironment};

}  // namespace

void strict_devices(bool on) { strictness.store(on ? Strictness::kOn : Strictness::kOff); }

bool strict_devices() {
  const Strictness set = strictness.load();
  if (set != Strictness::kAsEnvironment) return set == Strictness::kOn;
  const char* const text = std::getenv("REMORA_STRICT_DEVICES");
  return text != nullptr && std::string_view(text) == "1";
}

namespace dispatch {

ProgramStats stats() {
  ProgramStats sum;
  for (const DeviceState* device : registry().opened()) {
    const DeviceStats stats = device->stats();
    sum.windows += stats.windows;
    sum.ops += stats.ops;
    sum.plan_hits += stats.plan_hits;
    sum.plan_misses += stats.plan_misses;
    sum.moved_operands += stats.moved_operands;
  }
  return sum;
}

void count_move(std::string_view op, const DeviceState& from, DeviceState& to) {
  if (strict_devices()) {
    throw Error(absl::FailedPreconditionError(
        str_cat(op, ": an operand is on ", from.device().str(), " and the op runs on ",
                to.device().str(), "; strict devices forbid the move: call to() first")));
  }
  to.count_move();
}

}  // namespace dispatch
}  // namespace remora
