#include "tests/wire/record_text.h"

#include "dispatch/str_cat.h"

namespace remora::wire {
namespace {

std::string text(const std::vector<bool>& bits) {
  std::string out;
  for (const bool bit : bits) out.push_back(bit ? '1' : '0');
  return out;
}

std::string text(ValueId value) { return str_cat(value.window(), ".", value.index()); }

std::string text(const RunBindings& run) {
  std::string out = str_cat("window=", run.window, " inputs=");
  for (const ValueId input : run.inputs) out += text(input) + ",";
  out += " params=";
  for (const uint64_t param : run.params) out += str_cat(param, ",");
  return out + " consumed=" + text(run.consumed);
}

struct Printer {
  std::string operator()(const DefineRecord& r) const {
    return str_cat("define ", r.graph, " device=", r.device, " live=", text(r.live),
                   " body=", r.body, " inputs=", r.inputs, " params=", r.params);
  }
  std::string operator()(const UndefineRecord& r) const { return str_cat("undefine ", r.graph); }
  std::string operator()(const RunRecord& r) const {
    return str_cat("run ", r.graph, " ", text(r.run));
  }
  std::string operator()(const OnceRecord& r) const {
    return str_cat("once device=", r.device, " live=", text(r.live), " body=", r.body, " ",
                   text(r.run));
  }
  std::string operator()(const HostDataRecord& r) const {
    return str_cat("host_data ", text(r.value), " device=", r.device, " ", r.spec.str(), " ",
                   r.bytes);
  }
  std::string operator()(const UploadRecord& r) const {
    return str_cat("upload ", text(r.value), " device=", r.device, " ", r.spec.str());
  }
  std::string operator()(const DropRecord& r) const {
    return str_cat("drop ", r.window, ".", r.first, "+", r.count);
  }
  std::string operator()(const ReadRecord& r) const {
    return str_cat("read ", r.number, " ", text(r.value));
  }
  std::string operator()(const SyncRecord& r) const {
    return str_cat("sync ", r.number, " ", r.device);
  }
  std::string operator()(const TransferRecord& r) const {
    return str_cat("transfer ", text(r.value), " from ", text(r.source), " device=", r.device);
  }
};

}  // namespace

std::string record_text(const Record& record) { return std::visit(Printer{}, record); }

}  // namespace remora::wire
