// Our side of torch_exchange.py: two models that it has in PyTorch, of layers with different kinds
// of parameters and buffers.
//   torch_exchange train DIR    trains each a little and saves its state, an input and the output
//   torch_exchange run DIR      loads each state and an input that PyTorch saved, saves the output
// Files: DIR/<model>.safetensors is the state, DIR/<model>.io.safetensors "input" and "output".
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "remora/remora.h"

namespace remora::torch_exchange {
namespace {

constexpr int kSteps = 30;

class ImageModel : public nn::Sequential {
 public:
  ImageModel()
      : nn::Sequential(nn::Conv2d(1, 8, 3, {.padding = 1}), nn::BatchNorm2d(8), nn::ReLU(),
                       nn::MaxPool2d(2), nn::Conv2d(8, 16, 3, {.padding = 1, .groups = 2}),
                       nn::GroupNorm(4, 16), nn::GELU(),
                       nn::ConvTranspose2d(16, 4, 2, {.stride = 2}), nn::PReLU(), nn::Flatten(),
                       nn::Linear(256, 32), nn::LayerNorm({32}), nn::SiLU(), nn::Linear(32, 10)) {}
};

class TextModel : public nn::Module {
 public:
  TextModel() {
    embedding_ = add_module_of("embedding", nn::Embedding(50, 16));
    encoder_ = add_module_of("encoder",
                             nn::TransformerEncoderLayer(
                                 16, 2, {.feedforward = 32, .dropout = 0.0, .batch_first = true}));
    recurrent_ = add_module_of(
        "recurrent", nn::LSTM(16, 12, {.layers = 2, .batch_first = true, .bidirectional = true}));
    gates_ = add_module_of("gates", nn::GRU(24, 8, {.batch_first = true}));
    head_ = add_module_of("head", nn::Linear(8, 10));
  }
  Tensor forward(const Tensor& text) const override {
    const Tensor encoded = (*encoder_)((*embedding_)(text));
    const Tensor sequence = (*gates_)((*recurrent_)(encoded).output).output;
    return (*head_)(squeeze(narrow(sequence, 1, sequence.size(1) - 1, 1), Dims{1}));
  }

 private:
  std::shared_ptr<nn::Embedding> embedding_;
  std::shared_ptr<nn::TransformerEncoderLayer> encoder_;
  std::shared_ptr<nn::LSTM> recurrent_;
  std::shared_ptr<nn::GRU> gates_;
  std::shared_ptr<nn::Linear> head_;
};

struct Exchanged {
  std::string_view name;
  std::shared_ptr<nn::Module> model;
  Tensor (*draw_input)(const Device& device);
};

std::vector<Exchanged> models() {
  return {{"image", std::make_shared<ImageModel>(),
           [](const Device& device) {
             return uniform({16, 1, 8, 8}, device);
           }},
          {"text", std::make_shared<TextModel>(), [](const Device& device) {
             return randint(0, 50, {16, 12}, device);
           }}};
}

std::string path(const std::string& folder, std::string_view model, std::string_view kind) {
  return folder + "/" + std::string(model) + std::string(kind);
}

void train(const std::string& folder) {
  const Device device = Device::default_device();
  manual_seed(7);
  for (const Exchanged& each : models()) {
    each.model->to(device.autodiff());
    optim::AdamW optimizer(each.model->parameters(), {.learning_rate = 3e-3});
    for (int step = 0; step < kSteps; ++step) {
      const Tensor labels = randint(0, 10, {16}, device);
      cross_entropy((*each.model)(each.draw_input(device)), labels).backward();
      optimizer.step();
      optimizer.zero_grad();
    }
    const NoGrad no_grad;
    each.model->eval();
    const Tensor input = each.draw_input(device);
    io::save(path(folder, each.name, ".safetensors"), each.model->state_dict());
    io::save(path(folder, each.name, ".io.safetensors"),
             TensorMap{{"input", input}, {"output", (*each.model)(input)}});
  }
}

void run(const std::string& folder) {
  const Device device = Device::default_device();
  for (const Exchanged& each : models()) {
    each.model->load_state_dict(io::load(path(folder, each.name, ".safetensors"), device));
    each.model->eval();
    const NoGrad no_grad;
    const std::string file = path(folder, each.name, ".io.safetensors");
    const Tensor input = io::load(file, device).at("input");
    io::save(file, TensorMap{{"input", input}, {"output", (*each.model)(input)}});
  }
}

}  // namespace
}  // namespace remora::torch_exchange

int main(int argc, char** argv) {
  const std::string_view command = argc == 3 ? argv[1] : "";
  try {
    if (command == "train") {
      remora::torch_exchange::train(argv[2]);
    } else if (command == "run") {
      remora::torch_exchange::run(argv[2]);
    } else {
      std::fprintf(stderr, "usage: torch_exchange train|run DIR\n");
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torch_exchange: %s\n", error.what());
    return 1;
  }
}
