// The packed records of a ClientFrame: one bytes field, versioned, without a protobuf message per
// op. The encoder is the client's, the decoder the worker's; the decoder trusts nothing and
// enforces limits.h.
//
// Layout: version byte, then records: a kind byte and its fields. Varints are minimal LEB128. A
// device is its place in DescribeReply.devices. A window is zigzag(window - last window), a value
// the window's difference and the varint index; the last window is that of the run before (of the
// run itself, inside a run). README.md has every record's fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "dispatch/buffer.h"
#include "dispatch/graph.h"
#include "dispatch/value.h"
#include "proto/limits.h"

namespace remora::wire {

using dispatch::GraphPtr;
using dispatch::LiveSet;
using dispatch::ValueId;

/// README.md has the fields of each, in their order.
enum class RecordKind : uint8_t {
  kDefine = 1,     // a graph, under a number
  kUndefine = 2,   // the number is free again
  kRun = 3,        // a defined graph with these bindings
  kOnce = 4,       // a graph that runs once
  kHostData = 5,   // a value with its bytes
  kUpload = 6,     // a value whose bytes follow on the bulk plane
  kDrop = 7,       // values of one window that nobody uses any more
  kRead = 8,       // a value's bytes are wanted
  kSync = 9,       // answered when everything before it on a device has been executed
  kTransfer = 10,  // a copy of a value on another device of this worker
};

struct DefineRecord {
  uint64_t graph = 0;
  uint32_t device = 0;
  LiveSet live;
  std::string_view body;  // Graph::key of the graph; points into the frame
  uint32_t inputs = 0;    // what each run brings; the decoded body must agree
  uint32_t params = 0;
};
struct UndefineRecord {
  uint64_t graph = 0;
};
/// Bindings of one run.
struct RunBindings {
  uint64_t window = 0;
  std::vector<ValueId> inputs;
  std::vector<uint64_t> params;
  std::vector<bool> consumed;
};
struct RunRecord {
  uint64_t graph = 0;
  RunBindings run;
};
struct OnceRecord {
  uint32_t device = 0;
  LiveSet live;
  std::string_view body;
  RunBindings run;
};
struct HostDataRecord {
  ValueId value;
  uint32_t device = 0;
  Spec spec;
  std::string_view bytes;  // points into the frame
};
struct UploadRecord {
  ValueId value;
  uint32_t device = 0;
  Spec spec;
};
struct DropRecord {
  uint64_t window = 0;
  uint32_t first = 0;
  uint32_t count = 0;
};
struct ReadRecord {
  uint64_t number = 0;
  ValueId value;
};
struct SyncRecord {
  uint64_t number = 0;
  uint32_t device = 0;
};
struct TransferRecord {
  ValueId value;
  ValueId source;
  uint32_t device = 0;
};

using Record = std::variant<DefineRecord, UndefineRecord, RunRecord, OnceRecord, HostDataRecord,
                            UploadRecord, DropRecord, ReadRecord, SyncRecord, TransferRecord>;

/// What both sides remember of a session so that runs can be coded against what came before: the
/// last window number seen and, per graph, its previous run. Encoder and decoder each own one and
/// feed it alike.
struct StreamMemory {
  uint64_t last_window = 0;
  struct Previous {
    RunBindings run;
    bool ran = false;   // the first run has nothing to be coded against
    size_t inputs = 0;  // what a run of this graph must bring
    size_t params = 0;
    size_t ops = 0;  // known to the writer only, like `bytes`
    size_t bytes = 0;
  };
  absl::flat_hash_map<uint64_t, Previous> runs;
  size_t bindings = 0;  // inputs and params of all graphs in `runs`
  size_t ops = 0;       // likewise; the writer's
  size_t bytes = 0;

  /// True if a graph with so many inputs and params may be defined beside those there are.
  bool has_room(size_t inputs, size_t params) const {
    return runs.size() < kMaxSessionGraphs && inputs + params <= kMaxSessionBindings - bindings;
  }
};

/// Builds the records of one frame after another. One owner; not thread-safe.
class RecordWriter {
 public:
  RecordWriter();
  void define(uint64_t graph, uint32_t device, const LiveSet& live, const dispatch::Graph& body);
  void undefine(uint64_t graph);
  /// Requires a define of `graph`. Inputs, params and consumed by external input index.
  void run(uint64_t graph, const RunBindings& run);
  void once(uint32_t device, const LiveSet& live, const dispatch::Graph& body,
            const RunBindings& run);
  void host_data(ValueId value, uint32_t device, const dispatch::HostData& data);
  void upload(ValueId value, uint32_t device, const Spec& spec);
  /// Adjacent drops of one window should come together; see drop_all.
  void drop(uint64_t window, uint32_t first, uint32_t count);
  /// Sorts `values` and writes them as run lengths.
  void drop_all(std::vector<ValueId>& values);
  void read(uint64_t number, ValueId value);
  void sync(uint64_t number, uint32_t device);
  void transfer(ValueId value, ValueId source, uint32_t device);

  size_t size() const { return out_.size(); }
  /// Inputs and params of the frame's runs so far; the caller keeps to kMaxFrameBindings.
  size_t frame_bindings() const { return frame_bindings_; }
  bool empty() const { return out_.size() <= 1; }
  /// False: the session's graph table is full, so the graph can only be sent by `once`.
  bool can_define(const dispatch::Graph& body) const {
    return memory_.has_room(body.inputs.size(), body.params) &&
           body.ops.size() <= kMaxSessionGraphOps - memory_.ops &&
           body.key.size() <= kMaxSessionGraphBytes - memory_.bytes;
  }
  /// The records so far; the writer goes on with an empty frame and the same memory.
  std::string take();

 private:
  void begin(RecordKind kind);
  void append_window(uint64_t window);
  void append_value(ValueId value);
  void append_bindings(const RunBindings& run, const StreamMemory::Previous* previous);

  std::string out_;
  size_t frame_bindings_ = 0;
  StreamMemory memory_;
};

/// Reads the records of one frame. Errors name the record and the value that is wrong:
/// INVALID_ARGUMENT for what is malformed or over a limit, NOT_FOUND for an unknown graph,
/// ALREADY_EXISTS for a second definition, RESOURCE_EXHAUSTED for a definition over the table's
/// bounds. The last two are of a whole record, and the next one can be read; after any other error
/// the stream cannot be followed any further.
class RecordReader {
 public:
  /// Checks the version byte. `memory` is the session's and outlives the reader.
  static absl::StatusOr<RecordReader> open(std::string_view records, StreamMemory& memory);
  /// The next record, or none at the end.
  absl::StatusOr<std::optional<Record>> next();

 private:
  RecordReader(std::string_view in, StreamMemory& memory) : in_(in), memory_(&memory) {}

  absl::StatusOr<Record> read_define();
  absl::StatusOr<Record> read_undefine();
  absl::StatusOr<Record> read_run();
  absl::StatusOr<Record> read_once();
  absl::StatusOr<Record> read_host_data();
  absl::StatusOr<Record> read_drop();
  absl::Status read_header(std::string_view record, uint32_t& device, LiveSet& live,
                           std::string_view& body, uint32_t& inputs, uint32_t& params);
  absl::Status read_bindings(std::string_view record, size_t inputs, size_t params,
                             const StreamMemory::Previous* previous, RunBindings& run);
  absl::Status read_window(std::string_view record, uint64_t& window);
  absl::Status read_value(std::string_view record, uint64_t base, ValueId& value);
  absl::Status read_device(std::string_view record, uint32_t& device);
  absl::Status read_number(std::string_view record, std::string_view field, uint64_t limit,
                           uint64_t& number);

  std::string_view in_;
  size_t frame_bindings_ = 0;  // of the runs read
  StreamMemory* memory_;
};

}  // namespace remora::wire
