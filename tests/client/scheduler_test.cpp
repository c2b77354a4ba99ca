// Schedulers against PyTorch's rates; a rate that changes at every step never changes a plan.
#include <memory>
#include <numeric>

#include "dispatch/device_state.h"
#include "tests/client/vectors.h"
#if REMORA_CPU && REMORA_REMOTE
#include "tests/support/worker_process.h"
#endif

namespace remora {
namespace {

using optim::Optimizer;
using optim::Scheduler;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

nn::Parameter scalar_parameter() {
  nn::Parameter made({1}, [](const Device& device) { return zeros({1}, device); });
  made.to(tracked_device());
  return made;
}

std::shared_ptr<Scheduler> one_cycle(Optimizer& o, const optim::OneCycleOptions& options) {
  return std::make_shared<optim::OneCycleLR>(o, 0.4, 30, options);
}

std::shared_ptr<Scheduler> make_scheduler(const std::string& name, Optimizer& o) {
  using optim::OneCycleOptions;
  if (name == "StepLR") return std::make_shared<optim::StepLR>(o, 4, 0.5);
  if (name == "MultiStepLR") {
    return std::make_shared<optim::MultiStepLR>(o, std::vector<int64_t>{20, 3, 9, 9}, 0.3);
  }
  if (name == "ExponentialLR") return std::make_shared<optim::ExponentialLR>(o, 0.9);
  if (name == "CosineAnnealingLR") return std::make_shared<optim::CosineAnnealingLR>(o, 12, 0.01);
  if (name == "LinearLR") return std::make_shared<optim::LinearLR>(o);
  if (name == "LinearLR to 0.25") return std::make_shared<optim::LinearLR>(o, 1.0, 0.25, 11);
  if (name == "LambdaLR") {
    return std::make_shared<optim::LambdaLR>(
        o, [](int64_t count) { return 1.0 / (1.0 + static_cast<double>(count)); });
  }
  if (name == "OneCycleLR") return one_cycle(o, {});
  if (name == "OneCycleLR linear") {
    return one_cycle(o, {.warm_up = 0.4,
                         .anneal = OneCycleOptions::Anneal::kLinear,
                         .div_factor = 10,
                         .final_div_factor = 100});
  }
  if (name == "OneCycleLR three phases") return one_cycle(o, {.three_phases = true});
  if (name == "SequentialLR") {
    std::vector<std::shared_ptr<Scheduler>> parts = {
        std::make_shared<optim::LinearLR>(o, 0.1, 1.0, 5),
        std::make_shared<optim::CosineAnnealingLR>(o, 20),
        std::make_shared<optim::ExponentialLR>(o, 0.8)};
    return std::make_shared<optim::SequentialLR>(o, parts, std::vector<int64_t>{5, 22});
  }
  return nullptr;
}

TEST(scheduler, rates_and_momenta_are_those_of_pytorch) {
  size_t compared = 0;
  for (const Json& expected : read_vectors("schedulers.json")) {
    const std::string name = expected["scheduler"];
    if (expected.contains("metrics")) continue;
    SCOPED_TRACE(name);
    optim::SGD optimizer({scalar_parameter()}, {.learning_rate = 0.2, .momentum = 0.9});
    const std::shared_ptr<Scheduler> scheduler = make_scheduler(name, optimizer);
    ASSERT_NE(scheduler, nullptr);
    for (size_t step = 0; step < expected["rates"].size(); ++step) {
      const double rate = expected["rates"][step];
      EXPECT_NEAR(optimizer.learning_rate(), rate, 1e-12 + 1e-9 * rate) << "step " << step;
      EXPECT_NEAR(optimizer.option("momentum"), expected["momenta"][step].get<double>(), 1e-9);
      scheduler->step();
    }
    ++compared;
  }
  EXPECT_EQ(compared, 11U);
}

TEST(scheduler, plateau_reduces_when_pytorch_does) {
  using Options = optim::PlateauOptions;
  const std::vector<std::pair<std::string, Options>> cases = {
      {"ReduceLROnPlateau", {.patience = 2}},
      {"ReduceLROnPlateau max",
       {.mode = Options::Mode::kMax,
        .factor = 0.5,
        .patience = 1,
        .threshold = 0.01,
        .threshold_mode = Options::Threshold::kAbsolute,
        .cooldown = 2,
        .lowest = 0.03}}};
  for (const auto& [name, options] : cases) {
    SCOPED_TRACE(name);
    const Json vectors = read_vectors("schedulers.json");
    const auto expected =
        std::find_if(vectors.begin(), vectors.end(),
                     [&, &name = name](const Json& entry) { return entry["scheduler"] == name; });
    ASSERT_NE(expected, vectors.end());
    optim::SGD optimizer({scalar_parameter()}, {.learning_rate = 0.2});
    auto scheduler = std::make_unique<optim::ReduceLROnPlateau>(optimizer, options);
    for (size_t step = 0; step < (*expected)["metrics"].size(); ++step) {
      if (step == 11) {  // a state that was saved goes on as it was
        const auto saved = scheduler->state_dict();
        scheduler = std::make_unique<optim::ReduceLROnPlateau>(optimizer, options);
        scheduler->load_state_dict(saved);
      }
      scheduler->step((*expected)["metrics"][step]);
      EXPECT_NEAR(optimizer.learning_rate(), (*expected)["rates"][step].get<double>(), 1e-12)
          << "step " << step;
    }
  }
}

TEST(scheduler, each_group_keeps_its_own_rate) {
  optim::SGD optimizer({scalar_parameter()}, {.learning_rate = 0.2});
  optimizer.add_group({scalar_parameter()}, {.learning_rate = 0.02});
  optim::ExponentialLR scheduler(optimizer, 0.5);
  scheduler.step();
  scheduler.step();
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(0), 0.05);
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(1), 0.005);
  optim::LambdaLR own(optimizer, {[](int64_t) { return 1.0; }, [](int64_t) { return 3.0; }});
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(0), 0.2);
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(1), 0.06);
}

TEST(scheduler, a_saved_state_goes_on_where_it_stood) {
  optim::SGD first({scalar_parameter()}, {.learning_rate = 0.2});
  optim::CosineAnnealingLR before(first, 10);
  for (int i = 0; i < 4; ++i) before.step();
  optim::SGD second({scalar_parameter()}, {.learning_rate = 0.7});
  second.load_state_dict(first.state_dict());
  optim::CosineAnnealingLR after(second, 10);
  after.load_state_dict(before.state_dict());
  EXPECT_EQ(second.learning_rate(), first.learning_rate());
  before.step();
  after.step();
  EXPECT_EQ(second.learning_rate(), first.learning_rate());
  expect_error(kInvalid, "last_epoch", [&] { after.load_state_dict({{"epoch", 1.0}}); });
  expect_error(kInvalid, "counts steps", [&] { after.load_state_dict({{"last_epoch", -1.0}}); });
}

TEST(scheduler, options_are_checked) {
  optim::SGD optimizer({scalar_parameter()}, {.learning_rate = 0.2});
  optim::SGD other({scalar_parameter()}, {.learning_rate = 0.2});
  expect_error(kInvalid, "step_size is 0", [&] { optim::StepLR(optimizer, 0); });
  expect_error(kInvalid, "start_factor is 0", [&] { optim::LinearLR(optimizer, 0.0); });
  expect_error(kInvalid, "half_period", [&] { optim::CosineAnnealingLR(optimizer, 0); });
  expect_error(kInvalid, "total_steps", [&] { optim::OneCycleLR(optimizer, 0.1, 0); });
  expect_error(kInvalid, "factor is 1",
               [&] { optim::ReduceLROnPlateau(optimizer, {.factor = 1.0}); });
  optim::Adagrad adagrad({scalar_parameter()});
  expect_error(kInvalid, "no momentum to cycle", [&] { optim::OneCycleLR(adagrad, 0.1, 10); });
  expect_error(kInvalid, "another optimizer", [&] {
    const auto foreign = std::make_shared<optim::LinearLR>(other);
    optim::SequentialLR(optimizer, {foreign}, {});
  });
  expect_error(kInvalid, "one milestone between any two", [&] {
    const auto own = std::make_shared<optim::LinearLR>(optimizer);
    optim::SequentialLR(optimizer, {own}, {3});
  });
  optim::OneCycleLR cycle(optimizer, 0.1, 3, {.cycle_momentum = false});
  for (int i = 0; i < 3; ++i) cycle.step();
  expect_error(absl::StatusCode::kFailedPrecondition, "cycle of 3 steps", [&] { cycle.step(); });
}

/// Plan misses and windows of a run whose rates, momenta and clipping bound change at every step.
void expect_no_plan_changes(const Device& device) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  model.to(device.autodiff());
  const std::vector<nn::Parameter> all = model.parameters();
  optim::Adam optimizer({all[0], all[1]}, {.learning_rate = 1e-2});
  // Rates that are equal at some steps and differ at others.
  optimizer.add_group({all[2], all[3]}, {.learning_rate = 1e-2});
  std::vector<std::shared_ptr<Scheduler>> parts = {
      std::make_shared<optim::LinearLR>(optimizer, 0.1, 1.0, 8),
      std::make_shared<optim::LambdaLR>(
          optimizer, std::vector<optim::LambdaLR::Factor>{
                         [](int64_t count) { return 1.0 / static_cast<double>(count + 1); },
                         [](int64_t count) {
                           return count % 2 == 0 ? 1.0 / static_cast<double>(count + 1) : 1e-3;
                         }})};
  optim::SequentialLR schedule(optimizer, parts, {8});
  const Tensor x = uniform({16, 4}, device.autodiff());
  const Tensor target = (sum(x, 1) > 2.0).astype(DType::kI64);
  x.to_vector<float>();
  target.to_vector<int64_t>();
  dispatch::DeviceState& state = device.state();
  dispatch::DeviceStats before;
  constexpr int kWarmUp = 4;
  constexpr int kSteps = 20;
  std::vector<double> rates;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp) before = state.stats();
    const Tensor loss = cross_entropy(model(x), target);
    loss.backward();
    const Tensor norm = nn::clip_grad_norm(all, 0.5 + 0.01 * step);
    optimizer.step();
    optimizer.zero_grad();
    rates.push_back(optimizer.learning_rate(1));
    schedule.step();
    loss.item<float>();
  }
  std::sort(rates.begin(), rates.end());
  EXPECT_GT(std::unique(rates.begin(), rates.end()) - rates.begin(), 12);
  const dispatch::DeviceStats after = state.stats();
  EXPECT_EQ(after.plan_misses, before.plan_misses);
  EXPECT_EQ(after.windows - before.windows, static_cast<uint64_t>(kSteps));
  EXPECT_EQ(after.wire.graphs_defined, before.wire.graphs_defined);
}

TEST(scheduler, a_rate_that_changes_every_step_changes_no_plan) {
  expect_no_plan_changes(test_device());
}

#if REMORA_CPU && REMORA_REMOTE
TEST(scheduler, a_rate_that_changes_every_step_changes_no_plan_on_a_worker) {
  test::WorkerProcess worker;
  expect_no_plan_changes(Device::parse(worker.device()));
}
#endif

}  // namespace
}  // namespace remora
