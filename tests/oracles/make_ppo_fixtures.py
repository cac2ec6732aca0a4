"""Makes tests/fixtures/ppo*.safetensors: a rollout and one minibatch of Proximal Policy Optimization, written again in
PyTorch with autograd, in double precision, from the published losses: running normalisers, actions and their
log-probabilities, advantages as sums of temporal differences, shuffled minibatch, losses, common gradient norm, Adam. The
rollout is drawn with the weights `old`, the minibatch is taken with the weights `before`, so that the ratios are not 1.
Noise and order are those of the C code (make_algo_fixtures.py says how they are drawn).

    python tests/oracles/make_ppo_fixtures.py      (torch 2.13, numpy, scipy, safetensors)
"""

import numpy as np
import torch
from make_algo_fixtures import ACT, FIXTURES, OBS, REPLAY, Net, normals, words
from safetensors.numpy import save_file
from torch.distributions import Normal

STEPS, ENVS = 12, 2
EXPLORE = 2  # purpose of the random stream that acting uses


class Running:
    """Mean and variance of all rows so far, of n columns."""

    def __init__(self):
        self.rows = []

    def learn(self, rows):
        self.rows += list(rows)
        seen = torch.stack(self.rows)
        self.mean, self.std = seen.mean(0), (seen.var(0, unbiased=False) + 1e-6).sqrt()


def shuffled(n):
    """Fisher-Yates from the inside; draw i is unbiased below i + 1, by Lemire's method."""
    order = []
    for i in range(n):
        for w in words(REPLAY, i, 40):
            product = int(w) * (i + 1)
            if product % 2**32 >= 2**32 % (i + 1):
                break
        j = product >> 32
        order.append(i)
        order[i], order[j] = order[j], i
    return order


class PPO:
    def __init__(self, options):
        self.o, self.tensors = options, {}
        o, g = options, torch.Generator().manual_seed(79)
        net = lambda out: Net(OBS, out, o["width"], o["hidden"], torch.tanh, False, False, g)
        self.mu, self.V = net(ACT), net(1)
        self.log_sigma = torch.nn.Parameter(torch.tensor([-0.3, 0.2]).float().double())
        self.parameters = [*self.mu.parameters(), *self.V.parameters(), self.log_sigma]
        draw = lambda *shape: torch.randn(*shape, generator=g).float().double()
        self.obs, self.next_obs = draw(STEPS, ENVS, OBS) * 1.5 + 0.5, draw(STEPS, ENVS, OBS) * 1.5 + 0.5
        self.reward = draw(STEPS, ENVS) * 3 + 1
        self.terminated, self.truncated = (torch.rand(2, STEPS, ENVS, generator=g) < 0.2).double()
        self.terminated[4, 0] = self.truncated[4, 0] = 1  # terminated wins
        self.truncated[5, 1], self.terminated[5, 1] = 1, 0
        for name in "obs next_obs reward terminated truncated".split():
            setattr(self, name, getattr(self, name).float().double())
            self.put("steps/" + name, getattr(self, name))
        self.keep("old/")
        self.collect()
        with torch.no_grad():
            for p in self.parameters:
                scale = p.std() if p.numel() > 1 else p.abs()
                p.copy_((p + 0.12 * scale * torch.randn(p.shape, generator=g)).float())
        self.keep("before/")

    def put(self, name, value):
        value = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        self.tensors[name] = np.atleast_1d(np.ascontiguousarray(np.asarray(value, dtype=np.float32)))

    def keep(self, prefix):
        for name, net in (("policy", self.mu), ("value", self.V)):
            for part, value in net.named():
                self.put(f"{prefix}{name}/{part}", value)
        self.put(prefix + "log_sigma", self.log_sigma)

    def log_prob(self, s, a):
        return Normal(self.mu(s), self.log_sigma.exp()).log_prob(a).sum(-1)

    @torch.no_grad()
    def collect(self):
        o, running, returns = self.o, Running(), Running()
        G = torch.zeros(ENVS)
        s, a, r, beyond = [], [], [], []
        for t in range(STEPS):
            see = lambda x: ((x - running.mean) / running.std).clamp(-10, 10) if o["normalise_obs"] else x
            running.learn(self.obs[t])
            s.append(see(self.obs[t]))
            noise = normals(EXPLORE, t, ENVS * ACT).reshape(ENVS, ACT)
            a.append(self.mu(s[-1]) + self.log_sigma.exp() * noise)
            beyond.append(self.V(see(self.next_obs[t]))[:, 0])
            G = self.reward[t] + o["gamma"] * G
            returns.learn(G[:, None])
            scale = 1 / returns.std[0] if o["normalise_reward"] else 1
            scaled = self.reward[t] * scale
            r.append(scaled.clamp(-10, 10) if o["normalise_reward"] else scaled)
            G = torch.where((self.terminated[t] + self.truncated[t]) > 0, 0.0, G)
        s, a, r, beyond = torch.stack(s), torch.stack(a), torch.stack(r), torch.stack(beyond)
        over = (self.terminated + self.truncated).clamp(max=1)
        terminated = self.terminated if o["bootstrap_truncated"] else over
        V = self.V(s)[..., 0]
        following = torch.where(over > 0, beyond, torch.cat([V[1:], beyond[-1:]]))
        delta = r + o["gamma"] * (1 - terminated) * following - V
        A = torch.zeros(STEPS, ENVS)
        for i in range(ENVS):
            for t in range(STEPS):
                weight = 1.0
                for k in range(t, STEPS):
                    A[t, i] += weight * delta[k, i]
                    weight *= o["gamma"] * o["gae_lambda"]
                    if over[k, i]:
                        break
        self.rollout = dict(obs=s, action=a, log_prob=self.log_prob(s, a), value=V, reward=r, advantage=A, ret=A + V)
        self.rollout = {k: v.reshape(STEPS * ENVS, *v.shape[2:]) for k, v in self.rollout.items()}
        for name, value in self.rollout.items():
            self.put("rollout/" + name.replace("ret", "return"), value)
        self.put("action", a.clamp(-1, 1))

    def update(self, path):
        o, B = self.o, self.o["batch"]
        rows = shuffled(STEPS * ENVS)[:B]
        s, a, log_old, V_old, _, A, R = (value[rows] for value in self.rollout.values())
        A = (A - A.mean()) / (A.std() + 1e-8)
        log_ratio = self.log_prob(s, a) - log_old
        ratio, eps = log_ratio.exp(), o["clip_range"]
        policy_loss = torch.max(-A * ratio, -A * ratio.clamp(1 - eps, 1 + eps)).mean()
        V, c = self.V(s)[:, 0], o["clip_value"]
        errors = (V - R) ** 2
        if c > 0:
            errors = torch.max(errors, (V_old + (V - V_old).clamp(-c, c) - R) ** 2)
        value_loss = 0.5 * errors.mean()
        entropy = Normal(self.mu(s), self.log_sigma.exp()).entropy().sum(1).mean()
        loss = policy_loss + o["vf_coef"] * value_loss - o["ent_coef"] * entropy
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, o["max_grad_norm"] or torch.inf)
        torch.optim.Adam(self.parameters, lr=o["lr"], eps=o["adam_eps"]).step()
        clipped = ((ratio - 1).abs() > eps).double().mean()
        for name, value in dict(policy_gradient_loss=policy_loss, value_loss=value_loss, entropy_loss=-entropy, loss=loss,
                                approx_kl=(ratio - 1 - log_ratio).mean(), clip_fraction=clipped,
                                std=self.log_sigma.exp().mean(), learning_rate=o["lr"]).items():
            self.put("log/train/" + name, value)
        variance = 1 - (self.rollout["ret"] - self.rollout["value"]).var() / self.rollout["ret"].var()
        self.put("log/train/explained_variance", variance)
        self.put("after/policy_adam/m", 0.1 * self.mu.flat(lambda p: p.grad))
        self.put("after/value_adam/m", 0.1 * self.V.flat(lambda p: p.grad))
        self.put("after/log_sigma_adam/m", 0.1 * self.log_sigma.grad)
        self.keep("after/")
        text = " ".join(f"{key}={str(value).lower()}" for key, value in o.items())
        save_file(self.tensors, path, metadata={"options": text})
        moved = ((V - V_old).abs() > c).double().mean() if c > 0 else 0
        print(path.name, path.stat().st_size, f"bytes; norm {norm:.3g}, clipped {clipped:.2f}, V clipped {moved:.2f}")


COMMON = dict(n_steps=STEPS, batch=8, epochs=2, width=16, hidden=2, clip_range=0.2, lr=1e-3, adam_eps=1e-5)

if __name__ == "__main__":
    PPO(dict(COMMON, gamma=0.97, gae_lambda=0.9, clip_value=0.0, ent_coef=0.0, vf_coef=0.5, max_grad_norm=0.5,
             normalise_obs=True, normalise_reward=True, bootstrap_truncated=True)).update(FIXTURES / "ppo.safetensors")
    PPO(dict(COMMON, gamma=0.9, gae_lambda=0.8, clip_value=0.2, ent_coef=0.02, vf_coef=1.0, max_grad_norm=0.0,
             normalise_obs=False, normalise_reward=False, bootstrap_truncated=False)).update(
                 FIXTURES / "ppo_variant.safetensors")
