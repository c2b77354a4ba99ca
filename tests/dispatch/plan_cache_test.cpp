#include "dispatch/plan_cache.h"

#include "tests/dispatch/program.h"

namespace remora::test {
namespace {

using namespace dispatch;  // NOLINT(google-build-using-namespace)

/// neg(x) and exp(neg(x)) over `size` elements.
GraphPtr graph_of(int64_t size) {
  const Spec spec{DType::kF32, {size}};
  GraphBuilder builder;
  const Position x = Position::external(builder.add_input(spec));
  builder.add_op(op_info(OpCode::neg), {&x, 1}, NoAttrs{}, {&spec, 1});
  const Position first = Position::output(0);
  builder.add_op(op_info(OpCode::exp), {&first, 1}, NoAttrs{}, {&spec, 1});
  std::vector<uint64_t> params;
  return builder.finish(params);
}

class PlanCacheTest : public testing::Test {
 protected:
  const PreparedPlan* get(const GraphPtr& graph, const LiveSet& live) {
    const auto plan = cache_.get(graph, live);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *plan : nullptr;
  }
  InterpreterBackend backend_;
  PlanCache cache_{backend_, 3};
};

TEST_F(PlanCacheTest, same_bytes_and_live_set_hit) {
  const LiveSet live = {false, true};
  const PreparedPlan* first = get(graph_of(4), live);
  EXPECT_EQ(get(graph_of(4), live), first) << "another Graph object with the same key";
  EXPECT_EQ(cache_.hits(), 1u);
  EXPECT_EQ(cache_.misses(), 1u);
  get(graph_of(5), live);
  EXPECT_EQ(cache_.misses(), 2u);
  EXPECT_EQ(backend_.prepares(), 2u);
}

TEST_F(PlanCacheTest, a_superset_serves_once_then_the_exact_set_gets_its_plan) {
  const PreparedPlan* both = get(graph_of(4), {true, true});
  EXPECT_EQ(get(graph_of(4), {false, true}), both);
  EXPECT_EQ(cache_.misses(), 1u);
  const PreparedPlan* exact = get(graph_of(4), {false, true});
  EXPECT_NE(exact, both);
  EXPECT_EQ(exact->live, (LiveSet{false, true}));
  EXPECT_EQ(cache_.misses(), 2u);
  EXPECT_EQ(get(graph_of(4), {false, true}), exact);
  EXPECT_EQ(get(graph_of(4), {true, true}), both);
  EXPECT_EQ(cache_.misses(), 2u);
}

TEST_F(PlanCacheTest, a_subset_never_serves) {
  get(graph_of(4), {false, true});
  const PreparedPlan* plan = get(graph_of(4), {true, true});
  EXPECT_EQ(plan->live, (LiveSet{true, true}));
  EXPECT_EQ(cache_.misses(), 2u);
}

TEST_F(PlanCacheTest, least_recently_used_goes_first) {
  const LiveSet live = {true, true};
  get(graph_of(1), live);
  get(graph_of(2), live);
  get(graph_of(3), live);
  get(graph_of(1), live);  // 2 is now the oldest
  get(graph_of(4), live);
  EXPECT_EQ(cache_.misses(), 4u);
  get(graph_of(1), live);
  get(graph_of(3), live);
  get(graph_of(4), live);
  EXPECT_EQ(cache_.misses(), 4u);
  get(graph_of(2), live);
  EXPECT_EQ(cache_.misses(), 5u);
}

TEST_F(PlanCacheTest, clear_forgets) {
  get(graph_of(1), {true, true});
  cache_.clear();
  get(graph_of(1), {true, true});
  EXPECT_EQ(cache_.misses(), 2u);
}

}  // namespace
}  // namespace remora::test
