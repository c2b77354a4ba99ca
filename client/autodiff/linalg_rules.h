// The gradient rules of factorisations and solvers; gradients.cpp says which row each belongs to.
// Sources: Giles, "An extended collection of matrix derivative results"; Seeger et al.,
// "Auto-differentiating linear algebra" (QR); Golub and Pereyra, "The differentiation of
// pseudo-inverses"; Townsend, "Differentiating the SVD". Pure functions
// of public ops.
#pragma once

#include "client/autodiff/gradients.h"

namespace remora::autodiff {

Gradients cholesky_rule(const RuleContext& context);
Gradients solve_triangular_rule(const RuleContext& context);
Gradients solve_rule(const RuleContext& context);
Gradients pinv_rule(const RuleContext& context);
Gradients det_rule(const RuleContext& context);
Gradients lu_factor_rule(const RuleContext& context);
Gradients qr_rule(const RuleContext& context);
Gradients eigh_rule(const RuleContext& context);
Gradients svd_rule(const RuleContext& context);

}  // namespace remora::autodiff
