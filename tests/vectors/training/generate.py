#!/usr/bin/python3
"""Writes what PyTorch answers for optimizers, schedulers, modules and losses: the vectors beside it.

    apt-get install python3-torch && /usr/bin/python3 tests/vectors/training/generate.py

Made with PyTorch 1.13.1. Tensors are {"shape": [...], "data": [...]}, row-major; parameters carry PyTorch's names, so
that the tests prove ours.
"""

import json
import math
import pathlib

import torch
from torch import nn, optim

FOLDER = pathlib.Path(__file__).parent
STEPS = 20


def tensor(value):
    data = value.detach().reshape(-1).tolist()
    if value.is_floating_point():
        data = [float(f"{x:.8g}") for x in data]
    return {"shape": list(value.shape), "data": data}


def write(name, value):
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in value)
    (FOLDER / name).write_text("[\n" + lines + "\n]\n")


def drawn(*shape):
    """Three decimals, so that the files stay small."""
    return (torch.randn(*shape) * 1000).round() / 1000


# -- optimizers: two parameters, the gradients given, the values after every step

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.01, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "betas": [0.7, 0.9], "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05, "amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.9, "momentum": 0.7, "weight_decay": 0.03}),
    ("RMSprop", {"lr": 0.02, "centered": True, "eps": 1e-5}),
    ("RMSprop", {"lr": 0.02, "alpha": 0.8, "centered": True, "momentum": 0.5}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.05, "initial_accumulator_value": 0.2}),
]


def optimizers():
    torch.manual_seed(1)
    shapes = [(3,), (2, 2)]
    start = [drawn(*shape) for shape in shapes]
    # Rare zeros and a large step: where formulas part.
    gradients = [[drawn(*shape) * (8 if step == 7 else 1) * (0 if step == 3 else 1) for shape in shapes]
                 for step in range(STEPS)]
    cases = [{"start": [tensor(x) for x in start], "gradients": [[tensor(g) for g in step] for step in gradients]}]
    for name, options in OPTIMIZERS:
        parameters = [nn.Parameter(x.clone()) for x in start]
        optimizer = getattr(optim, name)(parameters, **options)
        values = []
        for step in gradients:
            for parameter, gradient in zip(parameters, step):
                parameter.grad = gradient.clone()
            optimizer.step()
            values.append([tensor(p)["data"] for p in parameters])
        state = {key: (tensor(value) if torch.is_tensor(value) and value.dim() > 0 else float(value))
                 for key, value in optimizer.state_dict()["state"][1].items() if value is not None}
        cases.append({"optimizer": name, "options": options, "values": values, "state": state})
    write("optimizers.json", cases)


# -- schedulers: the rate (and momentum) before each of 30 steps


def scheduler_cases():
    s = optim.lr_scheduler
    yield "StepLR", 30, lambda o: s.StepLR(o, 4, gamma=0.5)
    yield "MultiStepLR", 30, lambda o: s.MultiStepLR(o, [3, 9, 9, 20], gamma=0.3)
    yield "ExponentialLR", 30, lambda o: s.ExponentialLR(o, 0.9)
    yield "CosineAnnealingLR", 30, lambda o: s.CosineAnnealingLR(o, 12, eta_min=0.01)
    yield "LinearLR", 30, lambda o: s.LinearLR(o)
    yield "LinearLR to 0.25", 30, lambda o: s.LinearLR(o, start_factor=1.0, end_factor=0.25, total_iters=11)
    yield "LambdaLR", 30, lambda o: s.LambdaLR(o, lambda n: 1.0 / (1.0 + n))
    yield "OneCycleLR", 30, lambda o: s.OneCycleLR(o, 0.4, total_steps=30)
    yield "OneCycleLR linear", 30, lambda o: s.OneCycleLR(o, 0.4, total_steps=30, pct_start=0.4, anneal_strategy="linear",
                                                           div_factor=10, final_div_factor=100)
    yield "OneCycleLR three phases", 30, lambda o: s.OneCycleLR(o, 0.4, total_steps=30, three_phase=True)
    yield "SequentialLR", 30, lambda o: s.SequentialLR(
        o, [s.LinearLR(o, start_factor=0.1, total_iters=5), s.CosineAnnealingLR(o, 20), s.ExponentialLR(o, 0.8)],
        milestones=[5, 22])


def schedulers():
    cases = []
    for name, steps, make in scheduler_cases():
        optimizer = optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2, momentum=0.9)
        scheduler = make(optimizer)
        rates, momenta = [], []
        for _ in range(steps):
            rates.append(optimizer.param_groups[0]["lr"])
            momenta.append(optimizer.param_groups[0]["momentum"])
            optimizer.step()
            if len(rates) < steps:
                scheduler.step()
        cases.append({"scheduler": name, "rates": rates, "momenta": momenta})
    metrics = [1.0, 0.9, 0.9, 0.95, 0.91, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.79995, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75,
               0.76, 0.77, 0.78, 0.6, 0.6, 0.6, 0.6]
    for name, options in [("ReduceLROnPlateau", {"patience": 2}),
                          ("ReduceLROnPlateau max", {"mode": "max", "factor": 0.5, "patience": 1, "cooldown": 2,
                                                     "threshold": 0.01, "threshold_mode": "abs", "min_lr": 0.03})]:
        optimizer = optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2)
        scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        rates = []
        for metric in metrics:
            scheduler.step(metric)
            rates.append(optimizer.param_groups[0]["lr"])
        cases.append({"scheduler": name, "metrics": metrics, "rates": rates})
    write("schedulers.json", cases)


# -- modules: parameters and buffers by name, inputs, outputs, gradients of sum(first output * cotangent)


class RMSNorm(nn.Module):
    """torch.nn.RMSNorm came with PyTorch 2.4; its documented formula."""

    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps) * self.weight


def module_cases():
    """Name, module, inputs, and what forward is called with besides them."""
    yield "Linear", nn.Linear(4, 3), [drawn(2, 5, 4)], {}
    yield "Linear without bias", nn.Linear(4, 3, bias=False), [drawn(2, 4)], {}
    yield "Bilinear", nn.Bilinear(3, 4, 2), [drawn(5, 3), drawn(5, 4)], {}
    yield "Conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [drawn(2, 4, 9)], {}
    yield "Conv2d", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), [drawn(2, 2, 7, 8)], {}
    yield "Conv3d", nn.Conv3d(2, 4, (2, 3, 3), stride=(1, 2, 1), padding=1, groups=2), [drawn(2, 2, 4, 5, 5)], {}
    yield "ConvTranspose1d", nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), \
        [drawn(2, 4, 5)], {}
    yield "ConvTranspose2d", nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1), [drawn(2, 2, 4, 5)], {}
    yield "ConvTranspose3d", nn.ConvTranspose3d(2, 3, (2, 3, 3), stride=(2, 2, 1), padding=(0, 1, 1)), \
        [drawn(2, 2, 3, 4, 4)], {}
    yield "MaxPool1d", nn.MaxPool1d(3, stride=2, padding=1), [drawn(2, 3, 9)], {}
    yield "MaxPool2d", nn.MaxPool2d(2), [drawn(2, 3, 6, 7)], {}
    yield "MaxPool3d", nn.MaxPool3d(2, stride=1), [drawn(1, 2, 3, 4, 4)], {}
    yield "AvgPool1d", nn.AvgPool1d(3, stride=2, padding=1), [drawn(2, 3, 9)], {}
    yield "AvgPool2d", nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), [drawn(2, 3, 6, 7)], {}
    yield "AvgPool3d", nn.AvgPool3d(2), [drawn(1, 2, 4, 4, 4)], {}
    yield "AdaptiveAvgPool1d", nn.AdaptiveAvgPool1d(4), [drawn(2, 3, 9)], {}
    yield "AdaptiveAvgPool2d", nn.AdaptiveAvgPool2d((2, 3)), [drawn(2, 3, 5, 7)], {}
    yield "AdaptiveAvgPool3d", nn.AdaptiveAvgPool3d(2), [drawn(1, 2, 3, 4, 5)], {}
    yield "AdaptiveMaxPool1d", nn.AdaptiveMaxPool1d(4), [drawn(2, 3, 9)], {}
    yield "AdaptiveMaxPool2d", nn.AdaptiveMaxPool2d((2, 3)), [drawn(2, 3, 5, 7)], {}
    yield "AdaptiveMaxPool3d", nn.AdaptiveMaxPool3d(2), [drawn(1, 2, 3, 4, 5)], {}
    yield "BatchNorm1d", nn.BatchNorm1d(3), [drawn(6, 3)], {}
    yield "BatchNorm1d over lengths", nn.BatchNorm1d(3, momentum=0.3, eps=1e-3), [drawn(4, 3, 5)], {}
    yield "BatchNorm2d", nn.BatchNorm2d(3), [drawn(2, 3, 4, 4)], {}
    yield "BatchNorm2d cumulative", nn.BatchNorm2d(3, momentum=None, affine=False), [drawn(2, 3, 4, 4)], {}
    yield "BatchNorm3d", nn.BatchNorm3d(2), [drawn(2, 2, 2, 3, 3)], {}
    yield "BatchNorm2d eval", nn.BatchNorm2d(3).eval(), [drawn(2, 3, 4, 4)], {}
    yield "BatchNorm2d without statistics", nn.BatchNorm2d(3, track_running_stats=False).eval(), [drawn(2, 3, 4, 4)], {}
    yield "LayerNorm", nn.LayerNorm((3, 4)), [drawn(2, 3, 4)], {}
    yield "GroupNorm", nn.GroupNorm(2, 4), [drawn(2, 4, 5)], {}
    yield "InstanceNorm1d", nn.InstanceNorm1d(3), [drawn(2, 3, 7)], {}
    yield "InstanceNorm2d", nn.InstanceNorm2d(3, affine=True), [drawn(2, 3, 4, 4)], {}
    yield "InstanceNorm2d with statistics", nn.InstanceNorm2d(3, affine=True, track_running_stats=True), \
        [drawn(2, 3, 4, 4)], {}
    yield "InstanceNorm2d with statistics eval", nn.InstanceNorm2d(3, track_running_stats=True).eval(), \
        [drawn(2, 3, 4, 4)], {}
    yield "InstanceNorm3d", nn.InstanceNorm3d(2), [drawn(2, 2, 3, 3, 3)], {}
    yield "RMSNorm", RMSNorm(4, 1e-5), [drawn(3, 4)], {}
    yield "LocalResponseNorm", nn.LocalResponseNorm(3), [drawn(2, 5, 4)], {}
    yield "Embedding", nn.Embedding(7, 3, padding_idx=2), [torch.tensor([[0, 2, 6], [1, 1, 2]])], {}
    for name, module in [
            ("ReLU", nn.ReLU()), ("ReLU6", nn.ReLU6()), ("LeakyReLU", nn.LeakyReLU(0.2)), ("PReLU", nn.PReLU(3)),
            ("ELU", nn.ELU(0.7)), ("CELU", nn.CELU(1.3)), ("SELU", nn.SELU()), ("GELU", nn.GELU()),
            ("GELU tanh", nn.GELU(approximate="tanh")), ("SiLU", nn.SiLU()), ("Mish", nn.Mish()),
            ("Softplus", nn.Softplus(2.0, 3.0)), ("Softsign", nn.Softsign()), ("Softshrink", nn.Softshrink(0.4)),
            ("Hardshrink", nn.Hardshrink(0.4)), ("Tanhshrink", nn.Tanhshrink()), ("Hardsigmoid", nn.Hardsigmoid()),
            ("Hardswish", nn.Hardswish()), ("Hardtanh", nn.Hardtanh(-0.5, 0.8)), ("LogSigmoid", nn.LogSigmoid()),
            ("Threshold", nn.Threshold(0.1, -2.0)), ("GLU", nn.GLU()), ("Sigmoid", nn.Sigmoid()), ("Tanh", nn.Tanh()),
            ("Softmax", nn.Softmax(1)), ("Softmin", nn.Softmin(1)), ("LogSoftmax", nn.LogSoftmax(-1))]:
        yield name, module, [drawn(2, 3, 4) * 2], {}
    yield "Flatten", nn.Flatten(), [drawn(2, 3, 4)], {}
    yield "Unflatten", nn.Unflatten(1, (2, 3)), [drawn(2, 6, 4)], {}
    yield "PixelShuffle", nn.PixelShuffle(2), [drawn(1, 8, 2, 3)], {}
    yield "Sequential", nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)), [drawn(3, 4)], {}
    yield "MultiheadAttention", nn.MultiheadAttention(8, 2), [drawn(5, 3, 8), drawn(4, 3, 8), drawn(4, 3, 8)], \
        {"need_weights": True}
    yield "MultiheadAttention batch first", nn.MultiheadAttention(8, 4, batch_first=True, bias=False), \
        [drawn(3, 5, 8)] * 3, {"attn_mask": torch.triu(torch.ones(5, 5), 1).bool()}
    yield "MultiheadAttention of other widths", nn.MultiheadAttention(6, 2, kdim=5, vdim=4), \
        [drawn(3, 2, 6), drawn(4, 2, 5), drawn(4, 2, 4)], \
        {"key_padding_mask": torch.tensor([[False, False, True, True], [False, True, False, False]])}
    yield "TransformerEncoderLayer", nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0), [drawn(5, 3, 8)], {}
    yield "TransformerEncoderLayer norm first", nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0.0, activation="gelu", batch_first=True, norm_first=True), [drawn(3, 5, 8)], {}
    yield "RNN", nn.RNN(3, 4), [drawn(5, 2, 3)], {}
    yield "RNN relu", nn.RNN(3, 4, num_layers=2, nonlinearity="relu", bias=False, batch_first=True), [drawn(2, 5, 3)], {}
    yield "LSTM", nn.LSTM(3, 4), [drawn(5, 2, 3)], {}
    yield "LSTM of two layers both ways", nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True), \
        [drawn(2, 5, 3)], {}
    yield "GRU", nn.GRU(3, 4), [drawn(5, 2, 3)], {}
    yield "GRU both ways", nn.GRU(3, 4, bidirectional=True), [drawn(5, 2, 3)], {}
    yield "MultiheadAttention of appended keys", nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), \
        [drawn(3, 2, 8), drawn(4, 2, 8), drawn(4, 2, 8)], \
        {"attn_mask": torch.triu(torch.ones(3, 4), 2).bool(),
         "key_padding_mask": torch.tensor([[False, False, True, True], [False, True, False, False]])}
    yield "LSTM of a projection", nn.LSTM(3, 5, num_layers=2, bidirectional=True, proj_size=2), [drawn(4, 2, 3)], {}
    for name, module, shape, size in [("MaxUnpool1d", nn.MaxUnpool1d(2), (2, 3, 4), None),
                                      ("MaxUnpool2d", nn.MaxUnpool2d((3, 2), stride=2, padding=(1, 0)), (2, 3, 4, 4),
                                       (8, 9)),
                                      ("MaxUnpool3d", nn.MaxUnpool3d(2), (1, 2, 2, 3, 2), None)]:
        # Distinct places, in order: any of the elements that the windows of the result hold.
        count = math.prod(shape[2:])
        indices = (torch.arange(count) * 2 + 1).expand(shape[0], shape[1], count).reshape(shape)
        yield name, module, [drawn(*shape), indices], ({} if size is None else {"output_size": size})


def flat(outputs):
    if torch.is_tensor(outputs):
        return [outputs]
    return [x for output in outputs if output is not None for x in flat(output)]


def modules():
    torch.manual_seed(2)
    cases = []
    for name, module, inputs, arguments in module_cases():
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(drawn(*parameter.shape) * 0.5)
            if isinstance(module, nn.Embedding):
                module.weight[module.padding_idx] = 0
            for key, buffer in module.named_buffers():
                if buffer.is_floating_point():
                    buffer.copy_(drawn(*buffer.shape).abs() + 0.5)
        before = {key: tensor(value) for key, value in module.state_dict().items()}
        tracked = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
        outputs = flat(module(*tracked, **arguments))
        cotangent = drawn(*outputs[0].shape)
        if outputs[0].requires_grad:
            (outputs[0] * cotangent).sum().backward()
        after = {key: tensor(value) for key, value in module.named_buffers()}
        cases.append({
            "module": name,
            "state": before,
            "inputs": [tensor(x) for x in inputs],
            "masks": {key: tensor(value.float()) for key, value in arguments.items() if torch.is_tensor(value)},
            "outputs": [tensor(x) for x in outputs],
            "cotangent": tensor(cotangent),
            "gradients": {key: tensor(p.grad) for key, p in module.named_parameters() if p.grad is not None},
            "input_gradients": [None if x.grad is None else tensor(x.grad) for x in tracked],
            "buffers_after": after,
        })
    write("modules.json", cases)


# -- losses


def loss_cases():
    x, y = drawn(4, 3), drawn(4, 3)
    p, q = torch.sigmoid(drawn(4, 3)), torch.sigmoid(drawn(4, 3))
    classes = torch.tensor([2, 0, 1, 2])
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0])
    signs = torch.sign(drawn(4, 3))
    weight = torch.tensor([0.5, 1.5, 1.0])
    yield "MSELoss", nn.MSELoss(), [x, y]
    yield "MSELoss sum", nn.MSELoss(reduction="sum"), [x, y]
    yield "L1Loss", nn.L1Loss(), [x, y]
    yield "SmoothL1Loss", nn.SmoothL1Loss(beta=0.5), [x, y]
    yield "HuberLoss", nn.HuberLoss(delta=0.7), [x, y]
    yield "CrossEntropyLoss", nn.CrossEntropyLoss(), [x, classes]
    yield "CrossEntropyLoss weighted", nn.CrossEntropyLoss(weight=weight, ignore_index=1, label_smoothing=0.1), \
        [x, classes]
    yield "NLLLoss", nn.NLLLoss(weight=weight), [torch.log_softmax(x, 1), classes]
    yield "BCELoss", nn.BCELoss(), [p, q]
    yield "BCEWithLogitsLoss", nn.BCEWithLogitsLoss(pos_weight=weight), [x, q]
    yield "KLDivLoss", nn.KLDivLoss(reduction="batchmean"), [torch.log_softmax(x, 1), torch.softmax(y, 1)]
    yield "KLDivLoss log target", nn.KLDivLoss(reduction="sum", log_target=True), \
        [torch.log_softmax(x, 1), torch.log_softmax(y, 1)]
    yield "GaussianNLLLoss", nn.GaussianNLLLoss(full=True), [x, y, p]
    yield "PoissonNLLLoss", nn.PoissonNLLLoss(), [x, q]
    yield "HingeEmbeddingLoss", nn.HingeEmbeddingLoss(margin=0.8), [x, signs]
    yield "CosineEmbeddingLoss", nn.CosineEmbeddingLoss(margin=0.1), [x, y, sign]
    yield "MarginRankingLoss", nn.MarginRankingLoss(margin=0.2), [x[:, 0], y[:, 0], sign]
    yield "MultiMarginLoss", nn.MultiMarginLoss(p=2, margin=0.9), [x, classes]
    yield "MultiLabelMarginLoss", nn.MultiLabelMarginLoss(), \
        [x, torch.tensor([[2, -1, 0], [0, 1, -1], [1, 2, 0], [-1, 0, 0]])]
    yield "MultiLabelSoftMarginLoss", nn.MultiLabelSoftMarginLoss(), [x, (q > 0.5).float()]
    yield "SoftMarginLoss", nn.SoftMarginLoss(), [x, signs]
    yield "TripletMarginLoss", nn.TripletMarginLoss(margin=0.6, swap=True), [x, y, drawn(4, 3)]
    # Of logits: PyTorch's gradient by log-probabilities takes for granted that they come from log_softmax.
    yield "CTCLoss", lambda x, *rest: nn.CTCLoss()(torch.log_softmax(x, 2), *rest), [
        drawn(8, 3, 5), torch.tensor([[1, 2, 2, 0], [3, 4, 1, 0], [1, 1, 1, 2]]), torch.tensor([8, 6, 7]),
        torch.tensor([3, 2, 4])]


def losses():
    torch.manual_seed(3)
    cases = []
    for name, loss, inputs in loss_cases():
        tracked = [inputs[0].clone().requires_grad_()] + inputs[1:]
        value = loss(*tracked)
        value.backward()
        cases.append({"loss": name, "inputs": [tensor(x) for x in inputs], "value": tensor(value),
                      "gradient": tensor(tracked[0].grad)})
    write("losses.json", cases)


if __name__ == "__main__":
    optimizers()
    schedulers()
    modules()
    losses()
