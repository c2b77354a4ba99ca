#include "tests/client/device.h"

namespace remora {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

const std::vector<int64_t> kSix = {1, 2, 3, 4, 5, 6};

TEST(einsum, contracts_transposes_and_takes_diagonals) {
  const Tensor a = integers(kSix, {2, 3});
  const Tensor b = integers(kSix, {3, 2});
  expect_integers(einsum("ij,jk->ik", {a, b}), {22, 28, 49, 64}, {2, 2});
  expect_integers(einsum("ij->ji", {a}), {1, 4, 2, 5, 3, 6}, {3, 2});
  expect_integers(einsum("ij->", {a}), {21}, {});
  expect_integers(einsum("ii->i", {einsum("ij,jk->ik", {a, b})}), {22, 64}, {2});
  expect_integers(einsum("ii", {einsum("ij,jk->ik", {a, b})}), {86}, {});
  expect_integers(einsum("iii->i", {integers({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2})}), {1, 8}, {2});
}

TEST(einsum, without_an_arrow_the_result_is_alphabetical) {
  const Tensor a = integers(kSix, {2, 3});
  expect_integers(einsum("ba", {a}), {1, 4, 2, 5, 3, 6}, {3, 2});
  expect_integers(einsum(" k j , i k ", {integers({1, 2}, {1, 2}), integers({3}, {1, 1})}), {3, 6},
                  {1, 2});
}

TEST(einsum, the_ellipsis_broadcasts) {
  const Tensor a = integers(kSix, {1, 2, 3});
  const Tensor b = integers({1, 10}, {2, 1, 1});
  expect_integers(einsum("...ij,...jk->...ik", {a, integers({1, 1, 1, 2, 2, 2}, {2, 3, 1})}),
                  {6, 15, 12, 30}, {2, 2, 1});
  expect_integers(einsum("...,...->...", {a, b}), {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60},
                  {2, 2, 3});
}

TEST(einsum, three_operands_equal_two_steps) {
  const Tensor a = floats({1, 2, 3, 4}, {2, 2});
  const Tensor b = floats({0.5, -1, 2, 0}, {2, 2});
  const Tensor c = floats({1, 1, -2, 3}, {2, 2});
  const Tensor chain = matmul(matmul(a, b), c);
  expect_floats(einsum("ij,jk,kl->il", {a, b, c}), chain.to_vector<float>(), {2, 2});
}

TEST(einsum, equations_that_do_not_fit_are_refused_with_the_equation) {
  const Tensor a = integers(kSix, {2, 3});
  for (const char* equation :
       {"ij,jk", "i", "ijk", "ij->k", "ij->ii", "i1", "i,j->", "ij->i->j", "......", ""}) {
    expect_error(kInvalid, "einsum", [&] { einsum(equation, {a}); });
  }
  expect_error(kInvalid, "ij,ij", [&] { einsum("ij,ij->", {a, integers(kSix, {3, 2})}); });
  expect_error(kInvalid, "ii", [&] { einsum("ii", {a}); });
  expect_error(kInvalid, "einsum", [] { einsum("", {}); });
}

TEST(products, cross_needs_two_vectors_of_three) {
  expect_integers(cross(integers({1, 0, 0}, {3}), integers({0, 1, 0}, {3})), {0, 0, 1}, {3});
  expect_error(kInvalid, "size 3", [] { cross(integers({1, 0}, {2}), integers({0, 1}, {2})); });
  expect_error(kInvalid, "ranks differ", [] {
    cross(integers({1, 0, 0}, {3}), integers({0, 1, 0}, {1, 3}));
  });
}

TEST(products, vander_and_cdist) {
  expect_integers(vander(integers({2, 3}, {2}), 3), {1, 2, 4, 1, 3, 9}, {2, 3});
  expect_floats(cdist(floats({0, 0, 3, 4}, {2, 2}), floats({0, 0}, {1, 2})), {0, 5}, {2, 1});
  expect_error(kInvalid, "cdist", [] { cdist(floats({1}, {1}), floats({1}, {1})); });
}

}  // namespace
}  // namespace remora
