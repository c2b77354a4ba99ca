#include "client/remote/backend.h"

#include <algorithm>
#include <vector>

#include "client/remote/storage.h"
#include "dispatch/error.h"
#include "dispatch/str_cat.h"

namespace remora::remote {

using dispatch::Buffer;
using dispatch::Graph;
using dispatch::GraphPtr;
using dispatch::HostData;
using dispatch::LiveSet;
using dispatch::RunRequest;
using dispatch::RunResult;
using dispatch::ValueId;

namespace {

/// A graph and, once a run has defined it, its number in the session it ran in last.
class RemotePlan final : public dispatch::Plan {
 public:
  RemotePlan(GraphPtr graph, LiveSet live) : graph_(std::move(graph)), live_(std::move(live)) {
    for (size_t i = 0; i < live_.size(); ++i) {
      if (live_[i]) live_bytes_ += graph_->outputs[i].byte_size();
    }
  }
  ~RemotePlan() override { forget(); }

  int64_t peak_bytes() const override { return live_bytes_; }
  const Graph& graph() const { return *graph_; }
  const LiveSet& live() const { return live_; }

  /// The place in this session's table.
  GraphSlot& slot(const std::shared_ptr<Session>& session) {
    if (session_ != session) {
      forget();
      session_ = session;
      slot_ = GraphSlot();
    }
    return slot_;
  }

 private:
  void forget() {
    if (session_ != nullptr && slot_.number != 0) session_->undefine(slot_.number);
  }

  const GraphPtr graph_;
  const LiveSet live_;
  int64_t live_bytes_ = 0;
  std::shared_ptr<Session> session_;
  GraphSlot slot_;
};

Buffer buffer_of(std::shared_ptr<RemoteStorage> storage, const Spec& spec) {
  return {std::move(storage), spec, contiguous_strides(spec.shape), 0};
}

absl::Status check_size(const Graph& graph) {
  const auto refuse = [](std::string_view what, size_t count, size_t limit) {
    return absl::ResourceExhaustedError(str_cat("a window with ", count, " ", what,
                                                " does not fit one frame to a worker; at most ",
                                                limit, " do"));
  };
  if (graph.key.size() > wire::kMaxGraphBytes) {
    return refuse("encoded bytes", graph.key.size(), wire::kMaxGraphBytes);
  }
  if (graph.inputs.size() > wire::kMaxGraphInputs) {
    return refuse("inputs", graph.inputs.size(), wire::kMaxGraphInputs);
  }
  if (graph.params > wire::kMaxGraphParams)
    return refuse("params", graph.params, wire::kMaxGraphParams);
  return absl::OkStatus();
}

/// The storage of a buffer of this session. A value of an earlier session is gone with it.
absl::StatusOr<RemoteStorage*> storage_of(const Buffer& buffer, const Session& session) {
  auto* storage = dynamic_cast<RemoteStorage*>(buffer.storage.get());
  if (storage == nullptr)
    return absl::InternalError("a tensor of another backend reached a worker's device");
  if (storage->session().get() == &session) return storage;
  const absl::Status reason = storage->session()->status();
  return absl::UnavailableError(
      str_cat("the tensor was lost with an earlier session: ", std::string(reason.message())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteBackend>> RemoteBackend::open(WorkerConnection& connection,
                                                                   std::string_view device_text) {
  REMORA_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, connection.session());
  REMORA_ASSIGN_OR_RETURN(uint32_t device, session->description().find_device(device_text));
  return std::make_unique<RemoteBackend>(connection, session->description_ptr(), device);
}

absl::StatusOr<RemoteBackend::Place> RemoteBackend::place() const {
  REMORA_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, connection_.session());
  uint32_t device = device_;
  if (session->description_ptr() != description_) {
    REMORA_ASSIGN_OR_RETURN(device, session->description().find_device(described().text));
  }
  return Place{std::move(session), device};
}

dispatch::DeviceInfo RemoteBackend::info() const {
  return {str_cat(described().name, " of worker ", connection_.address()), described().fingerprint,
          described().memory_limit_bytes, described().settings};
}

absl::StatusOr<std::unique_ptr<dispatch::Plan>> RemoteBackend::prepare(GraphPtr graph,
                                                                       const LiveSet& live) {
  REMORA_RETURN_IF_ERROR(check_size(*graph));
  return std::make_unique<RemotePlan>(std::move(graph), live);
}

RunResult RemoteBackend::run(dispatch::Plan& plan, const RunRequest& request) {
  auto& remote_plan = static_cast<RemotePlan&>(plan);
  RunResult result;
  absl::StatusOr<Place> place = this->place();
  if (!place.ok()) {
    result.status = place.status();
    return result;
  }
  std::vector<RemoteStorage*> inputs;
  inputs.reserve(request.inputs.size());
  for (const Buffer& input : request.inputs) {
    const absl::StatusOr<RemoteStorage*> storage = storage_of(input, *place->session);
    if (!storage.ok()) {
      result.status = storage.status();
      return result;
    }
    inputs.push_back(*storage);
  }
  const Graph& graph = remote_plan.graph();
  const LiveSet& live = remote_plan.live();
  result.status = place->session->run(remote_plan.slot(place->session), place->device, graph, live,
                                      inputs, request);
  if (!result.status.ok()) return result;
  result.outputs.resize(graph.outputs.size());
  for (uint32_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    const Spec& spec = graph.outputs[i];
    result.outputs[i] =
        buffer_of(std::make_shared<RemoteStorage>(place->session, ValueId(request.window, i),
                                                  place->device, spec.byte_size()),
                  spec);
  }
  return result;
}

absl::StatusOr<Buffer> RemoteBackend::upload(ValueId id, HostData data) {
  REMORA_ASSIGN_OR_RETURN(const Place place, this->place());
  const Spec spec = data.spec;
  if (static_cast<size_t>(spec.byte_size()) <= wire::kMaxInlineBytes) {
    return buffer_of(
        std::make_shared<RemoteStorage>(place.session, id, place.device, std::move(data)), spec);
  }
  REMORA_RETURN_IF_ERROR(place.session->upload(id, place.device, std::move(data)));
  return buffer_of(
      std::make_shared<RemoteStorage>(place.session, id, place.device, spec.byte_size()), spec);
}

void RemoteBackend::download(const Buffer& buffer, dispatch::ReadCallback done) {
  std::vector<dispatch::ReadCallback> callbacks;
  callbacks.push_back(std::move(done));
  download_all({&buffer, 1}, std::move(callbacks));
}

void RemoteBackend::download_all(std::span<const Buffer> buffers,
                                 std::vector<dispatch::ReadCallback> done) {
  const absl::StatusOr<Place> place = this->place();
  std::vector<Session::Read> reads;
  for (size_t i = 0; i < buffers.size(); ++i) {
    absl::Status status = place.status();
    if (status.ok()) {
      const absl::StatusOr<RemoteStorage*> storage = storage_of(buffers[i], *place->session);
      if (storage.ok()) {
        reads.push_back({*storage, buffers[i].spec, std::move(done[i])});
        continue;
      }
      status = storage.status();
    }
    done[i](status);
  }
  if (!reads.empty()) place->session->read(std::move(reads));
}

absl::StatusOr<Buffer> RemoteBackend::copy_from(dispatch::Backend& source, const Buffer& buffer,
                                                ValueId id) {
  const auto* other = dynamic_cast<RemoteBackend*>(&source);
  if (other == nullptr || &other->connection_.resolved() != &connection_.resolved()) {
    return absl::UnimplementedError("copies between workers go through the program");
  }
  REMORA_ASSIGN_OR_RETURN(const Place place, this->place());
  REMORA_ASSIGN_OR_RETURN(RemoteStorage * storage, storage_of(buffer, *place.session));
  REMORA_RETURN_IF_ERROR(place.session->transfer(*storage, id, place.device));
  return buffer_of(
      std::make_shared<RemoteStorage>(place.session, id, place.device, storage->bytes()),
      buffer.spec);
}

void RemoteBackend::flush() {
  if (const std::shared_ptr<Session> session = connection_.current()) session->flush();
}

absl::Status RemoteBackend::synchronize() {
  REMORA_ASSIGN_OR_RETURN(const Place place, this->place());
  return place.session->synchronize(place.device);
}

dispatch::MemoryUse RemoteBackend::memory() const {
  dispatch::MemoryUse use;
  use.limit_bytes = described().memory_limit_bytes;
  if (const std::shared_ptr<Session> session = connection_.current()) {
    const absl::StatusOr<uint32_t> device = session->description().find_device(described().text);
    if (device.ok()) use.live_bytes = session->live_bytes(*device);
  }
  return use;
}

}  // namespace remora::remote
