#include "dispatch/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "dispatch/capture.h"
#include "dispatch/device_state.h"
#include "dispatch/device_text.h"
#include "dispatch/fork_guard.h"
#include "dispatch/lock_checks.h"
#include "dispatch/str_cat.h"
#include "dispatch/worker_address.h"

namespace remora::dispatch {
namespace {

struct KindRow {
  BackendKind kind;
  int rank;  // in the default order; 0: never
  const char* option;
};

constexpr KindRow kKinds[] = {
#define BACKEND(number, enumerator, name, rank, option, ...) \
  {BackendKind::enumerator, rank, #option},
#include "dispatch/backends.def"
#undef BACKEND
};

std::vector<KindRow> default_order() {
  std::vector<KindRow> order;
  std::ranges::copy_if(kKinds, std::back_inserter(order),
                       [](const KindRow& row) { return row.rank > 0; });
  std::ranges::sort(order, {}, &KindRow::rank);
  return order;
}

const char* build_option(BackendKind kind) {
  return std::ranges::find(kKinds, kind, &KindRow::kind)->option;
}

/// The kind's first device, if it may be a default.
DeviceIdentity first_device(BackendKind kind) { return DeviceIdentity{.kind = kind}; }

void say_once(const std::string& line) {
  struct Said {
    absl::Mutex mutex;
    std::set<std::string> lines ABSL_GUARDED_BY(mutex);
  };
  static Said& said = *new Said;  // used until the process ends
  const absl::MutexLock lock(&said.mutex);
  if (said.lines.insert(line).second) std::fprintf(stderr, "remora: %s\n", line.c_str());
}

}  // namespace

void Registry::add(BackendKind kind, BackendFactory factory) {
  factories_.emplace_back(kind, std::move(factory));
}

bool Registry::has(BackendKind kind) const {
  return std::ranges::any_of(factories_, [&](const auto& entry) { return entry.first == kind; });
}

std::string Registry::available() const {
  std::string names;
  const std::vector<KindRow> usable = default_order();
  for (const auto& [kind, factory] : factories_) {
    if (std::ranges::find(usable, kind, &KindRow::kind) == usable.end()) continue;
    names += str_cat(names.empty() ? "" : ", ", backend_name(kind));
  }
  return names.empty() ? "none" : names;
}

absl::StatusOr<const BackendFactory*> Registry::factory(BackendKind kind) const {
  for (const auto& [known, factory] : factories_) {
    if (known == kind) return &factory;
  }
  return absl::UnimplementedError(str_cat("the ", backend_name(kind),
                                          " backend is not in this build (", build_option(kind),
                                          "); built in: ", available()));
}

DeviceState* Registry::find(const Device& device) const {
  const absl::MutexLock lock(&mutex_);
  if (const auto found = devices_.find(&device.identity()); found != devices_.end()) {
    return found->second.get();
  }
  const auto alias = aliases_.find(&device.identity());
  return alias == aliases_.end() ? nullptr : alias->second;
}

absl::StatusOr<DeviceState*> Registry::open(const Device& device) {
  if (DeviceState* const known = find(device)) return known;
  REMORA_ASSIGN_OR_RETURN(const BackendFactory* backend_factory, factory(device.kind()));
  if (backend_factory->canonical) {
    REMORA_ASSIGN_OR_RETURN(const DeviceIdentity identity,
                            backend_factory->canonical(device.identity()));
    const Device canonical = Device::of(identity);
    if (&canonical.identity() != &device.identity()) {
      REMORA_ASSIGN_OR_RETURN(DeviceState* const state, open(canonical));
      const absl::MutexLock lock(&mutex_);
      return aliases_.try_emplace(&device.identity(), state).first->second;
    }
  }
  // Opened without the lock: connecting to a worker may take seconds. If two threads open one
  // device at once, the first to finish is kept.
  REMORA_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                          backend_factory->open(device.identity()));
  auto state = std::make_unique<DeviceState>(device, std::move(backend));
  const absl::MutexLock lock(&mutex_);
  return devices_.try_emplace(&device.identity(), std::move(state)).first->second.get();
}

std::vector<Device> Registry::enumerate(const std::vector<DeviceFilter>& filters) {
  std::vector<Device> devices;
  for (const DeviceFilter& filter : filters) {
    if (filter.kind() == BackendKind::kCapture || !has(filter.kind())) continue;
    if (!filter.address().empty()) throw_if_error(parse_worker_address(filter.address()).status());
    const BackendFactory& backend_factory = **factory(filter.kind());
    std::vector<DeviceIdentity> found;
    if (backend_factory.enumerate) {
      found = backend_factory.enumerate(filter);
    } else {
      const absl::StatusOr<int> count = backend_factory.count();
      for (int i = 0; count.ok() && i < *count; ++i)
        found.push_back({.kind = filter.kind(), .index = i});
    }
    for (const DeviceIdentity& identity : found) {
      const Device device = Device::of(identity);
      if (open(device).ok()) devices.push_back(device);
    }
  }
  return devices;
}

std::vector<DeviceState*> Registry::opened() const {
  std::vector<DeviceState*> result;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [identity, state] : devices_) result.push_back(state.get());
  return result;
}

absl::StatusOr<Device> Registry::default_device() const {
  if (const char* text = std::getenv("REMORA_DEVICE"); text != nullptr && *text != '\0') {
    const auto in_variable = [&](const absl::Status& status) {
      return absl::Status(status.code(),
                          str_cat("REMORA_DEVICE=", text, ": ", std::string(status.message()),
                                  "; available: ", available()));
    };
    const absl::StatusOr<DeviceIdentity> identity = parse_device(text);
    if (!identity.ok()) return in_variable(identity.status());
    if (identity->kind == BackendKind::kCapture) {
      return in_variable(absl::InvalidArgumentError(
          "a capture device computes nothing, so it is never the default"));
    }
    const absl::StatusOr<const BackendFactory*> backend_factory = factory(identity->kind);
    if (!backend_factory.ok()) return in_variable(backend_factory.status());
    if (identity->kind != BackendKind::kRemote) {
      const absl::StatusOr<int> count = (*backend_factory)->count();
      if (!count.ok()) return in_variable(count.status());
      if (identity->index >= *count) {
        return in_variable(absl::NotFoundError(
            str_cat("there is no such device; ", backend_name(identity->kind), " has ", *count)));
      }
    }
    return Device::parse(text);
  }
  for (const KindRow& row : default_order()) {
    if (!has(row.kind)) continue;
    const BackendFactory& backend_factory = **factory(row.kind);
    const absl::StatusOr<int> count = backend_factory.count();
    if (!count.ok()) {
      say_once(str_cat("skipping ", backend_name(row.kind), ": ",
                       std::string(count.status().message())));
      continue;
    }
    const DeviceIdentity identity = first_device(row.kind);
    if (*count > 0 && backend_factory.may_be_default(identity))
      return Device::parse(device_text(identity));
  }
  std::string options;
  for (const KindRow& row : default_order())
    options += str_cat(options.empty() ? "" : ", ", row.option);
  return absl::UnimplementedError(str_cat("no usable device; built in: ", available(),
                                          "; build with one of ", options,
                                          " or set REMORA_DEVICE"));
}

void Registry::stop() {
  if (in_forked_child()) return;
  for (DeviceState* device : opened()) {
    device->executor().stop();
  }
}

Registry& registry() {
  static Registry& instance = *[] {
    // Never destroyed: devices may be used until the process ends.
    auto* made = new Registry;  // leaked
    set_lock_checks();
    watch_forks();
    register_backends(*made);
    made->add(BackendKind::kCapture, capture_factory());
    std::atexit([] { registry().stop(); });
    return made;
  }();
  return instance;
}

}  // namespace remora::dispatch
