// Factorisations and solvers, matrix by matrix, by the textbook's methods in f64.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dispatch/op.h"
#include "tests/reference/reference.h"

namespace remora::reference {
namespace {

/// A dense matrix.
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<double> elements;
  Dense(int64_t rows_in, int64_t columns_in)
      : rows(rows_in),
        columns(columns_in),
        elements(static_cast<size_t>(rows_in * columns_in), 0.0) {}
  double& operator()(int64_t i, int64_t j) {
    return elements[static_cast<size_t>(i * columns + j)];
  }
  double operator()(int64_t i, int64_t j) const {
    return elements[static_cast<size_t>(i * columns + j)];
  }
};

Dense identity(int64_t n) {
  Dense result(n, n);
  for (int64_t i = 0; i < n; ++i) result(i, i) = 1.0;
  return result;
}
Dense transposed(const Dense& a) {
  Dense result(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}
Dense product(const Dense& a, const Dense& b) {
  Dense result(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}
Dense symmetric_part(const Dense& a) {
  Dense result = a;
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) result(i, j) = (a(i, j) + a(j, i)) / 2;
  }
  return result;
}

Dense cholesky(const Dense& a) {
  Dense l(a.rows, a.rows);
  for (int64_t j = 0; j < a.rows; ++j) {
    for (int64_t i = j; i < a.rows; ++i) {
      double rest = a(i, j);
      for (int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
      l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
    }
  }
  return l;
}

Dense solve_triangle(const Dense& a, const Dense& b, bool upper, bool unit) {
  Dense x = b;
  for (int64_t column = 0; column < b.columns; ++column) {
    for (int64_t step = 0; step < a.rows; ++step) {
      const int64_t i = upper ? a.rows - 1 - step : step;
      double rest = b(i, column);
      for (int64_t k = upper ? i + 1 : 0; k < (upper ? a.rows : i); ++k)
        rest -= a(i, k) * x(k, column);
      x(i, column) = unit ? rest : rest / a(i, i);
    }
  }
  return x;
}

struct Lu {
  Dense factors;
  std::vector<int64_t> order;
  double parity = 1.0;
};
Lu factor(const Dense& a) {
  Lu lu{a, std::vector<int64_t>(static_cast<size_t>(a.rows))};
  std::iota(lu.order.begin(), lu.order.end(), int64_t{0});
  Dense& f = lu.factors;
  for (int64_t j = 0; j < a.rows; ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (std::fabs(f(i, j)) > std::fabs(f(pivot, j))) pivot = i;
    }
    if (pivot != j) {
      for (int64_t k = 0; k < a.rows; ++k) std::swap(f(j, k), f(pivot, k));
      std::swap(lu.order[static_cast<size_t>(j)], lu.order[static_cast<size_t>(pivot)]);
      lu.parity = -lu.parity;
    }
    for (int64_t i = j + 1; i < a.rows; ++i) {
      f(i, j) /= f(j, j);
      for (int64_t k = j + 1; k < a.rows; ++k) f(i, k) -= f(i, j) * f(j, k);
    }
  }
  return lu;
}

Dense solve(const Dense& a, const Dense& b) {
  const Lu lu = factor(a);
  Dense moved = b;
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) moved(i, j) = b(lu.order[static_cast<size_t>(i)], j);
  }
  return solve_triangle(lu.factors, solve_triangle(lu.factors, moved, false, true), true, false);
}

/// Householder reflections as LAPACK takes them: none where nothing lies below the diagonal.
void householder(const Dense& a, int64_t width, Dense& q, Dense& r) {
  Dense all = identity(a.rows);
  Dense rest = a;
  for (int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    double below = 0.0;
    for (int64_t i = j + 1; i < a.rows; ++i) below += rest(i, j) * rest(i, j);
    if (below == 0.0) continue;
    std::vector<double> v(static_cast<size_t>(a.rows), 0.0);
    const double norm = std::sqrt(rest(j, j) * rest(j, j) + below);
    for (int64_t i = j; i < a.rows; ++i) v[static_cast<size_t>(i)] = rest(i, j);
    v[static_cast<size_t>(j)] += rest(j, j) >= 0 ? norm : -norm;
    double square = 0.0;
    for (const double element : v) square += element * element;
    Dense mirror = identity(a.rows);
    for (int64_t i = 0; i < a.rows; ++i) {
      for (int64_t k = 0; k < a.rows; ++k) {
        mirror(i, k) -= 2.0 * v[static_cast<size_t>(i)] * v[static_cast<size_t>(k)] / square;
      }
    }
    rest = product(mirror, rest);
    all = product(all, mirror);
  }
  q = Dense(a.rows, width);
  r = Dense(width, a.columns);
  for (int64_t j = 0; j < width; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) q(i, j) = all(i, j);
    for (int64_t k = j; k < a.columns; ++k) r(j, k) = rest(j, k);
  }
}

/// Jacobi's rotations until nothing is left off the diagonal; ascending.
void eigen(Dense a, std::vector<double>& values, Dense& vectors) {
  const int64_t n = a.rows;
  Dense v = identity(n);
  bool turned = true;
  for (int sweep = 0; turned && sweep < 60; ++sweep) {
    turned = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        if (std::fabs(a(p, q)) <= 1e-17 * (std::fabs(a(p, p)) + std::fabs(a(q, q)))) continue;
        turned = true;
        const double angle = 0.5 * std::atan2(2.0 * a(p, q), a(q, q) - a(p, p));
        Dense turn = identity(n);
        turn(p, p) = turn(q, q) = std::cos(angle);
        turn(p, q) = std::sin(angle);
        turn(q, p) = -std::sin(angle);
        a = product(product(transposed(turn), a), turn);
        v = product(v, turn);
      }
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::sort(order, [&](int64_t i, int64_t j) { return a(i, i) < a(j, j); });
  vectors = Dense(n, n);
  values.clear();
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[static_cast<size_t>(j)];
    values.push_back(a(from, from));
    for (int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
  }
}

/// True if the first element of largest magnitude of column j is negative.
bool points_down(const Dense& a, int64_t j) {
  int64_t best = 0;
  for (int64_t i = 1; i < a.rows; ++i) {
    if (std::fabs(a(i, j)) > std::fabs(a(best, j))) best = i;
  }
  return a.rows > 0 && a(best, j) < 0;
}

void flip_column(Dense& a, int64_t j) {
  for (int64_t i = 0; i < a.rows; ++i) a(i, j) = -a(i, j);
}

struct Svd {
  Dense u, v;  // columns
  std::vector<double> s;
};

/// From the eigenvectors of the smaller of x x^T and x^T x; singular values are well above 0.
Svd singular(const Dense& x) {
  if (x.rows < x.columns) {
    Svd turned = singular(transposed(x));
    std::swap(turned.u, turned.v);
    for (int64_t j = 0; j < turned.u.columns; ++j) {
      if (!points_down(turned.u, j)) continue;
      flip_column(turned.u, j);
      flip_column(turned.v, j);
    }
    return turned;
  }
  std::vector<double> squares;
  Dense vectors(0, 0);
  eigen(product(transposed(x), x), squares, vectors);
  const int64_t n = x.columns;
  Svd result{Dense(x.rows, n), Dense(n, n), {}};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = n - 1 - j;
    for (int64_t i = 0; i < n; ++i) result.v(i, j) = vectors(i, from);
    result.s.push_back(std::sqrt(std::max(0.0, squares[static_cast<size_t>(from)])));
  }
  result.u = product(x, result.v);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < x.rows; ++i) result.u(i, j) /= result.s[static_cast<size_t>(j)];
    if (!points_down(result.u, j)) continue;
    flip_column(result.u, j);
    flip_column(result.v, j);
  }
  return result;
}

/// Columns added until the matrix is square, orthogonal to all before them.
Dense completed(const Dense& a) {
  Dense result(a.rows, a.rows);
  int64_t count = 0;
  const auto append = [&](std::vector<double> column) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < count; ++j) {
        double along = 0.0;
        for (int64_t i = 0; i < a.rows; ++i) along += result(i, j) * column[static_cast<size_t>(i)];
        for (int64_t i = 0; i < a.rows; ++i) column[static_cast<size_t>(i)] -= along * result(i, j);
      }
    }
    double square = 0.0;
    for (const double element : column) square += element * element;
    if (square < 1e-3) return;
    for (int64_t i = 0; i < a.rows; ++i) {
      result(i, count) = column[static_cast<size_t>(i)] / std::sqrt(square);
    }
    ++count;
  };
  for (int64_t j = 0; j < a.columns; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, j);
  }
  count = a.columns;
  for (int64_t unit = 0; unit < a.rows && count < a.rows; ++unit) {
    std::vector<double> column(static_cast<size_t>(a.rows), 0.0);
    column[static_cast<size_t>(unit)] = 1.0;
    append(std::move(column));
    if (count > a.columns && points_down(result, count - 1)) flip_column(result, count - 1);
  }
  return result;
}

/// The matrices of an operand, and a result's array filled matrix by matrix.
Dense matrix_of(const Array& x, int64_t which) {
  Dense result(x.spec.shape[x.rank() - 2], x.spec.shape[x.rank() - 1]);
  const auto size = static_cast<int64_t>(result.elements.size());
  std::copy_n(x.reals.begin() + which * size, size, result.elements.begin());
  return result;
}
int64_t count_of(const Array& x) {
  int64_t count = 1;
  for (int64_t axis = 0; axis + 2 < x.rank(); ++axis) count *= x.spec.shape[axis];
  return count;
}
void append(Array& array, const std::vector<double>& values) {
  array.reals.insert(array.reals.end(), values.begin(), values.end());
}
void append(Array& array, const std::vector<int64_t>& values) {
  array.integers.insert(array.integers.end(), values.begin(), values.end());
}

/// Runs `one(matrices, results)` for each matrix of the batch; results are appended in order. Their
/// Specs are the op's.
template <typename One>
Function batched(const char* op, One one) {
  return [=](const Arrays& inputs, const dispatch::Attrs& attrs) {
    std::vector<Spec> specs;
    for (const Array& input : inputs) specs.push_back(input.spec);
    Arrays results;
    const dispatch::Specs outputs = dispatch::infer(*dispatch::find_op(op), specs, attrs).value();
    for (const Spec& spec : outputs) {
      results.emplace_back(spec);
      results.back().reals.clear();
      results.back().integers.clear();
    }
    for (int64_t which = 0; which < count_of(inputs[0]); ++which) {
      std::vector<Dense> matrices;
      for (const Array& input : inputs) matrices.push_back(matrix_of(input, which));
      one(matrices, attrs, results);
    }
    return results;
  };
}

using Matrices = std::vector<Dense>;

void add_solvers(Table& t) {
  t["cholesky"] = batched("cholesky", [](const Matrices& m, const dispatch::Attrs&, Arrays& out) {
    append(out[0], cholesky(symmetric_part(m[0])).elements);
  });
  t["solve_triangular"] =
      batched("solve_triangular", [](const Matrices& m, const dispatch::Attrs& attrs, Arrays& out) {
        const auto& [upper, unit] = std::get<dispatch::TriangleAttrs>(attrs);
        append(out[0], solve_triangle(m[0], m[1], upper, unit).elements);
      });
  t["lu_factor"] = batched("lu_factor", [](const Matrices& m, const dispatch::Attrs&, Arrays& out) {
    const Lu lu = factor(m[0]);
    append(out[0], lu.factors.elements);
    append(out[1], lu.order);
    append(out[2], std::vector{lu.parity});
  });
  t["solve"] = batched("solve", [](const Matrices& m, const dispatch::Attrs&, Arrays& out) {
    append(out[0], solve(m[0], m[1]).elements);
  });
  t["det"] = batched("det", [](const Matrices& m, const dispatch::Attrs&, Arrays& out) {
    const Lu lu = factor(m[0]);
    double product = lu.parity;
    for (int64_t i = 0; i < m[0].rows; ++i) product *= lu.factors(i, i);
    append(out[0], std::vector{product});
  });
}

}  // namespace

void add_linalg(Table& t) {
  add_solvers(t);
  t["qr"] = batched("qr", [](const Matrices& m, const dispatch::Attrs& attrs, Arrays& out) {
    const bool full = std::get<dispatch::FactorAttrs>(attrs).full;
    Dense q(0, 0), r(0, 0);
    householder(m[0], full ? m[0].rows : std::min(m[0].rows, m[0].columns), q, r);
    append(out[0], q.elements);
    append(out[1], r.elements);
  });
  t["eigh"] = batched("eigh", [](const Matrices& m, const dispatch::Attrs&, Arrays& out) {
    std::vector<double> values;
    Dense vectors(0, 0);
    eigen(symmetric_part(m[0]), values, vectors);
    for (int64_t j = 0; j < vectors.columns; ++j) {
      if (points_down(vectors, j)) flip_column(vectors, j);
    }
    append(out[0], values);
    append(out[1], vectors.elements);
  });
  t["svd"] = batched("svd", [](const Matrices& m, const dispatch::Attrs& attrs, Arrays& out) {
    const bool full = std::get<dispatch::FactorAttrs>(attrs).full;
    const Svd svd = singular(m[0]);
    append(out[0], (full ? completed(svd.u) : svd.u).elements);
    append(out[1], svd.s);
    append(out[2], transposed(full ? completed(svd.v) : svd.v).elements);
  });
  t["pinv"] = batched("pinv", [](const Matrices& m, const dispatch::Attrs& attrs, Arrays& out) {
    const double relative = std::get<dispatch::ToleranceAttrs>(attrs).relative.as_double();
    Svd svd = singular(m[0]);
    for (int64_t j = 0; j < svd.v.columns; ++j) {
      const double s = svd.s[static_cast<size_t>(j)];
      for (int64_t i = 0; i < svd.v.rows; ++i) {
        svd.v(i, j) = s > relative * svd.s[0] ? svd.v(i, j) / s : 0.0;
      }
    }
    append(out[0], product(svd.v, transposed(svd.u)).elements);
  });
}

}  // namespace remora::reference
