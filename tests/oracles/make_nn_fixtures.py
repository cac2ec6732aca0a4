"""Makes tests/fixtures/nn.safetensors: forward and backward passes of PyTorch networks, steps of its
optimisers, and running statistics and embeddings by numpy. Everything is computed in double precision and
stored as float32.

    python tests/oracles/make_nn_fixtures.py        (torch 2.13, numpy, safetensors)
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

torch.set_default_dtype(torch.float64)
OUT = Path(__file__).resolve().parent.parent / "fixtures" / "nn.safetensors"
RELU, GELU, MISH, TANH = range(4)
ACT = {RELU: F.relu, GELU: lambda x: F.gelu(x, approximate="tanh"), MISH: F.mish, TANH: torch.tanh}
tensors = {}


def put(name, value):
    value = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    tensors[name] = np.ascontiguousarray(value if value.dtype == np.int64 else value.astype(np.float32))


def rounded(x):
    """To float32 and back, so that both sides start from the same numbers."""
    return x.to(torch.float32).to(torch.float64)


def flat(pairs):
    """(weight, bias) of every Linear to our layout: hidden [in x width], output [out x width]."""
    parts = []
    for i, (w, b) in enumerate(pairs):
        parts += [(w if i == len(pairs) - 1 else w.T).reshape(-1), b]
    return torch.cat(parts)


def network(case, seed, act, layernorm, residual, hidden, n_in=5, n_out=3, width=16, rows=6):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return rounded(torch.randn(*shape, generator=generator))

    linears = []
    for layer in range(hidden + 1):
        fan_in, fan_out = (n_in if layer == 0 else width), (n_out if layer == hidden else width)
        linear = torch.nn.Linear(fan_in, fan_out)
        with torch.no_grad():
            linear.weight.copy_(rounded(draw(fan_out, fan_in) * 1.5 / fan_in**0.5))
            linear.bias.copy_(rounded(draw(fan_out) * 0.3))
        linears.append(linear)
    x, dy = draw(rows, n_in).requires_grad_(), draw(rows, n_out)
    h = x
    for layer in range(hidden):
        z = linears[layer](h)
        if layernorm:
            z = F.layer_norm(z, (width,), eps=1e-5)
        a = ACT[act](z)
        h = a + h if residual and layer > 0 else a
    y = linears[-1](h)
    (y * dy).sum().backward()
    spec = [n_in, n_out, width, hidden, act, layernorm, residual, rows]
    put(f"net{case}/spec", np.array(spec, dtype=np.int64))
    put(f"net{case}/params", flat([(l.weight, l.bias) for l in linears]))
    put(f"net{case}/gradient", flat([(l.weight.grad, l.bias.grad) for l in linears]))
    for name, value in {"x": x, "dy": dy, "y": y, "dx": x.grad}.items():
        put(f"net{case}/{name}", value)


def optimiser(name, decay, max_norm, n=37, steps=20, lr=3e-3):
    generator = torch.Generator().manual_seed(11)
    p = torch.nn.Parameter(rounded(torch.randn(n, generator=generator)))
    scale = 10 ** torch.linspace(-4, 2, n)  # gradients of very different sizes
    gradients = rounded(torch.randn(steps, n, generator=generator) * scale)
    kind = torch.optim.AdamW if decay > 0 else torch.optim.Adam
    adam = kind([p], lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=decay)
    put(f"{name}/start", p)
    put(f"{name}/gradients", gradients)
    put(f"{name}/options", np.array([lr, decay, max_norm]))
    after, norms = [], []
    for g in gradients:
        p.grad = g.clone()
        norms.append(float(g.norm()))
        if max_norm > 0:
            torch.nn.utils.clip_grad_norm_([p], max_norm)
        adam.step()
        after.append(p.detach().clone())
    put(f"{name}/after", torch.stack(after))
    put(f"{name}/norms", np.array(norms))


def normaliser(rows=50, dim=3):
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(rows, dim)) * [1.0, 30.0, 1e-3] + [0.0, 500.0, 1.0]).astype(np.float32)
    x[7, 0] = 1000.0  # far out: clipped
    wide = x.astype(np.float64)
    mean, variance = wide.mean(0), wide.var(0)
    put("normaliser/x", x)
    put("normaliser/mean", mean)
    put("normaliser/variance", variance)
    put("normaliser/y", np.clip((wide - mean) / np.sqrt(variance + 1e-6), -10, 10))


def embeddings():
    u = np.array([0.0, 0.01, 0.37, 1.0, -2.9957, 0.5], dtype=np.float32)
    put("embed/u", u)
    for size in (2, 7, 32):
        half = size // 2
        f = 0.5 * 60.0 ** (np.arange(half) / max(half - 1, 1))
        angle = u.astype(np.float64)[:, None] * f
        rest = np.zeros((len(u), size - 2 * half))
        put(f"embed/{size}", np.concatenate([np.sin(angle), np.cos(angle), rest], axis=1))
    x = np.array([0.3, -1.7, 2.0], dtype=np.float32)
    parts = [x.astype(np.float64)]
    for j in range(4):
        parts += [np.sin(2.0**j * x.astype(np.float64)), np.cos(2.0**j * x.astype(np.float64))]
    put("octaves/x", x)
    put("octaves/y", np.concatenate(parts))


case = 0
for act in ACT:
    for layernorm, residual, hidden in ((0, 0, 1), (1, 1, 3)):
        network(case, 100 + case, act, layernorm, residual, hidden)
        case += 1
for act in (RELU, GELU):
    for layernorm, residual in ((1, 0), (0, 1)):
        network(case, 100 + case, act, layernorm, residual, 2)
        case += 1
put("nets", np.array([case], dtype=np.int64))
optimiser("adam", 0.0, 0.0)
optimiser("adamw", 0.1, 0.0)
optimiser("clipped", 0.0, 1.0)
normaliser()
embeddings()
save_file(tensors, OUT)
print(OUT, OUT.stat().st_size, "bytes")
