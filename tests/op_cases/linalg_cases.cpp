// Factorisations and solvers: well-conditioned matrices, batches, edges without rows or columns.
#include "tests/op_cases/op_case.h"

namespace remora::test {
namespace {

using dispatch::FactorAttrs;
using dispatch::ToleranceAttrs;
using dispatch::TriangleAttrs;

void add_solvers(OpCases& cases) {
  cases.push_back({"cholesky", "batched", {symmetric({2, 4, 4})}});
  cases.push_back({"cholesky", "one by one", {symmetric({1, 1, 1})}});
  cases.push_back({"cholesky", "beyond a block", {symmetric({1, 90, 90})}});
  cases.push_back({"cholesky", "no batch", {symmetric({0, 3, 3})}});
  cases.push_back({"cholesky", "no rows", {symmetric({2, 0, 0})}});
  for (const bool upper : {false, true}) {
    for (const bool unit : {false, true}) {
      const std::string name =
          std::string(upper ? "upper" : "lower") + (unit ? ", unit diagonal" : "");
      const TriangleAttrs attrs{upper, unit};
      cases.push_back({"solve_triangular", name, {matrix({4, 4}), f32({4, 3})}, attrs});
      cases.push_back(
          {"solve_triangular", name + ", batched", {matrix({2, 3, 3}), f32({2, 3, 2})}, attrs});
    }
  }
  cases.push_back({"solve_triangular", "no sides", {matrix({3, 3}), f32({3, 0})}, TriangleAttrs{}});
  cases.push_back({"solve_triangular", "no rows", {matrix({0, 0}), f32({0, 2})}, TriangleAttrs{}});
  cases.push_back({"lu_factor", "batched", {f32({2, 4, 4})}});
  cases.push_back({"lu_factor", "matrix", {matrix({3, 3})}});
  cases.push_back({"lu_factor", "beyond a block", {matrix({90, 90})}});
  cases.push_back({"lu_factor", "no rows", {matrix({2, 0, 0})}});
  cases.push_back({"solve", "batched", {matrix({2, 4, 4}), f32({2, 4, 3})}});
  cases.push_back({"solve", "pivoting", {listed({1, 2, 2}, {0, 1, 2, 3}), f32({1, 2, 2})}});
  cases.push_back({"solve", "beyond a block", {matrix({1, 90, 90}), f32({1, 90, 5})}});
  cases.push_back({"solve", "no sides", {matrix({1, 3, 3}), f32({1, 3, 0})}});
  cases.push_back({"solve", "no rows", {matrix({2, 0, 0}), f32({2, 0, 2})}});
  cases.push_back({"det", "batched", {f32({2, 3, 3})}});
  cases.push_back({"det", "matrix", {matrix({4, 4})}});
  cases.push_back({"det", "singular", {listed({2, 2}, {1, 2, 2, 4})}});
  cases.push_back({"det", "no rows", {matrix({2, 0, 0})}});
}

void add_factorisations(OpCases& cases) {
  for (const bool full : {false, true}) {
    const std::string suffix = full ? ", full" : "";
    const FactorAttrs attrs{full};
    if (!full) {  // a full one has no gradient
      cases.push_back({"qr", "tall", {matrix({2, 5, 3})}, attrs});
    } else {
      cases.push_back({"qr", "tall, full", {listed({3, 2}, {1, 2, 0.5, -1, 3, 0.25})}, attrs});
    }
    cases.push_back({"qr", "square" + suffix, {f32({3, 3})}, attrs});
    cases.push_back({"qr", "wide" + suffix, {matrix({2, 2, 4})}, attrs});
    cases.push_back({"qr", "no columns" + suffix, {f32({3, 0})}, attrs});
    cases.push_back({"qr", "no rows" + suffix, {f32({0, 3})}, attrs});
    cases.push_back({"svd", "square" + suffix, {matrix({2, 3, 3})}, attrs});
    cases.push_back({"svd",
                     "tall" + suffix,
                     {full ? listed({3, 2}, {3, 0.5, -1, 1, 0.25, 2}) : matrix({2, 5, 3})},
                     attrs});
    cases.push_back({"svd",
                     "wide" + suffix,
                     {full ? listed({2, 3}, {3, 0.5, -1, 1, 0.25, 2}) : matrix({2, 3, 5})},
                     attrs});
    cases.push_back({"svd", "no rows" + suffix, {f32({0, 3})}, attrs});
    cases.push_back({"svd", "no batch" + suffix, {f32({0, 3, 2})}, attrs});
  }
  cases.push_back({"qr", "beyond a block", {matrix({90, 70})}, FactorAttrs{}});
  cases.push_back({"eigh", "batched", {symmetric({2, 4, 4})}});
  cases.push_back({"eigh", "one by one", {symmetric({1, 1})}});
  cases.push_back({"eigh", "larger", {symmetric({13, 13})}});
  cases.push_back({"eigh", "no rows", {symmetric({2, 0, 0})}});
  cases.push_back({"pinv", "tall", {matrix({2, 5, 3})}, ToleranceAttrs{Scalar(1e-6)}});
  cases.push_back({"pinv", "wide", {matrix({3, 5})}, ToleranceAttrs{Scalar(1e-6)}});
  cases.push_back(
      {"pinv", "cut off", {listed({2, 2}, {3, 0.5, 0.25, 1})}, ToleranceAttrs{Scalar(0.5)}});
  cases.push_back({"pinv", "no columns", {f32({3, 0})}, ToleranceAttrs{Scalar(1e-6)}});
}

}  // namespace

void add_linalg_cases(OpCases& cases) {
  add_solvers(cases);
  add_factorisations(cases);
}

}  // namespace remora::test
