// A session's numbered graph definitions. A definition that is wrong or not supported is kept with
// the reason, so that its runs poison their outputs with it. Owned by the session's strand; not
// thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "dispatch/graph.h"
#include "proto/records.h"
#include "server/served_devices.h"

namespace remora::server {

struct DefinedGraph {
  absl::Status status;       // why it cannot run
  uint32_t device = 0;       // a served one also where `status` is not OK
  dispatch::GraphPtr graph;  // null unless `status` is OK
  dispatch::LiveSet live;
  size_t live_count = 0;
  int64_t live_bytes = 0;  // of the outputs that a run keeps, saturated
};

/// Decodes and checks a graph for `device`: the body against every shape rule, the live set's size,
/// that the device has kernels for all of it. `inputs` and `params` are what its runs will bring.
DefinedGraph check_graph(const DeviceList& devices, uint32_t device, const dispatch::LiveSet& live,
                         std::string_view body, size_t inputs, size_t params);

class GraphTable {
 public:
  explicit GraphTable(const DeviceList& devices) : devices_(devices) {}

  /// Adds the definition, whatever its status, and gives the status. ALREADY_EXISTS for a number
  /// that is taken, whose definition stays.
  absl::Status define(const wire::DefineRecord& record);
  void undefine(uint64_t number);
  /// The definition, or nullptr.
  const DefinedGraph* find(uint64_t number) const;
  void clear();

 private:
  absl::Status check_room(const DefinedGraph& defined) const;

  const DeviceList& devices_;
  absl::node_hash_map<uint64_t, DefinedGraph> graphs_;
  size_t ops_ = 0;
  size_t bytes_ = 0;
};

}  // namespace remora::server
