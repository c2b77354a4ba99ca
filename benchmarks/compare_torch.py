#!/usr/bin/env python3
"""Compares `remora bench cpu` with PyTorch and NumPy, by family of operations.

    benchmarks/compare_torch.py [--remora build/release/bin/remora] [--rounds N] [--threads N] [--only PREFIX]

prints JSON: {"machine", "build", "torch", "numpy", "threads", "rows": {KEY: {"remora_us", "torch_us", "numpy_us", "ratio"}}},
where ratio is ours to the better of the two; and, on stderr, the rows beyond --show. All three take turns, a round each, in
one run: a noisy hour meets all of them. Needs python3-torch and python3-numpy.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch

SMALL, LARGE, COLUMNS = 1 << 10, 1 << 22, 256
SAMPLE_S = 0.02


def families():
    """KEY: (PyTorch's call, NumPy's call or None), made when called, as bench_families.cpp makes them."""
    table = {}
    F = torch.nn.functional

    def unary(name, size, count, of_torch, of_numpy=None, scale=None, dtype=None):
        def make():
            x = torch.rand(count)
            if dtype is not None:
                x = (x * 100).to(dtype)
            array = None if dtype == torch.bfloat16 else x.numpy()
            return (lambda: of_torch(x)), (None if of_numpy is None or array is None else lambda: of_numpy(array))

        table[f"{name}_{size}"] = make

    def binary(name, size, count, of_torch, of_numpy=None):
        def make():
            x, y = torch.rand(count), torch.rand(count)
            a, b = x.numpy(), y.numpy()
            return (lambda: of_torch(x, y)), (None if of_numpy is None else lambda: of_numpy(a, b))

        table[f"{name}_{size}"] = make

    def rows(name, size, count, of_torch, of_numpy=None):
        def make():
            x = torch.rand(count // COLUMNS, COLUMNS)
            a = x.numpy()
            return (lambda: of_torch(x)), (None if of_numpy is None else lambda: of_numpy(a))

        table[f"{name}_{size}"] = make

    for size, count in (("1Ki", SMALL), ("4Mi", LARGE)):
        binary("add", size, count, torch.add, np.add)
        binary("div", size, count, torch.div, np.divide)
        binary("pow", size, count, torch.pow, np.power)
        binary("maximum", size, count, torch.maximum, np.maximum)
        binary("less", size, count, torch.lt, np.less)
        binary("less_where", size, count, lambda x, y: torch.where(x < y, x, y), lambda x, y: np.where(x < y, x, y))
        binary("atan2", size, count, torch.atan2, np.arctan2)
        unary("sqrt", size, count, torch.sqrt, np.sqrt)
        unary("exp", size, count, torch.exp, np.exp)
        unary("log", size, count, torch.log, np.log)
        unary("sin", size, count, torch.sin, np.sin)
        unary("tanh", size, count, torch.tanh, np.tanh)
        unary("expm1", size, count, torch.expm1, np.expm1)
        unary("log1p", size, count, torch.log1p, np.log1p)
        unary("asin", size, count, torch.asin, np.arcsin)
        unary("atan", size, count, torch.atan, np.arctan)
        unary("erf", size, count, torch.erf)
        unary("sigmoid", size, count, torch.sigmoid)
        unary("relu", size, count, torch.relu)
        unary("gelu", size, count, F.gelu)
        unary("lgamma", size, count, torch.lgamma)
        unary("round", size, count, torch.round, np.round)
        unary("astype_i64", size, count, lambda x: x.to(torch.int64), lambda x: x.astype(np.int64))
        unary("sum_all", size, count, torch.sum, np.sum)
        for name, of_torch, of_numpy in (
            ("exp", torch.exp, np.exp),
            ("sin", torch.sin, np.sin),
            ("log", torch.log, np.log),
            ("tanh", torch.tanh, np.tanh),
        ):
            unary(f"{name}_f64", size, count, of_torch, of_numpy, dtype=torch.float64)
        unary("add_i64", size, count, lambda x: x + x, lambda x: x + x, dtype=torch.int64)
        unary("mul_i32", size, count, lambda x: x * x, lambda x: x * x, dtype=torch.int32)
        unary("add_bf16", size, count, lambda x: x + x, dtype=torch.bfloat16)
        unary("sum_i64", size, count, torch.sum, np.sum, dtype=torch.int64)
        rows("transpose", size, count, lambda x: x.t().contiguous(), lambda x: np.ascontiguousarray(x.T))
        rows("sum_last", size, count, lambda x: x.sum(1), lambda x: x.sum(1))
        rows("sum_first", size, count, lambda x: x.sum(0), lambda x: x.sum(0))
        rows("var_last", size, count, lambda x: x.var(1), lambda x: x.var(1, ddof=1))
        rows("amax_last", size, count, lambda x: x.amax(1), lambda x: x.max(1))
        rows("argmax_last", size, count, lambda x: x.argmax(1), lambda x: x.argmax(1))
        rows("softmax_last", size, count, lambda x: x.softmax(1))
        rows("layer_norm_last", size, count, lambda x: F.layer_norm(x, (COLUMNS,)))
        rows("cumsum_last", size, count, lambda x: x.cumsum(1), lambda x: x.cumsum(1))
        rows("sort_last", size, count, lambda x: x.sort(1)[0])
        rows("topk4_last", size, count, lambda x: x.topk(4, 1)[0])
        rows("concat_last", size, count, lambda x: torch.cat((x, x), 1), lambda x: np.concatenate((x, x), 1))
        rows("flip_last", size, count, lambda x: x.flip(1), lambda x: np.ascontiguousarray(x[:, ::-1]))
        rows("rfft_rows", size, count, torch.fft.rfft, np.fft.rfft)

        def gather(count=count):
            x, index = torch.rand(count), (torch.rand(count) * (count - 1)).long()
            a, i = x.numpy(), index.numpy()
            return (lambda: x.gather(0, index)), (lambda: a[i])

        def index_select(count=count):
            x = torch.rand(count // COLUMNS, COLUMNS)
            index = torch.randint(0, len(x), (len(x),))
            a, i = x.numpy(), index.numpy()
            return (lambda: x.index_select(0, index)), (lambda: a[i])

        def index_add(count=count):
            x = torch.rand(count // COLUMNS, COLUMNS)
            index = torch.randint(0, len(x), (len(x),))
            return (lambda: x.index_add(0, index, x)), None

        def masked_select(count=count):
            x = torch.rand(count)
            mask = x > 0.5
            a, m = x.numpy(), mask.numpy()
            return (lambda: x.masked_select(mask)), (lambda: a[m])

        def uniform(count=count):
            generator = np.random.default_rng()
            return (lambda: torch.rand(count)), (lambda: generator.random(count, dtype=np.float32))

        def normal(count=count):
            generator = np.random.default_rng()
            return (lambda: torch.randn(count)), (lambda: generator.standard_normal(count, dtype=np.float32))

        table[f"gather_{size}"] = gather
        table[f"index_select_rows_{size}"] = index_select
        table[f"index_add_rows_{size}"] = index_add
        table[f"masked_select_{size}"] = masked_select
        table[f"uniform_{size}"] = uniform
        table[f"normal_{size}"] = normal

    def products(key, a_shape, b_shape):
        def make():
            a, b = torch.rand(a_shape), torch.rand(b_shape)
            x, y = a.numpy(), b.numpy()
            return (lambda: a @ b), (lambda: x @ y)

        table[key] = make

    products("matmul_64", (64, 64), (64, 64))
    products("matmul_1024", (1024, 1024), (1024, 1024))
    products("bmm_32x128", (32, 128, 128), (32, 128, 128))
    products("matvec_2048", (2048, 2048), (2048,))

    def attention(x):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(x, x, x, is_causal=True)
        length = x.shape[-2]  # PyTorch before 2.0
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (x / x.shape[-1] ** 0.5) @ x.transpose(-2, -1)
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ x

    for length in (128, 1024):

        def forward(length=length):
            x = torch.randn(1, 8, length, 64)
            return (lambda: attention(x)), None

        def backward(length=length):
            x = torch.randn(1, 8, length, 64, requires_grad=True)
            return (lambda: torch.autograd.grad(attention(x).sum(), x)), None

        table[f"attention_{length}"] = forward
        table[f"attention_grad_{length}"] = backward

    for batch in (1, 32):

        def images(key, call, weight_shape=None, grad=False, batch=batch):
            def make():
                x = torch.rand(batch, 32, 28, 28, requires_grad=grad)
                weight = None if weight_shape is None else torch.rand(weight_shape, requires_grad=grad)
                return (lambda: call(x, weight)), None

            table[f"{key}_b{batch}"] = make

        images("conv2d_3x3", F.conv2d, (64, 32, 3, 3))
        images("conv2d_1x1", F.conv2d, (64, 32, 1, 1))
        images("conv2d_depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=32), (32, 1, 3, 3))
        images(
            "conv2d_3x3_grad",
            lambda x, w: torch.autograd.grad(F.conv2d(x, w).sum(), (x, w)),
            (64, 32, 3, 3),
            grad=True,
        )
        images("max_pool2d_2x2", lambda x, _: F.max_pool2d(x, 2))
        images("avg_pool2d_2x2", lambda x, _: F.avg_pool2d(x, 2))
        images("batch_norm", lambda x, _: F.batch_norm(x, None, None, training=True))
        images("interpolate_bilinear", lambda x, _: F.interpolate(x, size=(56, 56), mode="bilinear"))

    def factor(key, size, of_torch, of_numpy=None):
        def make():
            x = torch.rand(size, size)
            x = x @ x.t() + torch.eye(size)
            a = x.numpy()
            return (lambda: of_torch(x)), (None if of_numpy is None else lambda: of_numpy(a))

        table[key] = make

    linalg = torch.linalg
    factor("cholesky_256", 256, linalg.cholesky, np.linalg.cholesky)
    factor("solve_256", 256, lambda x: linalg.solve(x, x), lambda x: np.linalg.solve(x, x))
    factor("inv_256", 256, linalg.inv, np.linalg.inv)
    factor("det_256", 256, linalg.det, np.linalg.det)
    factor("qr_256", 256, linalg.qr, np.linalg.qr)
    factor("svdvals_128", 128, linalg.svdvals, lambda x: np.linalg.svd(x, compute_uv=False))
    factor("eigvalsh_128", 128, linalg.eigvalsh, np.linalg.eigvalsh)
    return table


def sample_us(call):
    """The mean of as many calls as SAMPLE_S takes, after one that warms up."""
    call()
    begin = time.perf_counter()
    call()
    once = time.perf_counter() - begin
    repeats = max(1, min(1000, int(SAMPLE_S / max(once, 1e-9))))
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) / repeats * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--remora", default="build/release/bin/remora")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="keys that begin so")
    parser.add_argument("--show", type=float, default=1.0, help="ratios from which on a row is shown")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: arguments.threads])
    torch.set_num_threads(arguments.threads)

    table = {key: make() for key, make in families().items() if key.startswith(arguments.only)}
    command = [arguments.remora, "bench", "cpu", "--json", "--rounds", "1"]
    if arguments.only:
        command += ["--only", arguments.only]
    samples = {key: {"remora": [], "torch": [], "numpy": []} for key in table}
    suffix = f"_t{arguments.threads}_us"
    for _ in range(arguments.rounds):
        ours = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for key, (of_torch, of_numpy) in table.items():
            samples[key]["remora"].append(ours["figures"][key + suffix]["median"])
            samples[key]["torch"].append(sample_us(of_torch))
            if of_numpy is not None:
                samples[key]["numpy"].append(sample_us(of_numpy))

    rows = {}
    for key, taken in samples.items():
        row = {f"{name}_us": round(statistics.median(times), 3) for name, times in taken.items() if times}
        best = min(value for name, value in row.items() if name != "remora_us")
        row["ratio"] = round(row["remora_us"] / best, 2)
        rows[key] = row
    print(
        json.dumps(
            {
                "machine": ours["machine"],
                "build": ours["build"],
                "torch": torch.__version__,
                "numpy": np.__version__,
                "threads": arguments.threads,
                "rows": rows,
            },
            indent=1,
        )
    )
    for key, row in sorted(rows.items(), key=lambda item: -item[1]["ratio"]):
        if row["ratio"] >= arguments.show:
            print(f"{row['ratio']:8.2f}  {key}  {row}", file=sys.stderr)


if __name__ == "__main__":
    main()
