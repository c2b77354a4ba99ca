// Modules to named tensors and back.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "client/apply.h"
#include "client/limits.h"
#include "client/nn/module.h"
#include "dispatch/str_cat.h"
#include "dispatch/window.h"

namespace remora::nn {

namespace {

/// "kind: a, b"; the list is cut where it says nothing new to a reader.
void report(std::string_view kind, const std::vector<std::string>& items,
            std::vector<std::string>& problems) {
  if (items.empty()) return;
  const size_t count = std::min(items.size(), kMaxListedNames);
  std::string text = str_cat(kind, ": ", absl::StrJoin(items.begin(), items.begin() + count, ", "));
  if (count < items.size()) text += str_cat(" and ", items.size() - count, " more");
  problems.push_back(std::move(text));
}

}  // namespace

TensorMap Module::state_dict() const {
  const dispatch::CallScope scope;
  TensorMap state;
  for (const NamedParameter& named : named_state()) {
    state.add(named.name, named.parameter.tensor().detach());
  }
  return state;
}

StateDifference Module::load_state_dict(const TensorMap& state, bool strict) {
  const dispatch::CallScope scope;
  std::vector<NamedParameter> parameters = named_state();
  StateDifference difference;
  std::vector<std::string> mismatched;
  absl::flat_hash_set<std::string> known;
  for (const auto& [name, parameter] : parameters) {
    known.insert(name);
    const Tensor* values = state.find(name);
    if (values == nullptr) {
      difference.missing.push_back(name);
    } else if (values->spec() != parameter.spec()) {
      mismatched.push_back(str_cat(name, " is ", values->spec().str(), " in the state and ",
                                   parameter.spec().str(), " in the module"));
    }
  }
  for (const auto& [name, values] : state) {
    if (!known.contains(name)) difference.unexpected.push_back(name);
  }
  std::vector<std::string> problems;
  if (strict) {
    report("missing from the state", difference.missing, problems);
    report("unexpected in the state", difference.unexpected, problems);
  }
  report("mismatched", mismatched, problems);
  if (!problems.empty()) refuse("load_state_dict", absl::StrJoin(problems, "; "));
  for (auto& [name, parameter] : parameters) {
    if (const Tensor* values = state.find(name)) parameter.load(*values);
  }
  return difference;
}

}  // namespace remora::nn
