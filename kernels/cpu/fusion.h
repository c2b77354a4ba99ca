// Which ops of a graph run as one: neighbours in recording order that compute elementwise over one
// shape. Views among them are made before. Pure functions.
#pragma once

#include <memory>
#include <vector>

#include "dispatch/graph.h"
#include "kernels/cpu/kernel_table.h"

namespace remora::cpu {

/// Ops [first, last) of a graph, run by `KernelTable::run_fused`.
struct FusedGroup {
  uint32_t first = 0;
  uint32_t last = 0;
  FusedProgram program;
  std::vector<dispatch::Position> operands;  // by the index of a kOperand value
  std::vector<uint32_t> results;      // outputs of the graph, by the index of a kResult value
  std::vector<uint32_t> temporaries;  // outputs of the graph that never get memory
};

/// The groups of at least two elementwise ops, in order. `is_view` says for each op whether its
/// result shares its operand's storage.
std::vector<FusedGroup> find_fused_groups(const KernelTable& kernels, const dispatch::Graph& graph,
                                          const dispatch::LiveSet& live,
                                          const std::vector<bool>& is_view);

}  // namespace remora::cpu
