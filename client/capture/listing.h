// A captured graph as text. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "dispatch/captured_program.h"

namespace remora::capture {

/// One line for each input, initializer, op and output.
std::string list_program(const dispatch::CapturedProgram& program);

/// A directed graph in Graphviz's language.
std::string draw_program(const dispatch::CapturedProgram& program);

/// `text` between double quotes as Graphviz reads it: quotes and backslashes escaped, a line break
/// as \n, other control characters as a question mark.
std::string dot_quoted(std::string_view text);

}  // namespace remora::capture
