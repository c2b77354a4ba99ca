// Whether an answer is the expected one: element type and shape first, then integers and booleans
// exactly and floats within a tolerance. Pure functions.
#pragma once

#include <string>

#include "dispatch/buffer.h"

namespace remora::opinfo {

/// |actual - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative;
  double absolute;
};

/// The tolerances of tests/vectors/opinfo/README.md.
Tolerance answer_tolerance(DType dtype);
Tolerance gradient_tolerance(DType dtype);

/// Empty if they agree, NaN equal to NaN; else what differs, for people.
std::string compare(const dispatch::HostData& actual, const dispatch::HostData& expected,
                    Tolerance tolerance);

}  // namespace remora::opinfo
