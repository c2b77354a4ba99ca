// A language model of characters: learns a text and writes on from its beginning. The text is
// uploaded once; batches and the characters written are drawn on the device, so no step waits for
// it, and what was written is read in one go.
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "examples/char_lm/model.h"
#include "examples/char_lm/text.h"
#include "remora/remora.h"

namespace remora::char_lm {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kReportEvery = 50;

struct Options {
  std::string text;
  int steps = 400;
  int64_t batch = 16;
  int written = 200;
  double temperature = 0.7;
};

/// `batch` pieces of the text from places drawn at random: i64 [batch, length].
Tensor draw_pieces(const Tensor& text, int64_t batch, int64_t length) {
  const Device device = text.device();
  const Tensor starts = randint(0, text.size(0) - length + 1, {batch, 1}, device);
  const Tensor places = starts + arange(0, length, 1, device, DType::kI64);
  return reshape(index_select(text, 0, reshape(places, {-1})), {batch, length});
}

/// Bits that the model needs for a character, by the loss in nats.
double bits(float nats) { return static_cast<double>(nats) / std::numbers::ln2; }

void train(const CharacterModel& model, const ModelOptions& shape, const Tensor& text,
           const Options& options) {
  optim::AdamW optimizer(model.parameters(), {.learning_rate = 2e-3});
  optim::CosineAnnealingLR schedule(optimizer, options.steps);
  for (int step = 1; step <= options.steps; ++step) {
    const Tensor piece = draw_pieces(text, options.batch, shape.context + 1);
    const Tensor logits = model(narrow(piece, 1, 0, shape.context));
    const Tensor next = narrow(piece, 1, 1, shape.context);
    const Tensor loss = cross_entropy(reshape(logits, {-1, shape.characters}), reshape(next, {-1}));
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    schedule.step();
    if (step == 1 || step % kReportEvery == 0 || step == options.steps) {
      std::printf("step %4d: %.3f bits a character\n", step, bits(loss.item<float>()));
      std::fflush(stdout);
    }
  }
}

/// Writes on from the text's first characters.
std::string write_on(CharacterModel& model, const ModelOptions& shape, const Tensor& text,
                     const Options& options) {
  const NoGrad no_grad;
  model.eval();
  Tensor context = reshape(narrow(text, 0, 0, shape.context), {1, shape.context});
  std::vector<Tensor> written;
  for (int i = 0; i < options.written; ++i) {
    const Tensor logits = narrow(model(context), 1, shape.context - 1, 1) / options.temperature;
    // The largest of logits with Gumbel noise is a draw from their softmax.
    const Tensor noise = -log(-log(uniform(logits.shape(), text.device(), 1e-7, 1.0)));
    const Tensor next = argmax(logits + noise, 2);  // [1, 1]
    context = concat({narrow(context, 1, 1, shape.context - 1), next}, 1);
    written.push_back(next);
  }
  std::string result;
  for (const int64_t c : concat(written, 1).to_vector<int64_t>()) {
    result += static_cast<char>(c);
  }
  return result;
}

int run(const Options& options) {
  const std::string characters = read_text(options.text);
  const ModelOptions shape;
  if (static_cast<int64_t>(characters.size()) <= shape.context) {
    std::fprintf(stderr, "char_lm: the text has %zu characters; %ld are needed\n",
                 characters.size(), static_cast<long>(shape.context + 1));
    return 1;
  }
  const Device device = Device::default_device();
  manual_seed(kSeed);
  const std::vector<uint8_t> bytes(characters.begin(), characters.end());
  const Tensor text =
      astype(from_data(bytes, {static_cast<int64_t>(bytes.size())}, device), DType::kI64);
  CharacterModel model(shape);
  model.to(device.autodiff());
  std::printf("%zu characters on %s\n", characters.size(), device.str().c_str());
  train(model, shape, text, options);
  if (options.written == 0) return 0;
  std::printf("---\n%s|%s\n", characters.substr(0, static_cast<size_t>(shape.context)).c_str(),
              write_on(model, shape, text, options).c_str());
  return 0;
}

}  // namespace
}  // namespace remora::char_lm

int main(int argc, char** argv) {
  remora::char_lm::Options options;
  CLI::App app(
      "Learns a text, character by character, on the device that REMORA_DEVICE names, and writes "
      "on from its beginning.");
  app.add_option("--text", options.text, "file to learn; this project's manual unless given");
  app.add_option("--steps", options.steps, "batches to learn from")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "pieces of the text in a batch")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--write", options.written, "characters to write afterwards")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
  app.add_option("--temperature", options.temperature, "how freely they are chosen")
      ->check(CLI::Range(0.01, 10.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return remora::char_lm::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "char_lm: %s\n", error.what());
    return 1;
  }
}
