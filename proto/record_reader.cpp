#include <algorithm>
#include <limits>

#include "dispatch/attrs_codec.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"
#include "proto/binding_tokens.h"
#include "proto/records.h"

namespace remora::wire {

using dispatch::read_varint;
using dispatch::unzigzag;

namespace {

constexpr uint64_t kAnyNumber = std::numeric_limits<uint64_t>::max();

template <typename... Parts>
absl::Status malformed(std::string_view record, const Parts&... parts) {
  return absl::InvalidArgumentError(str_cat(record, " record: ", parts...));
}

absl::Status read_bits(std::string_view record, std::string_view field, std::string_view& in,
                       size_t count, std::vector<bool>& bits) {
  bits.assign(count, false);
  bool bit = false;
  for (size_t i = 0; i < count; bit = !bit) {
    uint64_t length = 0;
    if (!read_varint(in, length)) return malformed(record, field, " is cut short");
    if (length > count - i) {
      return malformed(record, field, " has a run of ", length, " where ", count - i, " of ", count,
                       " are left");
    }
    if (length == 0 && i > 0) return malformed(record, field, " has an empty run at ", i);
    if (length == 0 && bit) return malformed(record, field, " has two empty runs");
    if (bit) std::fill_n(bits.begin() + static_cast<ptrdiff_t>(i), length, true);
    i += length;
  }
  return absl::OkStatus();
}

/// Reads tokens until `count` entries are covered: `apply(kind, first, end)` for each.
template <typename Apply>
absl::Status read_tokens(std::string_view record, std::string_view field, std::string_view& in,
                         size_t count, Apply apply) {
  for (size_t i = 0; i < count;) {
    uint64_t token = 0;
    if (!read_varint(in, token))
      return malformed(record, field, " are cut short at ", i, " of ", count);
    const uint64_t length = token >> kTokenKindBits;
    if (length == 0 || length > count - i) {
      return malformed(record, "a token covers ", length, " ", field, " where 1 to ", count - i,
                       " are left");
    }
    const auto kind = static_cast<BindingToken>(token & ((1u << kTokenKindBits) - 1));
    REMORA_RETURN_IF_ERROR(apply(kind, i, i + static_cast<size_t>(length)));
    i += static_cast<size_t>(length);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecordReader> RecordReader::open(std::string_view records, StreamMemory& memory) {
  if (records.empty()) return RecordReader(records, memory);
  const auto version = static_cast<uint8_t>(records.front());
  if (version != kRecordsVersion) {
    return absl::InvalidArgumentError(
        str_cat("records of version ", version, "; this build reads version ", kRecordsVersion));
  }
  return RecordReader(records.substr(1), memory);
}

absl::StatusOr<std::optional<Record>> RecordReader::next() {
  if (in_.empty()) return std::nullopt;
  const auto kind = static_cast<uint8_t>(in_.front());
  in_.remove_prefix(1);
  auto optional = [](absl::StatusOr<Record> record) -> absl::StatusOr<std::optional<Record>> {
    if (!record.ok()) return record.status();
    return std::optional<Record>(*std::move(record));
  };
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kDefine:
      return optional(read_define());
    case RecordKind::kUndefine:
      return optional(read_undefine());
    case RecordKind::kRun:
      return optional(read_run());
    case RecordKind::kOnce:
      return optional(read_once());
    case RecordKind::kHostData:
      return optional(read_host_data());
    case RecordKind::kDrop:
      return optional(read_drop());
    case RecordKind::kUpload: {
      UploadRecord upload;
      REMORA_RETURN_IF_ERROR(read_value("upload", memory_->last_window, upload.value));
      REMORA_RETURN_IF_ERROR(read_device("upload", upload.device));
      REMORA_RETURN_IF_ERROR(dispatch::read_spec(in_, upload.spec));
      return std::optional<Record>(std::move(upload));
    }
    case RecordKind::kRead: {
      ReadRecord read;
      REMORA_RETURN_IF_ERROR(read_number("read", "number", kAnyNumber, read.number));
      REMORA_RETURN_IF_ERROR(read_value("read", memory_->last_window, read.value));
      return std::optional<Record>(read);
    }
    case RecordKind::kSync: {
      SyncRecord sync;
      REMORA_RETURN_IF_ERROR(read_number("sync", "number", kAnyNumber, sync.number));
      REMORA_RETURN_IF_ERROR(read_device("sync", sync.device));
      return std::optional<Record>(sync);
    }
    case RecordKind::kTransfer: {
      TransferRecord transfer;
      REMORA_RETURN_IF_ERROR(read_value("transfer", memory_->last_window, transfer.value));
      REMORA_RETURN_IF_ERROR(read_value("transfer", memory_->last_window, transfer.source));
      REMORA_RETURN_IF_ERROR(read_device("transfer", transfer.device));
      return std::optional<Record>(transfer);
    }
  }
  return absl::InvalidArgumentError(str_cat("record kind ", kind, " is unknown to this build"));
}

absl::StatusOr<Record> RecordReader::read_define() {
  DefineRecord define;
  REMORA_RETURN_IF_ERROR(read_number("define", "graph", kAnyNumber, define.graph));
  REMORA_RETURN_IF_ERROR(
      read_header("define", define.device, define.live, define.body, define.inputs, define.params));
  if (memory_->runs.contains(define.graph)) {
    return absl::AlreadyExistsError(
        str_cat("define record: graph ", define.graph, " is already defined"));
  }
  if (!memory_->has_room(define.inputs, define.params)) {
    return absl::ResourceExhaustedError(
        str_cat("define record: graph ", define.graph, " with ", define.inputs, " inputs and ",
                define.params, " params does not fit beside ", memory_->runs.size(),
                " graphs (at most ", kMaxSessionGraphs, ") with ", memory_->bindings,
                " inputs and params (at most ", kMaxSessionBindings, ")"));
  }
  StreamMemory::Previous& entry = memory_->runs[define.graph];
  entry.inputs = define.inputs;
  entry.params = define.params;
  memory_->bindings += entry.inputs + entry.params;
  return define;
}

absl::StatusOr<Record> RecordReader::read_undefine() {
  UndefineRecord undefine;
  REMORA_RETURN_IF_ERROR(read_number("undefine", "graph", kAnyNumber, undefine.graph));
  const auto entry = memory_->runs.find(undefine.graph);
  if (entry == memory_->runs.end()) {
    return absl::NotFoundError(
        str_cat("undefine record: graph ", undefine.graph, " is not defined"));
  }
  memory_->bindings -= entry->second.inputs + entry->second.params;
  memory_->runs.erase(entry);
  return undefine;
}

absl::StatusOr<Record> RecordReader::read_run() {
  RunRecord record;
  REMORA_RETURN_IF_ERROR(read_number("run", "graph", kAnyNumber, record.graph));
  const auto found = memory_->runs.find(record.graph);
  if (found == memory_->runs.end()) {
    return absl::NotFoundError(str_cat("run record: graph ", record.graph, " is not defined"));
  }
  StreamMemory::Previous& entry = found->second;
  REMORA_RETURN_IF_ERROR(read_window("run", record.run.window));
  REMORA_RETURN_IF_ERROR(
      read_bindings("run", entry.inputs, entry.params, entry.ran ? &entry : nullptr, record.run));
  memory_->last_window = record.run.window;
  entry.run = record.run;
  entry.ran = true;
  return record;
}

absl::StatusOr<Record> RecordReader::read_once() {
  OnceRecord once;
  uint32_t inputs = 0;
  uint32_t params = 0;
  REMORA_RETURN_IF_ERROR(read_header("once", once.device, once.live, once.body, inputs, params));
  REMORA_RETURN_IF_ERROR(read_window("once", once.run.window));
  REMORA_RETURN_IF_ERROR(read_bindings("once", inputs, params, nullptr, once.run));
  memory_->last_window = once.run.window;
  return once;
}

absl::StatusOr<Record> RecordReader::read_host_data() {
  HostDataRecord data;
  REMORA_RETURN_IF_ERROR(read_value("host data", memory_->last_window, data.value));
  REMORA_RETURN_IF_ERROR(read_device("host data", data.device));
  REMORA_RETURN_IF_ERROR(dispatch::read_spec(in_, data.spec));
  const auto bytes = static_cast<uint64_t>(data.spec.byte_size());
  if (bytes > kMaxInlineBytes) {
    return malformed("host data", data.spec.str(), " has ", bytes, " bytes; at most ",
                     kMaxInlineBytes, " travel inline");
  }
  if (bytes > in_.size()) {
    return malformed("host data", data.spec.str(), " needs ", bytes, " bytes, ", in_.size(),
                     " are left");
  }
  data.bytes = in_.substr(0, bytes);
  in_.remove_prefix(bytes);
  return data;
}

absl::StatusOr<Record> RecordReader::read_drop() {
  DropRecord drop;
  REMORA_RETURN_IF_ERROR(read_window("drop", drop.window));
  uint64_t first = 0;
  uint64_t count = 0;
  REMORA_RETURN_IF_ERROR(read_number("drop", "first index", kMaxValueIndex, first));
  REMORA_RETURN_IF_ERROR(read_number("drop", "count", kMaxValueIndex + 1 - first, count));
  if (count == 0) return malformed("drop", "a count of 0; at least 1 is right");
  drop.first = static_cast<uint32_t>(first);
  drop.count = static_cast<uint32_t>(count);
  return drop;
}

absl::Status RecordReader::read_header(std::string_view record, uint32_t& device, LiveSet& live,
                                       std::string_view& body, uint32_t& inputs, uint32_t& params) {
  uint64_t number = 0;
  REMORA_RETURN_IF_ERROR(read_device(record, device));
  REMORA_RETURN_IF_ERROR(read_number(record, "live set size", kMaxGraphOutputs, number));
  REMORA_RETURN_IF_ERROR(read_bits(record, "live set", in_, static_cast<size_t>(number), live));
  REMORA_RETURN_IF_ERROR(read_number(record, "body size", kMaxGraphBytes, number));
  if (number > in_.size()) {
    return malformed(record, "a body of ", number, " bytes where ", in_.size(), " are left");
  }
  body = in_.substr(0, static_cast<size_t>(number));
  in_.remove_prefix(body.size());
  REMORA_RETURN_IF_ERROR(read_number(record, "input count", kMaxGraphInputs, number));
  inputs = static_cast<uint32_t>(number);
  REMORA_RETURN_IF_ERROR(read_number(record, "param count", kMaxGraphParams, number));
  params = static_cast<uint32_t>(number);
  return absl::OkStatus();
}

absl::Status RecordReader::read_bindings(std::string_view record, size_t inputs, size_t params,
                                         const StreamMemory::Previous* previous, RunBindings& run) {
  if (previous == nullptr && 2 * inputs + params > in_.size()) {
    // Every explicit input takes two bytes and every param one: refuse before anything is
    // allocated.
    return malformed(record, inputs, " inputs and ", params, " params do not fit the ", in_.size(),
                     " bytes that are left");
  }
  frame_bindings_ += inputs + params;
  if (frame_bindings_ > kMaxFrameBindings) {
    // Repeated bindings cost no bytes: without this a small frame would make endless work.
    return malformed(record, "the runs of this frame have ", frame_bindings_,
                     " inputs and params; at most ", kMaxFrameBindings, " are right");
  }
  const uint64_t shift = previous == nullptr ? 0 : run.window - previous->run.window;
  run.inputs.resize(inputs);
  REMORA_RETURN_IF_ERROR(read_tokens(
      record, "inputs", in_, inputs, [&](BindingToken kind, size_t i, size_t end) -> absl::Status {
        if (kind == BindingToken::kNew) {
          for (; i < end; ++i)
            REMORA_RETURN_IF_ERROR(read_value(record, run.window, run.inputs[i]));
          return absl::OkStatus();
        }
        if (previous == nullptr)
          return malformed(record, "input ", i, " refers to a run before the first");
        if (kind != BindingToken::kSame && kind != BindingToken::kShifted) {
          return malformed(record, "input ", i, " has token kind ", static_cast<int>(kind),
                           "; 0 to 2 exist");
        }
        for (; i < end; ++i) {
          const ValueId before = previous->run.inputs[i];
          const uint64_t window = before.window() + (kind == BindingToken::kShifted ? shift : 0);
          if (window == 0 || window > kMaxWindow) {
            return malformed(record, "input ", i, " is shifted out of the window numbers");
          }
          run.inputs[i] = ValueId(window, before.index());
        }
        return absl::OkStatus();
      }));
  run.params.resize(params);
  REMORA_RETURN_IF_ERROR(read_tokens(
      record, "params", in_, params, [&](BindingToken kind, size_t i, size_t end) -> absl::Status {
        if (kind == BindingToken::kNew) {
          for (; i < end; ++i) {
            REMORA_RETURN_IF_ERROR(read_number(record, "param", kAnyNumber, run.params[i]));
          }
          return absl::OkStatus();
        }
        if (previous == nullptr)
          return malformed(record, "param ", i, " refers to a run before the first");
        if (kind != BindingToken::kSame) {
          return malformed(record, "param ", i, " has token kind ", static_cast<int>(kind),
                           "; 0 and 2 exist");
        }
        std::copy(previous->run.params.begin() + static_cast<ptrdiff_t>(i),
                  previous->run.params.begin() + static_cast<ptrdiff_t>(end),
                  run.params.begin() + static_cast<ptrdiff_t>(i));
        return absl::OkStatus();
      }));
  if (inputs == 0) return absl::OkStatus();
  uint64_t spelled = 0;
  REMORA_RETURN_IF_ERROR(read_number(record, "consumed flag", 1, spelled));
  if (spelled == 1) return read_bits(record, "consumed", in_, inputs, run.consumed);
  if (previous != nullptr) {
    run.consumed = previous->run.consumed;
  } else {
    run.consumed.assign(inputs, false);
  }
  return absl::OkStatus();
}

absl::Status RecordReader::read_window(std::string_view record, uint64_t& window) {
  uint64_t coded = 0;
  if (!read_varint(in_, coded)) return malformed(record, "window is cut short or not minimal");
  window = memory_->last_window + static_cast<uint64_t>(unzigzag(coded));
  if (window == 0 || window > kMaxWindow) {
    return malformed(record, "window ", window, " lies outside 1 to ", kMaxWindow);
  }
  return absl::OkStatus();
}

absl::Status RecordReader::read_value(std::string_view record, uint64_t base, ValueId& value) {
  uint64_t coded = 0;
  uint64_t index = 0;
  if (!read_varint(in_, coded)) return malformed(record, "value is cut short or not minimal");
  const uint64_t window = base - static_cast<uint64_t>(unzigzag(coded));
  if (window == 0 || window > kMaxWindow) {
    return malformed(record, "value of window ", window, "; windows are 1 to ", kMaxWindow);
  }
  REMORA_RETURN_IF_ERROR(read_number(record, "value index", kMaxValueIndex, index));
  value = ValueId(window, static_cast<uint32_t>(index));
  return absl::OkStatus();
}

absl::Status RecordReader::read_device(std::string_view record, uint32_t& device) {
  uint64_t number = 0;
  REMORA_RETURN_IF_ERROR(
      read_number(record, "device", std::numeric_limits<uint32_t>::max(), number));
  device = static_cast<uint32_t>(number);
  return absl::OkStatus();
}

absl::Status RecordReader::read_number(std::string_view record, std::string_view field,
                                       uint64_t limit, uint64_t& number) {
  if (!read_varint(in_, number)) return malformed(record, field, " is cut short or not minimal");
  if (number > limit)
    return malformed(record, field, " is ", number, "; at most ", limit, " is right");
  return absl::OkStatus();
}

}  // namespace remora::wire
