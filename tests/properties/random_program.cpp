#include "tests/properties/random_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "tests/support/generators.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

constexpr int64_t kMaxOps = 100;
constexpr int64_t kMaxElementsOfValue = 96;
constexpr int kRowsProposed = 6;
constexpr int kProposalsOfRow = 25;

/// Shapes that meet each other: broadcasting, products, images and weights.
const std::array<Shape, 16> kShapes = {{{},
                                        {3},
                                        {4},
                                        {3, 4},
                                        {4, 3},
                                        {3, 1},
                                        {1, 4},
                                        {4, 4},
                                        {2, 3, 4},
                                        {2, 4, 3},
                                        {1, 2, 4},
                                        {0, 4},
                                        {3, 0},
                                        {1, 2, 4, 4},
                                        {2, 2, 2, 2},
                                        {1, 2, 3, 3}}};
constexpr size_t kImageShapes = 3;  // the last ones: an image, a weight, what they give
constexpr std::array kDTypes = {DType::kF32, DType::kF32,  DType::kF32, DType::kI64,
                                DType::kI64, DType::kBool, DType::kF16, DType::kU8};

/// Attributes of each struct, right for an operand like `like` more often than not.
class AttrsProposal {
 public:
  AttrsProposal(Random& random, const Spec& like) : random_(random), like_(like) {}

  NoAttrs operator()(const NoAttrs&) { return {}; }
  FullAttrs operator()(const FullAttrs&) {
    return {dtype(), shape(),
            random_.chance(0.5) ? Scalar(random_.below(4)) : Scalar(random_.between(-2, 2))};
  }
  ArangeAttrs operator()(const ArangeAttrs&) {
    return {dtype(), random_.below(6), Scalar(random_.below(9) - 4), Scalar(random_.below(5) - 2)};
  }
  RandomAttrs operator()(const RandomAttrs&) {
    return {DType::kF32, shape(), random_.next(), random_.next()};
  }
  DTypeAttrs operator()(const DTypeAttrs&) { return {dtype()}; }
  ReduceAttrs operator()(const ReduceAttrs&) {
    ReduceAttrs attrs{{}, random_.chance(0.5)};
    for (int64_t axis = 0; axis < like_.shape.rank(); ++axis) {
      if (random_.chance(0.5)) attrs.axes.push_back(axis);
    }
    return attrs;
  }
  AxisAttrs operator()(const AxisAttrs&) { return {axis()}; }
  ArgReduceAttrs operator()(const ArgReduceAttrs&) { return {axis(), random_.chance(0.5)}; }
  ShapeAttrs operator()(const ShapeAttrs&) {
    return {random_.chance(0.3) ? Shape{like_.numel()} : shape()};
  }
  PermuteAttrs operator()(const PermuteAttrs&) {
    PermuteAttrs attrs;
    for (int64_t i = 0; i < like_.shape.rank(); ++i) {
      attrs.axes.insert(attrs.axes.begin() + random_.below(i + 1), i);
    }
    return attrs;
  }
  SliceAttrs operator()(const SliceAttrs&) {
    SliceAttrs attrs;
    for (const int64_t size : like_.shape.sizes()) {
      const int64_t step =
          std::array<int64_t, 4>{1, 1, 2, -1}[static_cast<size_t>(random_.below(4))];
      const int64_t count = size == 0 ? 0 : 1 + random_.below(step == 2 ? (size + 1) / 2 : size);
      attrs.steps.push_back(step);
      attrs.sizes.push_back(count);
      attrs.starts.push_back(step == -1 ? size - 1 : 0);
      if (random_.chance(0.02)) attrs.starts.back() += 1;  // reaches outside: an error when it runs
    }
    return attrs;
  }
  ConvAttrs operator()(const ConvAttrs&) {
    const int64_t stride = random_.chance(0.3) ? 2 : 1;
    const int64_t padding = random_.chance(0.3) ? 1 : 0;
    return {{1, stride}, {padding, 0}, {1, 1}, 1, random_.chance(0.6) ? image_shape() : Shape()};
  }
  PoolAttrs operator()(const PoolAttrs&) {
    return {{2, 2}, {1 + random_.below(2), 2}, {random_.below(2), 0}, {1, 1}, random_.chance(0.5)};
  }
  OrderAttrs operator()(const OrderAttrs&) { return {random_.below(4)}; }
  SortAttrs operator()(const SortAttrs&) { return {axis(), random_.chance(0.5)}; }
  ScatterAttrs operator()(const ScatterAttrs&) { return {axis(), random_.below(3)}; }
  TriangleAttrs operator()(const TriangleAttrs&) {
    return {random_.chance(0.5), random_.chance(0.5)};
  }
  FftAttrs operator()(const FftAttrs&) { return {random_.chance(0.5)}; }
  AttentionAttrs operator()(const AttentionAttrs&) { return {random_.chance(0.5), 0.5}; }
  FactorAttrs operator()(const FactorAttrs&) { return {random_.chance(0.3)}; }
  ToleranceAttrs operator()(const ToleranceAttrs&) { return {Scalar(1e-5)}; }

 private:
  DType dtype() { return kDTypes[static_cast<size_t>(random_.below(kDTypes.size()))]; }
  Shape shape() { return kShapes[static_cast<size_t>(random_.below(kShapes.size()))]; }
  Shape image_shape() {
    return kShapes[kShapes.size() - 1 - static_cast<size_t>(random_.below(kImageShapes))];
  }
  int64_t axis() { return random_.below(std::max<int64_t>(like_.shape.rank(), 1)); }

  Random& random_;
  const Spec& like_;
};

class Author {
 public:
  explicit Author(uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program write() {
    const int64_t ops = 1 + random_.below(kMaxOps);
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int i = 0; i < 3; ++i) upload(thread);
    }
    for (int64_t i = 0; i < ops; ++i) {
      const int thread = static_cast<int>(random_.below(kThreads));
      if (!propose_op(thread)) upload(thread);
      if (random_.chance(0.08)) upload(thread);
      if (random_.chance(0.35)) drop(thread);
      if (random_.chance(0.06)) read(thread);
      if (random_.chance(0.02)) program_.steps.push_back({Step::Kind::kFlush, thread});
    }
    for (int thread = 0; thread < kThreads; ++thread) read_what_is_left(thread);
    return std::move(program_);
  }

 private:
  uint32_t new_value(const Spec& spec, int maker) {
    program_.specs.push_back(spec);
    program_.makers.push_back(maker);
    program_.is_shared.push_back(false);
    const auto value = static_cast<uint32_t>(program_.specs.size() - 1);
    held_[maker].push_back(value);
    takeable_[1 - maker].push_back(value);
    return value;
  }

  void upload(int thread) {
    const DType dtype = kDTypes[static_cast<size_t>(random_.below(kDTypes.size()))];
    Input input = f32(kShapes[static_cast<size_t>(random_.below(kShapes.size()))]);
    input.spec.dtype = dtype;
    if (dtype == DType::kBool) input = boolean(input.spec.shape);
    if (is_integer(dtype)) input = i64(input.spec.shape, random_.chance(0.1) ? -2 : 0, 3);
    input.spec.dtype = dtype;
    Step step{Step::Kind::kUpload, thread};
    step.values = {new_value(input.spec, thread)};
    step.data = generate(input, random_.next());
    program_.steps.push_back(std::move(step));
  }

  /// A value this thread holds, or one of the other thread's that it never held.
  uint32_t pick(int thread) {
    std::vector<uint32_t>& others = takeable_[thread];
    if (!others.empty() && random_.chance(0.15)) {
      return others[static_cast<size_t>(random_.below(static_cast<int64_t>(others.size())))];
    }
    const std::vector<uint32_t>& mine = held_[thread];
    return mine[static_cast<size_t>(random_.below(static_cast<int64_t>(mine.size())))];
  }

  /// A value for an op over images where `of_image`, if there is one.
  uint32_t pick(int thread, bool of_image) {
    uint32_t value = pick(thread);
    for (int i = 0; i < 12 && of_image && program_.specs[value].shape.rank() != 4; ++i) {
      value = pick(thread);
    }
    return value;
  }

  bool propose_op(int thread) {
    const auto rows = catalogue();
    for (int row = 0; row < kRowsProposed && !held_[thread].empty(); ++row) {
      const OpInfo& info =
          rows[static_cast<size_t>(random_.below(static_cast<int64_t>(rows.size())))];
      for (int i = 0; i < kProposalsOfRow; ++i) {
        if (propose(thread, info)) return true;
      }
    }
    return false;
  }

  bool propose(int thread, const OpInfo& info) {
    const bool of_images = std::holds_alternative<ConvAttrs>(info.default_attrs) ||
                           std::holds_alternative<PoolAttrs>(info.default_attrs);
    if (std::holds_alternative<AttentionAttrs>(info.default_attrs)) {
      return propose_attention(thread, info);
    }
    const int64_t count = info.inputs == kVariadic ? 1 + random_.below(3) : info.inputs;
    std::vector<uint32_t> operands;
    std::vector<Spec> specs;
    for (int64_t k = 0; k < count; ++k) {
      operands.push_back(pick(thread, of_images));
      specs.push_back(program_.specs[operands.back()]);
    }
    const Spec like = specs.empty() ? Spec{} : specs[0];
    const Attrs attrs =
        std::visit([&](const auto& row) -> Attrs { return AttrsProposal(random_, like)(row); },
                   info.default_attrs);
    const auto outputs = infer(info, specs, attrs);
    if (!outputs.ok() || !is_small(*outputs)) return false;
    record(thread, info, attrs, std::move(operands), *outputs);
    return true;
  }

  /// Of one image: random operands hardly ever fit each other.
  bool propose_attention(int thread, const OpInfo& info) {
    const uint32_t image = pick(thread, true);
    std::vector<uint32_t> operands = {image, image, image};
    if (info.code == OpCode::attention_grad) {
      for (int i = 0; i < 2; ++i) {
        uint32_t sums = pick(thread);
        for (int k = 0; k < 12 && program_.specs[sums].shape.rank() != 3; ++k) sums = pick(thread);
        operands.insert(operands.begin(), sums);
      }
      operands.insert(operands.begin(), image);
    }
    if (random_.chance(0.3)) operands.push_back(image);  // as a mask
    std::vector<Spec> specs;
    for (const uint32_t operand : operands) specs.push_back(program_.specs[operand]);
    const AttentionAttrs attrs = AttrsProposal(random_, specs[0])(AttentionAttrs());
    const auto outputs = infer(info, specs, attrs);
    if (!outputs.ok() || !is_small(*outputs)) return false;
    record(thread, info, attrs, std::move(operands), *outputs);
    return true;
  }

  static bool is_small(const Specs& outputs) {
    return std::ranges::all_of(outputs, [](const Spec& spec) {
      return spec.numel() <= kMaxElementsOfValue &&
             std::ranges::find(kDTypes, spec.dtype) != kDTypes.end();
    });
  }

  void record(int thread, const OpInfo& info, const Attrs& attrs, std::vector<uint32_t> operands,
              const Specs& outputs) {
    for (const uint32_t operand : operands) take(thread, operand);
    Step step{Step::Kind::kOp, thread};
    step.info = &info;
    step.attrs = attrs;
    step.operands = std::move(operands);
    for (const Spec& spec : outputs) step.values.push_back(new_value(spec, thread));
    program_.steps.push_back(std::move(step));
  }

  /// The thread holds `value` from here on.
  void take(int thread, uint32_t value) {
    if (program_.makers[value] == thread || std::erase(takeable_[thread], value) == 0) return;
    program_.is_shared[value] = true;
    held_[thread].push_back(value);
  }

  void drop(int thread) {
    std::vector<uint32_t>& mine = held_[thread];
    if (mine.size() < 3) return;
    const auto at = mine.begin() + random_.below(static_cast<int64_t>(mine.size()));
    Step step{Step::Kind::kDrop, thread};
    step.values = {*at};
    mine.erase(at);
    program_.steps.push_back(std::move(step));
  }

  void read(int thread) {
    if (held_[thread].empty()) return;
    const uint32_t value = pick(thread);
    take(thread, value);
    add_read(thread, value);
  }

  void add_read(int thread, uint32_t value) {
    Step step{Step::Kind::kRead, thread};
    step.values = {value};
    program_.steps.push_back(std::move(step));
  }

  void read_what_is_left(int thread) {
    for (const uint32_t value : held_[thread]) {
      if (random_.chance(0.5)) add_read(thread, value);
    }
  }

  Random random_;
  Program program_;
  std::array<std::vector<uint32_t>, kThreads> held_;
  std::array<std::vector<uint32_t>, kThreads> takeable_;  // of the other thread, never held
};

}  // namespace

Program make_program(uint64_t seed) { return Author(seed).write(); }

std::string Program::str() const {
  std::ostringstream out;
  for (const Step& step : steps) {
    out << "thread " << step.thread << ": ";
    const std::string target = step.values.empty() ? "" : "v" + std::to_string(step.values[0]);
    switch (step.kind) {
      case Step::Kind::kUpload:
        out << target << " = host " << specs[step.values[0]].str();
        break;
      case Step::Kind::kDrop:
        out << "drop " << target;
        break;
      case Step::Kind::kRead:
        out << "read " << target;
        break;
      case Step::Kind::kFlush:
        out << "flush";
        break;
      case Step::Kind::kOp:
        out << target << " = " << step.info->name << "(";
        for (const uint32_t operand : step.operands) out << " v" << operand;
        out << "; " << attrs_str(step.attrs) << " ) : " << specs[step.values[0]].str();
        break;
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace remora::test
