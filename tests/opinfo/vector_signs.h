// What eigenvectors and singular vectors are unique up to: a sign each.
#pragma once

#include <string_view>
#include <vector>

#include "client/tensor.h"
#include "dispatch/buffer.h"

namespace remora::opinfo {

/// The results of `linalg.eigh` and `linalg.svd` with each vector (and in an SVD its partner)
/// turned to point where the expected one points; those of any other operator as they are.
std::vector<Tensor> with_expected_signs(std::string_view op, std::vector<Tensor> results,
                                        const std::vector<dispatch::HostData>& expected);

}  // namespace remora::opinfo
