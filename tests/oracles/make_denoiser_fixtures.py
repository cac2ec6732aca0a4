"""Makes tests/fixtures/denoiser.safetensors: noise schedules as their authors define them, whole DDPM draws of a small
noise-prediction network with the gradient of a loss through all their steps (PyTorch's autograd, double precision), and
mixtures of Gaussians fitted by scikit-learn.

    python tests/oracles/make_denoiser_fixtures.py      (torch 2.13, numpy, scikit-learn 1.9, safetensors)
"""

import numpy as np
import torch
from make_algo_fixtures import ACT, FIXTURES, Net, normals, sinusoid
from safetensors.numpy import save_file
from sklearn.mixture import GaussianMixture

TARGET = 4  # the random stream of the draws
FEATURES, ROWS, WIDTH, EMBED = 5, 70, 32, 8  # 70 rows: more than a tile


# ---------------------------------------------------------------- schedules
def exponential(T):
    """Song et al.'s VP with rates 0.1 .. 10, as QSM and DACER discretise it."""
    t = np.arange(1, T + 1)
    return 1 - np.exp(-0.1 / T - 0.5 * (10 - 0.1) * (2 * t - 1) / T**2)


def cosine(T):
    """Nichol and Dhariwal."""
    u = np.linspace(0, 1, T + 1)
    bar = np.cos((u + 0.008) / 1.008 * np.pi / 2) ** 2
    return np.clip(1 - bar[1:] / bar[:-1], 0, 0.999)


class Schedule:
    def __init__(self, beta):
        self.T, self.beta = len(beta), beta
        self.alpha = 1 - beta
        self.bar = np.cumprod(self.alpha)
        self.before = np.append(1.0, self.bar[:-1])
        self.variance = beta * (1 - self.before) / (1 - self.bar)

    def posterior_mean(self, x0, x, t):
        return (
            self.beta[t] * np.sqrt(self.before[t]) * x0 + (1 - self.before[t]) * np.sqrt(self.alpha[t]) * x
        ) / (1 - self.bar[t])


# ---------------------------------------------------------------- draws
class Denoiser(torch.nn.Module):
    """e(s, a_t, t), and DDPM sampling from it. margin: how near a clip came to its kink."""

    def __init__(self, schedule, features, width, hidden, embed, generator):
        super().__init__()
        self.schedule, self.embed, self.margin = schedule, embed, 1.0
        mish = torch.nn.functional.mish
        self.net = Net(features + ACT + embed, ACT, width, hidden, mish, False, False, generator)

    def predict(self, s, x, level):
        u = (torch.as_tensor(level) + 1.0) / self.schedule.T
        return self.net(torch.cat([s, x, sinusoid(u.expand(len(s)), self.embed)], dim=1))

    def clip(self, v):
        self.margin = min(self.margin, (v.abs() - 1).abs().min().item())
        return v.clamp(-1, 1)

    def draw(self, s, kind, purpose=TARGET, ticket=0, noise=1.0):
        c, n = self.schedule, len(s)
        x = normals(purpose, ticket, n * ACT).reshape(n, ACT)
        for t in reversed(range(c.T)):
            e = self.predict(s, x, t)
            z = normals(purpose, ticket + t, n * ACT).reshape(n, ACT) * (noise if t > 0 else 0)
            if kind == "clip-x":
                x = (x - (1 - c.alpha[t]) / np.sqrt(1 - c.bar[t]) * e) / np.sqrt(c.alpha[t])
                x = self.clip(x + np.sqrt(c.beta[t]) * z)
            else:
                x0 = self.clip(x / np.sqrt(c.bar[t]) - np.sqrt(1 / c.bar[t] - 1) * e)
                x = c.posterior_mean(x0, x, t) + np.sqrt(c.variance[t]) * z
        return x


def draws(tensors):
    g = torch.Generator().manual_seed(5)
    s = torch.randn(ROWS, FEATURES, generator=g).float().double()
    weight = torch.randn(ROWS, ACT, generator=g).float().double()
    for name, schedule, kind in [
        ("qsm", Schedule(exponential(5)), "clip-x"),
        ("dacer", Schedule(exponential(20)), "clip-x0"),
        ("dipo", Schedule(cosine(12)), "clip-x0"),
    ]:
        d = Denoiser(schedule, FEATURES, WIDTH, 2, EMBED, g)
        for key, value in d.net.named():
            tensors[f"{name}/{key}"] = value
        action = d.draw(s, kind)
        tensors[f"{name}/action"] = action.detach()
        tensors[f"{name}/quiet"] = d.draw(s, kind, noise=0.0).detach()
        if kind == "clip-x0":
            (weight * action).sum().backward()
            tensors[f"{name}/gradient"] = d.net.flat(lambda p: p.grad)
        print(name, "nearest kink", d.margin)
    tensors["features"], tensors["d_action"] = s, weight


# ---------------------------------------------------------------- mixtures
class FromLabels(GaussianMixture):
    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, np.eye(3)[self.labels])


def entropy(g, dim):
    w = g.weights_
    log_det = np.linalg.slogdet(g.covariances_)[1]
    return -(w * np.log(w)).sum() + (w * 0.5 * (dim * (1 + np.log(2 * np.pi)) + log_det)).sum()


def mixtures(tensors):
    rng = np.random.default_rng(3)

    def clusters(centres, spread, n=200):
        centres = np.asarray(centres, dtype=float)
        which = np.arange(n) % len(centres)
        return centres[which] + spread * rng.standard_normal((n, centres.shape[1]))

    tilted = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3)) * 0.2
    sets = {
        "apart": clusters([[-0.7, -0.5], [0.6, 0.6], [0.5, -0.7]], 0.05),
        "line": clusters([[-0.6], [0.1], [0.8]], 0.04),
        "overlapping": clusters([[-0.2, 0], [0.2, 0.1], [0, 0.3]], 0.15),
        "tilted": tilted,
        "edge": np.clip(clusters([[0.95, -0.9], [-0.9, 1.0], [0.0, 1.1]], 0.2), -1, 1),
        "point": np.tile([[1.0, -1.0]], (200, 1)),  # no spread at all: the ridge alone
    }
    for name, x in sets.items():
        x = x.astype(np.float32).astype(np.float64)
        labels = (np.arange(len(x)) + (x[:, 0] > np.median(x[:, 0]))) % 3
        g = FromLabels(3)
        g.labels = labels
        g.fit(x)
        tensors[f"mixture/{name}/x"], tensors[f"mixture/{name}/labels"] = x, labels
        tensors[f"mixture/{name}/weights"], tensors[f"mixture/{name}/means"] = g.weights_, g.means_
        tensors[f"mixture/{name}/numbers"] = np.array([g.lower_bound_, entropy(g, x.shape[1]), g.n_iter_])
        if name not in ("edge", "point"):  # from its own k-means starts, the best of ten
            g = GaussianMixture(3, n_init=10, random_state=0).fit(x)
            tensors[f"mixture/{name}/best"] = np.array([g.lower_bound_, entropy(g, x.shape[1])])
            print(name, g.lower_bound_, entropy(g, x.shape[1]))


def main():
    tensors = {}
    for name, beta in [("vp5", exponential(5)), ("vp20", exponential(20)), ("cosine100", cosine(100))]:
        c = Schedule(beta)
        one = c.posterior_mean(1.0, 0.0, np.arange(c.T)), c.posterior_mean(0.0, 1.0, np.arange(c.T))
        tensors[f"schedule/{name}"] = np.stack([c.beta, c.alpha, c.bar, *one, np.sqrt(c.variance)])
    draws(tensors)
    mixtures(tensors)
    tensors = {k: np.ascontiguousarray(np.asarray(v), dtype=np.float32) for k, v in tensors.items()}
    path = FIXTURES / "denoiser.safetensors"
    save_file(tensors, path)
    print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
