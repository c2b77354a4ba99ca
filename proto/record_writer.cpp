#include <algorithm>

#include "dispatch/attrs_codec.h"
#include "proto/binding_tokens.h"
#include "proto/records.h"

namespace remora::wire {

using dispatch::append_varint;
using dispatch::zigzag;

namespace {

uint64_t difference(uint64_t a, uint64_t b) { return zigzag(static_cast<int64_t>(a - b)); }

/// Run lengths of alternating bits, the first of them of `false` and maybe zero.
void append_bits(std::string& out, const std::vector<bool>& bits) {
  bool bit = false;
  for (size_t i = 0; i < bits.size();) {
    size_t end = i;
    while (end < bits.size() && bits[end] == bit) ++end;
    append_varint(out, end - i);
    i = end;
    bit = !bit;
  }
}

/// Appends tokens for `count` entries: `kind_of(i)` classifies, `append_new(i)` spells out.
template <typename KindOf, typename AppendNew>
void append_tokens(std::string& out, size_t count, KindOf kind_of, AppendNew append_new) {
  for (size_t i = 0; i < count;) {
    const BindingToken kind = kind_of(i);
    size_t end = i + 1;
    while (end < count && kind_of(end) == kind) ++end;
    append_varint(out,
                  (static_cast<uint64_t>(end - i) << kTokenKindBits) | static_cast<uint64_t>(kind));
    if (kind == BindingToken::kNew) {
      for (size_t k = i; k < end; ++k) append_new(k);
    }
    i = end;
  }
}

void append_header(std::string& out, uint32_t device, const LiveSet& live,
                   const dispatch::Graph& body) {
  append_varint(out, device);
  append_varint(out, live.size());
  append_bits(out, live);
  append_varint(out, body.key.size());
  out += body.key;
  append_varint(out, body.inputs.size());
  append_varint(out, body.params);
}

}  // namespace

RecordWriter::RecordWriter() : out_(1, static_cast<char>(kRecordsVersion)) {}

std::string RecordWriter::take() {
  std::string records(1, static_cast<char>(kRecordsVersion));
  records.swap(out_);
  frame_bindings_ = 0;
  return records;
}

void RecordWriter::begin(RecordKind kind) { out_.push_back(static_cast<char>(kind)); }

void RecordWriter::append_window(uint64_t window) {
  append_varint(out_, difference(window, memory_.last_window));
}

void RecordWriter::append_value(ValueId value) {
  append_varint(out_, difference(memory_.last_window, value.window()));
  append_varint(out_, value.index());
}

void RecordWriter::define(uint64_t graph, uint32_t device, const LiveSet& live,
                          const dispatch::Graph& body) {
  begin(RecordKind::kDefine);
  append_varint(out_, graph);
  append_header(out_, device, live, body);
  StreamMemory::Previous& entry = memory_.runs[graph];
  entry.inputs = body.inputs.size();
  entry.params = body.params;
  entry.ops = body.ops.size();
  entry.bytes = body.key.size();
  memory_.bindings += entry.inputs + entry.params;
  memory_.ops += entry.ops;
  memory_.bytes += entry.bytes;
}

void RecordWriter::undefine(uint64_t graph) {
  const auto entry = memory_.runs.find(graph);
  if (entry == memory_.runs.end()) return;
  begin(RecordKind::kUndefine);
  append_varint(out_, graph);
  memory_.bindings -= entry->second.inputs + entry->second.params;
  memory_.ops -= entry->second.ops;
  memory_.bytes -= entry->second.bytes;
  memory_.runs.erase(entry);
}

void RecordWriter::run(uint64_t graph, const RunBindings& run) {
  StreamMemory::Previous& entry = memory_.runs[graph];
  begin(RecordKind::kRun);
  append_varint(out_, graph);
  append_window(run.window);
  memory_.last_window = run.window;
  append_bindings(run, entry.ran ? &entry : nullptr);
  entry.run = run;
  entry.ran = true;
}

void RecordWriter::once(uint32_t device, const LiveSet& live, const dispatch::Graph& body,
                        const RunBindings& run) {
  begin(RecordKind::kOnce);
  append_header(out_, device, live, body);
  append_window(run.window);
  memory_.last_window = run.window;
  append_bindings(run, nullptr);
}

void RecordWriter::append_bindings(const RunBindings& run, const StreamMemory::Previous* previous) {
  frame_bindings_ += run.inputs.size() + run.params.size();
  const uint64_t shift = previous == nullptr ? 0 : run.window - previous->run.window;
  append_tokens(
      out_, run.inputs.size(),
      [&](size_t i) {
        if (previous == nullptr) return BindingToken::kNew;
        const ValueId before = previous->run.inputs[i];
        if (run.inputs[i] == before) return BindingToken::kSame;
        const bool moved = run.inputs[i].index() == before.index() &&
                           run.inputs[i].window() == before.window() + shift;
        return moved ? BindingToken::kShifted : BindingToken::kNew;
      },
      [&](size_t i) { append_value(run.inputs[i]); });
  append_tokens(
      out_, run.params.size(),
      [&](size_t i) {
        const bool same = previous != nullptr && run.params[i] == previous->run.params[i];
        return same ? BindingToken::kSame : BindingToken::kNew;
      },
      [&](size_t i) { append_varint(out_, run.params[i]); });
  if (run.inputs.empty()) return;
  const bool same = previous != nullptr ? run.consumed == previous->run.consumed
                                        : std::find(run.consumed.begin(), run.consumed.end(),
                                                    true) == run.consumed.end();
  append_varint(out_, same ? 0 : 1);
  if (!same) append_bits(out_, run.consumed);
}

void RecordWriter::host_data(ValueId value, uint32_t device, const dispatch::HostData& data) {
  begin(RecordKind::kHostData);
  append_value(value);
  append_varint(out_, device);
  dispatch::append_spec(out_, data.spec);
  const auto bytes = data.span();
  out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void RecordWriter::upload(ValueId value, uint32_t device, const Spec& spec) {
  begin(RecordKind::kUpload);
  append_value(value);
  append_varint(out_, device);
  dispatch::append_spec(out_, spec);
}

void RecordWriter::drop(uint64_t window, uint32_t first, uint32_t count) {
  begin(RecordKind::kDrop);
  append_window(window);
  append_varint(out_, first);
  append_varint(out_, count);
}

void RecordWriter::drop_all(std::vector<ValueId>& values) {
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end].bits() == values[end - 1].bits() + 1 &&
           values[end].window() == values[i].window()) {
      ++end;
    }
    drop(values[i].window(), values[i].index(), static_cast<uint32_t>(end - i));
    i = end;
  }
  values.clear();
}

void RecordWriter::read(uint64_t number, ValueId value) {
  begin(RecordKind::kRead);
  append_varint(out_, number);
  append_value(value);
}

void RecordWriter::sync(uint64_t number, uint32_t device) {
  begin(RecordKind::kSync);
  append_varint(out_, number);
  append_varint(out_, device);
}

void RecordWriter::transfer(ValueId value, ValueId source, uint32_t device) {
  begin(RecordKind::kTransfer);
  append_value(value);
  append_value(source);
  append_varint(out_, device);
}

}  // namespace remora::wire
