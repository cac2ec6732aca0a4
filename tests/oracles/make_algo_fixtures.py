"""Makes tests/fixtures/dqs_*.safetensors: one whole update of Diffusion Q-Sampling, written again in
PyTorch with autograd, in double precision, from the papers' formulas: minibatch, policy's next actions, TD
target, twin critics' loss, noised actions, K-sample score target, regression of the score network, Adam,
Polyak, temperature. The random numbers are those of the C code, by an implementation of their definition
(Philox4x32-10, Box-Muller) in numpy.

    python tests/oracles/make_algo_fixtures.py      (torch 2.13, numpy, scipy, safetensors)
"""

from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from scipy.special import ndtr, ndtri

torch.set_default_dtype(torch.float64)
FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
OBS, ACT, ROWS, SEED = 3, 2, 40, 5
REPLAY, TARGET, SCORE, TEMPERATURE = 1, 4, 5, 6  # purposes of the random streams


# ---------------------------------------------------------------- random numbers
def splitmix(x):
    m = (1 << 64) - 1
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & m
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & m
    return x ^ (x >> 31)


def stream_key(purpose):
    m, golden = (1 << 64) - 1, 0x9E3779B97F4A7C15
    key = splitmix(splitmix(SEED + golden & m) + golden * (purpose + 1) & m)
    return key & 0xFFFFFFFF, key >> 32


def words(purpose, ticket, n):
    """The first n 32-bit words of a ticket."""
    blocks = (n + 3) // 4
    k0, k1 = stream_key(purpose)
    c0, c1 = np.arange(blocks, dtype=np.uint64), np.zeros(blocks, dtype=np.uint64)
    c2, c3 = np.full(blocks, ticket, dtype=np.uint64), np.zeros(blocks, dtype=np.uint64)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (b >> np.uint64(32)) ^ c1 ^ np.uint64(k0), b & low
        c2, c3 = (a >> np.uint64(32)) ^ c3 ^ np.uint64(k1), a & low
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).reshape(-1)[:n]


def uniforms(purpose, ticket, n):
    return torch.from_numpy(
        (words(purpose, ticket, n) >> np.uint64(9)).astype(np.float64) * 2.0**-23 + 2.0**-24
    )


def normals(purpose, ticket, n):
    u = uniforms(purpose, ticket, n + n % 2).reshape(-1, 2)
    radius, angle = torch.sqrt(-2 * torch.log(u[:, 0])), 2 * torch.pi * u[:, 1]
    return torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1).reshape(-1)[:n]


# ---------------------------------------------------------------- networks
class Net(torch.nn.Module):
    def __init__(self, n_in, n_out, width, hidden, act, layernorm, residual, generator):
        super().__init__()
        sizes = [n_in] + [width] * hidden + [n_out]
        self.linears = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.act, self.layernorm, self.residual = act, layernorm, residual
        with torch.no_grad():
            for p in self.parameters():
                scale = 1.2 / p.shape[1] ** 0.5 if p.dim() == 2 else 0.3
                p.copy_((torch.randn(p.shape, generator=generator) * scale).float())

    def forward(self, x):
        for i, linear in enumerate(self.linears[:-1]):
            z = linear(x)
            if self.layernorm:
                z = torch.nn.functional.layer_norm(z, z.shape[-1:], eps=1e-5)
            z = self.act(z)
            x = z + x if self.residual and i > 0 else z
        return self.linears[-1](x)

    def named(self, what=lambda p: p):
        """Name and array of every parameter in the layout of the C code: hidden weights [in x width]."""
        last = len(self.linears) - 1
        for i, linear in enumerate(self.linears):
            name = "out" if i == last else str(i)
            weight = what(linear.weight).detach().numpy()
            yield f"{name}.weight", weight if i == last else weight.T
            yield f"{name}.bias", what(linear.bias).detach().numpy()

    def flat(self, what):
        return np.concatenate([value.reshape(-1) for _, value in self.named(what)])


def sinusoid(u, size):
    half = size // 2
    angle = u[:, None] * 0.5 * 60.0 ** (torch.arange(half) / (half - 1))
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)


# ---------------------------------------------------------------- one update
class Update:
    def __init__(self, options, terminates):
        self.o = o = options
        self.tensors, self.terminates = {}, terminates
        g = torch.Generator().manual_seed(77)
        self.features_dim = OBS * (1 + 2 * o["obs_octaves"])
        critic = lambda: Net(
            self.features_dim + ACT,
            1,
            o["critic_width"],
            o["critic_hidden"],
            torch.relu,
            o["critic_layernorm"] == "true",
            False,
            g,
        )
        act = {"relu": torch.relu, "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh")}
        self.critics, self.targets = [critic(), critic()], [critic(), critic()]
        self.score = Net(
            self.features_dim + ACT + 2 * o["embed"],
            ACT,
            o["score_width"],
            o["score_hidden"],
            act[o["score_activation"]],
            False,
            o["score_residual"] == "true",
            g,
        )
        draw = lambda *shape: torch.randn(*shape, generator=g).float().double()
        self.obs, self.next_obs = draw(ROWS, OBS) * 1.5 + 0.5, draw(ROWS, OBS) * 1.5 + 0.5
        self.obs, self.next_obs = self.obs.float().double(), self.next_obs.float().double()
        self.action = torch.tanh(draw(ROWS, ACT)).float().double()
        self.reward = draw(ROWS)
        self.terminated = (torch.rand(ROWS, generator=g) < 0.3).double()
        self.keep(
            "transitions/",
            obs=self.obs,
            next_obs=self.next_obs,
            action=self.action,
            reward=self.reward,
            terminated=self.terminated,
        )
        self.keep_nets("before/")

    def put(self, name, value):
        value = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        self.tensors[name] = np.ascontiguousarray(np.asarray(value, dtype=np.float32))

    def keep(self, prefix, **named):
        for name, value in named.items():
            self.put(prefix + name, value)

    def keep_nets(self, prefix):
        nets = {
            "critic0": self.critics[0],
            "critic1": self.critics[1],
            "target0": self.targets[0],
            "target1": self.targets[1],
            "score": self.score,
        }
        for name, net in nets.items():
            for part, value in net.named():
                self.put(f"{prefix}{name}/{part}", value)

    def combine(self, nets, x, how):
        q = torch.cat([net(x) for net in nets], dim=1)
        automatic = "min" if self.terminates else "mean"
        return q.min(dim=1).values if (automatic if how == "auto" else how) == "min" else q.mean(dim=1)

    def features(self, obs):
        if self.o["normalise_obs"] == "true":
            mean, variance = self.obs.mean(0), self.obs.var(0, unbiased=False)
            obs = torch.clamp((obs - mean) / torch.sqrt(variance + 1e-6), -10, 10)
        parts = [obs]
        for j in range(self.o["obs_octaves"]):
            parts += [torch.sin(2.0**j * obs), torch.cos(2.0**j * obs)]
        return torch.cat(parts, dim=1)

    # -- diffusion
    def h(self, t):
        low, high = self.o["sigma_min"], self.o["sigma_max"]
        return low**2 * ((high / low) ** (2 * t) - 1)

    def scale(self, h):
        gain = self.o["score_gain"]
        return gain / (1 + gain * h) if gain > 0 else torch.ones_like(torch.as_tensor(h))

    def seen_T(self, T):
        return torch.log(T if self.o["T_input"] == "absolute" else T / self.o["T"])

    def predict(self, s, x, tau, T):
        E = self.o["embed"]
        return self.score(torch.cat([s, x, sinusoid(tau, E), sinusoid(self.seen_T(T), E)], dim=1))

    def squash(self, u):
        return torch.clamp(u, -1, 1) if self.o["squash"] in ("box", "clip") else torch.tanh(u)

    def bounded(self, S, x, h):
        """squash=clip: the score that points to the nearest place in the box."""
        return (torch.clamp(x + h * S, -1, 1) - x) / h if self.o["squash"] == "clip" else S

    @torch.no_grad()
    def draw(self, s):
        """Reverse diffusion from N(0, h(1))."""
        o, B, N = self.o, len(s), self.o["N"]
        T, ratio = torch.full((B,), o["T_target"] * o["T"]), o["sigma_max"] / o["sigma_min"]
        x = normals(TARGET, 0, B * ACT).reshape(B, ACT) * self.h(torch.tensor(1.0)).sqrt()
        for n in range(N):
            t, z = torch.tensor(1 - n / N), normals(TARGET, 1 + n, B * ACT).reshape(B, ACT)
            h, following = self.h(t), self.h(t - 1 / N) if n < N - 1 else torch.tensor(0.0)
            S = self.bounded(self.predict(s, x, t.expand(B), T) * self.scale(h), x, h)
            if o["sampler"] == "euler-maruyama":
                g2 = 2 * np.log(ratio) * o["sigma_min"] ** 2 * ratio ** (2 * t)
                x = x + g2 * S / N + (g2 / N).sqrt() * z
            else:  # ancestral
                D = x + h * S
                x = D + following / h * (x - D) + (following * (1 - following / h)).sqrt() * z
        return self.squash(x)

    def log_density(self, s, y, T):
        """L at points y [B x K x d]."""
        B, K, d = y.shape
        a = torch.tanh(y) if self.o["squash"] == "latent" else y
        x = torch.cat([s[:, None].expand(B, K, s.shape[1]), a], dim=2).reshape(B * K, -1)
        L = self.combine(self.critics, x, self.o["energy_critics"]).reshape(B, K) / T[:, None]
        return L + torch.log(1 - a * a).sum(2) if self.o["squash"] == "latent" else L

    def gradient_scores(self, s, x, h, T, noise):
        """grad_x log sum_i exp L(x + sqrt(h) e_i): what autograd makes of it, with antithetic e_i."""
        K = self.o["K"]
        half = noise.reshape(len(x), -1)[:, : (K + 1) // 2 * ACT].reshape(len(x), -1, ACT)
        e = torch.stack([half, -half], dim=2).reshape(len(x), -1, ACT)[:, :K]
        x = x.clone().requires_grad_()
        L = self.log_density(s, x[:, None] + h.sqrt()[:, None, None] * e, T)
        (S,) = torch.autograd.grad(torch.logsumexp(L, dim=1).sum(), x)
        w = torch.softmax(L, dim=1)
        return S, 1 / (w * w).sum(1)

    def shifted_scores(self, s, x, h, T, u):
        """Importance sampling in the box: pairs from N(x, h) and N(x + h grad L, h) in turn, truncated."""
        K, B = self.o["K"], len(x)
        half = u.reshape(B, -1)[:, : K // 2 * ACT].reshape(B, K // 2, ACT).numpy()
        u = np.stack([half, 1 - half], axis=2).reshape(B, K, ACT)
        inside = x.clamp(-1, 1).requires_grad_()
        (g,) = torch.autograd.grad(self.log_density(s, inside[:, None], T).sum(), inside)
        sigma = h.sqrt().numpy()[:, None, None]
        far = 1 + 2 * sigma
        step = h[:, None] * g  # at most sqrt(h) long
        step = step * torch.clamp(h.sqrt() / step.norm(dim=1), max=1)[:, None]
        centres = [x.numpy()[:, None], np.clip((x + step).numpy()[:, None], -far, far)]
        low = [ndtr((-1 - c) / sigma) for c in centres]
        width = [ndtr((1 - c) / sigma) - a for c, a in zip(centres, low)]
        shifted = (np.arange(K) // 2 % 2 == 1)[None, :, None]
        c, a, w = (np.where(shifted, q[1], q[0]) for q in (centres, low, width))
        u = np.where(c < -1, 1 - u, u)  # left of the box the C code counts probabilities from the right
        y = np.clip(c + sigma * ndtri(a + u * w), -1, 1)
        log_q = [(-0.5 * ((y - c) / sigma) ** 2 - np.log(w)).sum(2) for c, w in zip(centres, width)]
        log_q = np.logaddexp(log_q[0], log_q[1])
        log_target = (-0.5 * ((y - x.numpy()[:, None]) / sigma) ** 2).sum(2)
        with torch.no_grad():
            L = self.log_density(s, torch.from_numpy(y), T) + torch.from_numpy(log_target - log_q)
        w = torch.softmax(L, dim=1)
        S = (w[:, :, None] * (torch.from_numpy(y) - x[:, None])).sum(1) / h[:, None]
        return S, 1 / (w * w).sum(1)

    # -- optimisers
    def clipped(self, net):
        if self.o["max_grad_norm"] > 0:
            torch.nn.utils.clip_grad_norm_(net.parameters(), self.o["max_grad_norm"])

    def step(self, net, lr, name):
        self.clipped(net)
        torch.optim.Adam(net.parameters(), lr=lr, eps=1e-8).step()
        self.put(f"after/{name}_adam/m", 0.1 * net.flat(lambda p: p.grad))

    def temperature_probe(self, s):
        """Spread of Q and entropy of exp(Q/T) over 64 uniform actions at each of 32 states."""
        a = (2 * uniforms(TEMPERATURE, 0, 32 * 64 * ACT) - 1).reshape(32, 64, ACT)
        x = torch.cat([s[:32, None].expand(32, 64, -1), a], dim=2).reshape(32 * 64, -1)
        with torch.no_grad():
            Q = self.combine(self.critics, x, self.o["energy_critics"]).reshape(32, 64)
        L = Q / self.o["T"]
        entropy = ACT * np.log(2) + torch.logsumexp(L, 1) - np.log(64) - (torch.softmax(L, 1) * L).sum(1)
        spread = Q.var(1).mean().sqrt()
        self.keep(
            "after/",
            **{"temperature/spread": spread.reshape(1), "temperature/T": self.o["kappa"] * spread.reshape(1)},
        )
        self.put("log/train/entropy_per_dim", entropy.mean().reshape(1) / ACT)

    def run(self, path):
        o, B = self.o, self.o["batch"]
        w = words(REPLAY, 0, 2 * B).reshape(B, 2)
        slots = [((int(high) << 32 | int(low)) * ROWS) >> 64 for high, low in w]
        s, s_next, action = (
            self.features(self.obs[slots]),
            self.features(self.next_obs[slots]),
            self.action[slots],
        )

        a_next = self.draw(s_next)
        with torch.no_grad():
            value = self.combine(self.targets, torch.cat([s_next, a_next], 1), o["target_critics"])
            y = o["reward_scale"] * self.reward[slots] + o["gamma"] * (1 - self.terminated[slots]) * value
        x = torch.cat([s, action], dim=1)
        q = [net(x)[:, 0] for net in self.critics]
        for i, net in enumerate(self.critics):
            if o["huber"] > 0:  # torch's is e^2/2 inside
                loss = 2 * torch.nn.functional.huber_loss(q[i], y, delta=o["huber"])
            else:
                loss = torch.nn.functional.mse_loss(q[i], y)
            loss.backward()
            self.step(net, o["lr_critic"], f"critic{i}")
        self.put("log/train/critic_loss", (torch.stack(q) - y).pow(2).mean().reshape(1))
        self.put("log/train/q_mean", torch.stack(q).mean().reshape(1))

        own_s, a0 = (s_next, a_next) if o["noised"] == "policy" else (s, action)
        if o["squash"] == "latent":
            a0 = torch.atanh(a0.clamp(-0.999, 0.999))
        tau = (torch.arange(B) + uniforms(SCORE, 0, B)) / B
        h = self.h(tau)
        a_tau = a0 + h.sqrt()[:, None] * normals(SCORE, 1, B * ACT).reshape(B, ACT)
        hot = np.log(o["T_spread"])
        cold = min(-hot, np.log(o["T_target"]))
        T = o["T"] * torch.exp(cold + (hot - cold) * uniforms(SCORE, 2, B))
        per_state = ((o["K"] + 1) // 2 * ACT + 3) // 4 * 4
        if o["estimator"] == "shifted":
            S, ess = self.shifted_scores(own_s, a_tau, h, T, uniforms(SCORE, 3, B * per_state))
        else:
            S, ess = self.gradient_scores(own_s, a_tau, h, T, normals(SCORE, 3, B * per_state))
        if o["score_clip"] > 0:
            S = S * torch.clamp(o["score_clip"] / S.norm(dim=1, keepdim=True), max=1)
        raw, S = S, self.bounded(S, a_tau, h[:, None])
        self.put("log/train/score_ess", ess.mean().reshape(1))

        scale = self.scale(h)[:, None]
        f = self.predict(own_s, a_tau, tau, T)
        if o["loss_weight"] == "lambda":
            loss = ((h[:, None] + 1e-3) * (scale * f - S).pow(2)).mean()
        else:
            error = f - S / scale
            if o["squash"] == "clip":  # at the same wall: nothing to learn
                D = [torch.clamp(a_tau + h[:, None] * score, -1, 1) for score in (scale * f, raw)]
                error = torch.where((D[0] == D[1]) & (D[1].abs() == 1), 0.0, error)
            loss = error.pow(2).mean()
        loss.backward()
        self.put("log/train/actor_loss", loss.reshape(1))
        self.step(self.score, o["lr_actor"], "score")

        with torch.no_grad():
            for target, net in zip(self.targets, self.critics):
                for p, source in zip(target.parameters(), net.parameters()):
                    p.lerp_(source, o["eta"])
        if o["temperature"] == "relative":
            self.temperature_probe(own_s)
        self.keep_nets("after/")
        settings = " ".join(f"{key}={value}" for key, value in o.items())
        self.put("terminates", np.array([self.terminates]))
        save_file(self.tensors, path, metadata={"options": settings})  # one entry: their order is not fixed
        print(path, path.stat().st_size, "bytes")


COMMON = dict(
    critic_width=16,
    critic_hidden=2,
    score_width=16,
    score_hidden=2,
    embed=8,
    obs_octaves=0,
    batch=36,
    replay=64,
    warmup=1,
    gamma=0.97,
    eta=0.01,
    lr_critic=1e-3,
    lr_actor=1e-3,
    max_grad_norm=0.0,
    huber=0.0,
    reward_scale=1.0,
    score_clip=0.0,
    kappa=0.05,
    sigma_max=1.0,
    T_spread=1.0,
    T_target=1.0,
    K=8,
    N=4,
)
PAPER = dict(
    COMMON,
    critic_layernorm="false",
    normalise_obs="false",
    squash="paper",
    estimator="gradient",
    sampler="euler-maruyama",
    sigma_min=0.1,
    score_gain=0.0,
    loss_weight="lambda",
    noised="buffer",
    temperature="fixed",
    T=0.3,
    T_input="absolute",
    target_critics="min",
    energy_critics="min",
    score_activation="relu",
    score_residual="true",
    score_clip=6.0,
)
LATENT = dict(
    COMMON,
    critic_layernorm="true",
    normalise_obs="true",
    squash="latent",
    estimator="gradient",
    sampler="ancestral",
    sigma_min=0.02,
    score_gain=20.0,
    loss_weight="unit",
    noised="buffer",
    temperature="relative",
    T=0.5,
    T_input="relative",
    T_spread=2.0,
    target_critics="mean",
    energy_critics="mean",
    score_activation="gelu",
    score_residual="false",
    K=5,
    obs_octaves=1,
    reward_scale=0.5,
)
CLIP = dict(
    LATENT,
    squash="clip",
    temperature="fixed",
    T=0.05,
    T_spread=1.0,
    T_target=0.2,
    score_activation="relu",
    score_residual="true",
    obs_octaves=0,
)
BOX = dict(
    COMMON,
    critic_layernorm="true",
    normalise_obs="true",
    squash="box",
    estimator="shifted",
    sampler="ancestral",
    sigma_min=0.02,
    score_gain=20.0,
    loss_weight="unit",
    noised="policy",
    temperature="fixed",
    T=0.5,
    T_input="relative",
    target_critics="auto",
    energy_critics="auto",
    score_activation="gelu",
    score_residual="true",
    huber=0.5,
    max_grad_norm=0.5,
    K_low=8,
    sigma_low=0.0,
)

if __name__ == "__main__":
    Update(PAPER, terminates=True).run(FIXTURES / "dqs_paper.safetensors")
    Update(LATENT, terminates=False).run(FIXTURES / "dqs_latent.safetensors")
    Update(CLIP, terminates=False).run(FIXTURES / "dqs_clip.safetensors")
    Update(BOX, terminates=True).run(FIXTURES / "dqs_box.safetensors")
