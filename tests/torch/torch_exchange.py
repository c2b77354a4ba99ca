#!/usr/bin/python3
"""Files of models between PyTorch and this library: one trained on either side gives the same outputs on the other.

    tests/torch/torch_exchange.py PROGRAM     PROGRAM is bin/torch_exchange; needs torch and safetensors

Prints one line per model and direction; exits with 1 if any output differs by more than 1e-5.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError as missing:
    sys.exit(f"torch_exchange: {missing}; needed are torch (apt-get install python3-torch) and safetensors (pip)")

TOLERANCE = 1e-5


class TextModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.recurrent = nn.LSTM(16, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.gates = nn.GRU(24, 8, batch_first=True)
        self.head = nn.Linear(8, 10)

    def forward(self, text):
        sequence = self.gates(self.recurrent(self.encoder(self.embedding(text)))[0])[0]
        return self.head(sequence[:, -1])


def models():
    image = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, groups=2), nn.GroupNorm(4, 16), nn.GELU(),
        nn.ConvTranspose2d(16, 4, 2, stride=2), nn.PReLU(), nn.Flatten(), nn.Linear(256, 32), nn.LayerNorm(32),
        nn.SiLU(), nn.Linear(32, 10))
    yield "image", image, lambda: torch.rand(16, 1, 8, 8)
    yield "text", TextModel(), lambda: torch.randint(0, 50, (16, 12))


def train(model, draw):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(draw()), torch.randint(0, 10, (16,)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def report(direction, name, ours, theirs):
    worst = (ours - theirs).abs().max().item()
    print(f"{direction} {name}: {tuple(ours.shape)}, largest difference {worst:.2e} of values up to "
          f"{theirs.abs().max().item():.2f}")
    return worst <= TOLERANCE and ours.shape == theirs.shape


def main(program):
    torch.manual_seed(1)
    ok = True
    print(f"PyTorch {torch.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "train", folder], check=True)
        for name, model, _ in models():
            model.load_state_dict(load_file(folder / f"{name}.safetensors"))
            model.eval()
            exchanged = load_file(folder / f"{name}.io.safetensors")
            with torch.no_grad():
                ok &= report("trained here, loaded by PyTorch:", name, exchanged["output"], model(exchanged["input"]))

        expected = {}
        for name, model, draw in models():
            train(model, draw)
            model.eval()
            example = draw()
            with torch.no_grad():
                expected[name] = model(example)
            save_file(model.state_dict(), folder / f"{name}.safetensors")
            save_file({"input": example}, folder / f"{name}.io.safetensors")
        subprocess.run([program, "run", folder], check=True)
        for name, answer in expected.items():
            ours = load_file(folder / f"{name}.io.safetensors")["output"]
            ok &= report("trained by PyTorch, loaded here:", name, ours, answer)
    return 0 if ok else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
