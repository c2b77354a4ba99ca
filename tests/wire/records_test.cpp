#include "proto/records.h"

#include <deque>
#include <functional>
#include <random>

#include "dispatch/attrs_codec.h"
#include "dispatch/str_cat.h"
#include "gtest/gtest.h"
#include "proto/binding_tokens.h"
#include "tests/wire/record_text.h"

namespace remora::wire {
namespace {

using dispatch::Graph;
using dispatch::HostData;

/// Records of one frame as text, or the error.
absl::StatusOr<std::vector<std::string>> decode(std::string_view frame, StreamMemory& memory) {
  auto reader = RecordReader::open(frame, memory);
  if (!reader.ok()) return reader.status();
  std::vector<std::string> texts;
  for (;;) {
    absl::StatusOr<std::optional<Record>> record = reader->next();
    if (!record.ok()) return record.status();
    if (!record->has_value()) return texts;
    texts.push_back(record_text(**record));
  }
}

/// Draws a session's records: a writer's frames and what they should decode to.
class RandomSession {
 public:
  explicit RandomSession(uint64_t seed) : random_(seed) {}

  std::string frame(std::vector<std::string>& expected) {
    const size_t records = draw(12);
    for (size_t i = 0; i < records; ++i) expected.push_back(record_text(add_record()));
    return writer_.take();
  }

 private:
  uint64_t draw(uint64_t bound) {
    return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_);
  }
  bool coin() { return draw(2) == 0; }
  uint32_t device() { return static_cast<uint32_t>(draw(3)); }
  ValueId value() {
    return {1 + draw(coin() ? 10 : uint64_t{1} << 40), static_cast<uint32_t>(draw(1 << 16))};
  }
  std::vector<bool> bits(size_t count) {
    std::vector<bool> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = coin();
    return out;
  }
  Graph graph() {
    Graph graph;
    graph.inputs.resize(draw(9));
    graph.params = static_cast<uint32_t>(draw(5));
    graph.key = std::string(draw(20), static_cast<char>('a' + draw(26)));
    return graph;
  }
  RunBindings bindings(size_t inputs, size_t params, const RunBindings* before) {
    RunBindings run;
    window_ += draw(4);
    run.window = ++window_;
    for (size_t i = 0; i < inputs; ++i) {
      const uint64_t how = before == nullptr ? 2 : draw(3);
      if (how == 0) run.inputs.push_back(before->inputs[i]);
      if (how == 1) {
        const ValueId old = before->inputs[i];
        run.inputs.emplace_back((old.window() + run.window - before->window) & kMaxWindow,
                                old.index());
      }
      if (how == 2) run.inputs.push_back(value());
    }
    for (size_t i = 0; i < params; ++i) {
      run.params.push_back(before != nullptr && coin() ? before->params[i] : random_());
    }
    run.consumed = before != nullptr && coin() ? before->consumed : bits(inputs);
    return run;
  }

  Record add_record() {
    switch (draw(10)) {
      case 0:
        return add_define();
      case 1:
        return add_undefine();
      case 2: {
        const Graph body = graph();
        bodies_.push_back(body.key);
        OnceRecord once{device(), bits(draw(40)), bodies_.back(),
                        bindings(body.inputs.size(), body.params, nullptr)};
        writer_.once(once.device, once.live, body, once.run);
        return once;
      }
      case 3:
        return add_host_data();
      case 4: {
        const UploadRecord upload{value(), device(), Spec{DType::kI64, Shape{1 << 20, 3}}};
        writer_.upload(upload.value, upload.device, upload.spec);
        return upload;
      }
      case 5: {
        DropRecord drop{value().window(), static_cast<uint32_t>(draw(1 << 16)), 1};
        drop.count += static_cast<uint32_t>(draw((1 << 16) - drop.first));
        writer_.drop(drop.window, drop.first, drop.count);
        return drop;
      }
      case 6: {
        const ReadRecord read{random_(), value()};
        writer_.read(read.number, read.value);
        return read;
      }
      case 7: {
        const TransferRecord transfer{value(), value(), device()};
        writer_.transfer(transfer.value, transfer.source, transfer.device);
        return transfer;
      }
      case 8: {
        const SyncRecord sync{random_(), device()};
        writer_.sync(sync.number, sync.device);
        return sync;
      }
      default:
        return add_run();
    }
  }
  Record add_define() {
    const Graph body = graph();
    bodies_.push_back(body.key);
    const DefineRecord define{++graphs_,
                              device(),
                              bits(draw(40)),
                              bodies_.back(),
                              static_cast<uint32_t>(body.inputs.size()),
                              body.params};
    writer_.define(define.graph, define.device, define.live, body);
    live_graphs_.push_back({define.graph, body.inputs.size(), body.params, {}, false});
    return define;
  }
  Record add_undefine() {
    if (live_graphs_.empty()) return add_define();
    const size_t place = draw(live_graphs_.size());
    const UndefineRecord undefine{live_graphs_[place].number};
    live_graphs_.erase(live_graphs_.begin() + static_cast<ptrdiff_t>(place));
    writer_.undefine(undefine.graph);
    return undefine;
  }
  Record add_run() {
    if (live_graphs_.empty()) return add_define();
    Defined& graph = live_graphs_[draw(live_graphs_.size())];
    RunRecord run{graph.number,
                  bindings(graph.inputs, graph.params, graph.ran ? &graph.last : nullptr)};
    writer_.run(run.graph, run.run);
    graph.last = run.run;
    graph.ran = true;
    return run;
  }
  Record add_host_data() {
    const auto count = static_cast<int64_t>(draw(50));
    const Spec spec{DType::kU8, Shape{count}};
    bodies_.emplace_back(static_cast<size_t>(count), 'h');
    HostDataRecord record{value(), device(), spec, bodies_.back()};
    writer_.host_data(record.value, record.device,
                      HostData::copy_of(spec, std::as_bytes(std::span(bodies_.back()))));
    return record;
  }

  struct Defined {
    uint64_t number;
    size_t inputs;
    size_t params;
    RunBindings last;
    bool ran;
  };
  std::mt19937_64 random_;
  RecordWriter writer_;
  uint64_t window_ = 0;
  uint64_t graphs_ = 0;
  std::vector<Defined> live_graphs_;
  std::deque<std::string> bodies_;  // what the expected records point into
};

TEST(Records, decode_to_what_was_written) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    RandomSession session(seed);
    StreamMemory memory;
    for (int frame = 0; frame < 30; ++frame) {
      std::vector<std::string> expected;
      const std::string bytes = session.frame(expected);
      const auto decoded = decode(bytes, memory);
      ASSERT_TRUE(decoded.ok()) << decoded.status();
      ASSERT_EQ(*decoded, expected);
    }
  }
}

TEST(Records, cut_short_anywhere_give_a_prefix_or_an_error) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    RandomSession session(seed);
    StreamMemory before;
    size_t errors = 0;
    for (int frame = 0; frame < 10; ++frame) {
      std::vector<std::string> expected;
      const std::string bytes = session.frame(expected);
      for (size_t length = 0; length < bytes.size(); ++length) {
        StreamMemory memory = before;
        // An exact copy, so that a sanitizer sees a read past the end.
        const std::vector<char> exact(bytes.begin(),
                                      bytes.begin() + static_cast<ptrdiff_t>(length));
        const auto decoded = decode(std::string_view(exact.data(), exact.size()), memory);
        if (!decoded.ok()) {
          ++errors;
          continue;
        }
        ASSERT_LE(decoded->size(), expected.size());
        expected.resize(std::max(expected.size(), decoded->size()));
        ASSERT_TRUE(std::equal(decoded->begin(), decoded->end(), expected.begin()));
      }
      ASSERT_TRUE(decode(bytes, before).ok());
    }
    EXPECT_GT(errors, 0u);
  }
}

TEST(Records, changed_bytes_never_pass_a_limit) {
  size_t errors = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    RandomSession session(seed);
    std::mt19937_64 random(seed);
    StreamMemory memory;
    for (int frame = 0; frame < 10; ++frame) {
      std::vector<std::string> expected;
      const std::string bytes = session.frame(expected);
      for (int attempt = 0; attempt < 100; ++attempt) {
        StreamMemory changed_memory = memory;
        std::string changed = bytes;
        for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
          changed[random() % changed.size()] = static_cast<char>(random());
        }
        auto reader = RecordReader::open(changed, changed_memory);
        if (!reader.ok()) continue;
        for (;;) {
          auto record = reader->next();
          if (!record.ok()) ++errors;
          if (!record.ok() || !record->has_value()) break;
          if (const auto* once = std::get_if<OnceRecord>(&**record)) {
            // Explicit bindings cost bytes, so a small frame cannot make large ones.
            ASSERT_LE(once->run.inputs.size() + once->run.params.size(), changed.size());
            ASSERT_LE(once->live.size(), kMaxGraphOutputs);
          }
        }
        ASSERT_LE(changed_memory.bindings, kMaxSessionBindings);
      }
      ASSERT_TRUE(decode(bytes, memory).ok());
    }
  }
  EXPECT_GT(errors, 1000u);
}

/// A training step: 40 parameters and moments made by the step before, a batch from the host, two
/// changing params among ten.
RunBindings training_step(uint64_t step) {
  RunBindings run;
  run.window = 1000 + 3 * step;
  for (uint32_t i = 0; i < 40; ++i) run.inputs.emplace_back(run.window - 3, 500 + 7 * i);
  run.inputs.emplace_back(run.window - 2, 0);
  run.inputs.emplace_back(run.window - 1, 0);
  run.inputs.emplace_back(7, 0);
  run.params.assign(10, 0x3f50624dd2f1a9fcULL);
  run.params[3] = 0x3fe0000000000000ULL + step * 12345678901ULL;
  run.params[7] = 4096 * step;
  run.consumed.assign(run.inputs.size(), true);
  run.consumed.back() = false;
  return run;
}

TEST(Records, run_of_a_repeated_step_takes_at_most_64_bytes) {
  Graph body;
  body.inputs.resize(43);
  body.params = 10;
  RecordWriter writer;
  writer.define(1, 0, LiveSet(700, true), body);
  writer.run(1, training_step(1));
  (void)writer.take();
  for (uint64_t step = 2; step < 100; ++step) {
    writer.run(1, training_step(step));
    EXPECT_LE(writer.take().size(), 40u) << "step " << step;
  }
}

TEST(Records, once_of_one_small_op_takes_at_most_24_bytes_beside_its_body) {
  Graph body;
  body.inputs.resize(2);
  RecordWriter writer;
  writer.once(0, {true}, body, {5, {{3, 0}, {4, 0}}, {}, {false, false}});
  EXPECT_LE(writer.take().size(), 24u);
}

TEST(Records, drops_of_neighbours_become_one_record) {
  RecordWriter writer;
  std::vector<ValueId> values = {{9, 4}, {8, 1}, {9, 5}, {9, 3}, {9, 7}, {8, 0}};
  writer.drop_all(values);
  EXPECT_TRUE(values.empty());
  StreamMemory memory;
  const std::string frame = writer.take();
  EXPECT_EQ(*decode(frame, memory),
            (std::vector<std::string>{"drop 8.0+2", "drop 9.3+3", "drop 9.7+1"}));
}

/// The error of one frame made by `write` after the version byte.
absl::Status refusal(const std::function<void(std::string&)>& write, StreamMemory memory = {}) {
  std::string frame(1, static_cast<char>(kRecordsVersion));
  write(frame);
  return decode(frame, memory).status();
}

void append(std::string& out, RecordKind kind, std::initializer_list<uint64_t> fields) {
  out.push_back(static_cast<char>(kind));
  for (const uint64_t field : fields) dispatch::append_varint(out, field);
}

TEST(Records, unknown_graph_is_not_found) {
  const absl::Status run = refusal([](std::string& f) { append(f, RecordKind::kRun, {77, 2}); });
  EXPECT_EQ(run.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(run.message(), "run record: graph 77 is not defined");
  EXPECT_EQ(refusal([](std::string& f) { append(f, RecordKind::kUndefine, {77}); }).code(),
            absl::StatusCode::kNotFound);
}

TEST(Records, second_definition_of_a_number_already_exists) {
  const absl::Status status = refusal([](std::string& f) {
    append(f, RecordKind::kDefine, {5, 0, 0, 0, 0, 0});
    append(f, RecordKind::kDefine, {5, 0, 0, 0, 0, 0});
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
}

TEST(Records, definitions_over_the_table_are_refused) {
  StreamMemory full;
  for (uint64_t graph = 0; graph < kMaxSessionGraphs; ++graph) full.runs[graph] = {};
  const auto define = [](std::string& f) {
    append(f, RecordKind::kDefine, {kMaxSessionGraphs, 0, 0, 0, kMaxGraphInputs, 0});
  };
  EXPECT_EQ(refusal(define, full).code(), absl::StatusCode::kResourceExhausted);
  StreamMemory heavy;
  heavy.bindings = kMaxSessionBindings - kMaxGraphInputs + 1;
  EXPECT_EQ(refusal(define, heavy).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(refusal(define).ok());
}

TEST(Records, repeated_runs_of_a_frame_are_bounded_and_the_next_frame_begins_anew) {
  constexpr size_t kInputs = size_t{1} << 14;
  Graph graph;
  graph.inputs.resize(kInputs);
  RecordWriter writer;
  writer.define(1, 0, {}, graph);
  RunBindings run{0, std::vector<ValueId>(kInputs, ValueId(1, 0)), {}, {}};
  run.consumed.resize(kInputs);
  const auto add_runs = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ++run.window;
      writer.run(1, run);
    }
  };
  StreamMemory memory;
  const auto read = [&] { return decode(writer.take(), memory).status(); };
  add_runs(kMaxFrameBindings / kInputs);
  EXPECT_EQ(writer.frame_bindings(), kMaxFrameBindings);
  EXPECT_TRUE(read().ok());
  EXPECT_EQ(writer.frame_bindings(), 0u);
  add_runs(kMaxFrameBindings / kInputs);
  EXPECT_TRUE(read().ok());
  add_runs(kMaxFrameBindings / kInputs + 1);
  const absl::Status status = read();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find(std::to_string(kMaxFrameBindings + kInputs)),
            std::string::npos)
      << status;
}

TEST(Records, first_run_of_a_graph_must_be_explicit) {
  for (const uint64_t token : {uint64_t{1} << 2 | 0, uint64_t{1} << 2 | 1}) {
    const absl::Status status = refusal([&](std::string& f) {
      append(f, RecordKind::kDefine, {5, 0, 0, 0, 1, 0});
      append(f, RecordKind::kRun, {5, 2, token, 0, 0});
    });
    EXPECT_EQ(status.message(), "run record: input 0 refers to a run before the first");
  }
}

TEST(Records, what_is_malformed_is_refused_by_name) {
  const auto message = [](const std::function<void(std::string&)>& write) {
    return std::string(refusal(write).message());
  };
  EXPECT_EQ(message([](std::string& f) { f[0] = 9; }),
            "records of version 9; this build reads version 1");
  EXPECT_EQ(message([](std::string& f) { f += '\x63'; }),
            "record kind 99 is unknown to this build");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kDrop, {2, 65535, 2});
            }),
            "drop record: count is 2; at most 1 is right");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kDrop, {0, 0, 1});
            }),
            "drop record: window 0 lies outside 1 to 281474976710655");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kOnce, {0, 65537});
            }),
            "once record: live set size is 65537; at most 65536 is right");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kOnce, {0, 2, 3});
            }),
            "once record: live set has a run of 3 where 2 of 2 are left");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kOnce, {0, 0, 5});
            }),
            "once record: a body of 5 bytes where 0 are left");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kOnce, {0, 0, 0, 3, 0, 2, 1, 1});
            }),
            "once record: 3 inputs and 0 params do not fit the 2 bytes that are left");
  EXPECT_EQ(message([](std::string& f) {
              append(f, RecordKind::kHostData, {1, 0, 0});
              dispatch::append_spec(f, Spec{DType::kF32, Shape{16385}});
            }),
            "host data record: f32[16385] has 65540 bytes; at most 65536 travel inline");
  EXPECT_EQ(message([](std::string& f) {
              f.push_back(static_cast<char>(RecordKind::kRead));
              f += std::string("\x80\x00", 2);
            }),
            "read record: number is cut short or not minimal");
}

}  // namespace
}  // namespace remora::wire
