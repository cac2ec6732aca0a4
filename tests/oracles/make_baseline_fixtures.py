"""Makes tests/fixtures/{sac,td3,ddpg}*.safetensors: a few whole updates of Soft Actor-Critic, Twin Delayed DDPG and DDPG,
written again in PyTorch with autograd, in double precision, from the papers' losses. Minibatches and noise are those of
the C code (make_algo_fixtures.py says how they are drawn).

    python tests/oracles/make_baseline_fixtures.py      (torch 2.13, numpy, scipy, safetensors)
"""

import numpy as np
import torch
from make_algo_fixtures import ACT, FIXTURES, OBS, REPLAY, ROWS, TARGET, Net, normals, words
from safetensors.numpy import save_file
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform
from torch.nn.functional import mse_loss


class Learner:
    """What the three share: networks, transitions, minibatches, optimisers, and the file."""

    def __init__(self, options, n_critics, actor_out, target_actor):
        self.o = o = options
        self.tensors, self.logged = {}, {}
        g = torch.Generator().manual_seed(78)
        net = lambda n_in, n_out: Net(n_in, n_out, o["width"], o["hidden"], torch.relu, False, False, g)
        self.nets = {"actor": net(OBS, actor_out)}
        if target_actor:
            self.nets["actor_target"] = net(OBS, actor_out)
        for i in range(n_critics):
            self.nets[f"critic{i}"], self.nets[f"target{i}"] = net(OBS + ACT, 1), net(OBS + ACT, 1)
        self.critics = [self.nets[f"critic{i}"] for i in range(n_critics)]
        self.targets = [self.nets[f"target{i}"] for i in range(n_critics)]
        self.actor = self.nets["actor"]
        self.optimisers = {
            name: torch.optim.Adam(self.nets[name].parameters(), lr=o["lr_actor" if name == "actor" else "lr_critic"])
            for name in ["actor"] + [f"critic{i}" for i in range(n_critics)]
        }
        draw = lambda *shape: torch.randn(*shape, generator=g).float().double()
        self.data = dict(
            obs=draw(ROWS, OBS),
            next_obs=draw(ROWS, OBS),
            action=torch.tanh(draw(ROWS, ACT)).float().double(),
            reward=draw(ROWS),
            terminated=(torch.rand(ROWS, generator=g) < 0.3).double(),
        )
        for name, value in self.data.items():
            self.put(f"transitions/{name}", value)
        self.keep_nets("before/")
        self.updates, self.ticket = 0, 0

    def put(self, name, value):
        value = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        self.tensors[name] = np.atleast_1d(np.ascontiguousarray(np.asarray(value, dtype=np.float32)))

    def keep_nets(self, prefix):
        for name, net in self.nets.items():
            for part, value in net.named():
                self.put(f"{prefix}{name}/{part}", value)

    def minibatch(self):
        B = self.o["batch"]
        w = words(REPLAY, self.updates, 2 * B).reshape(B, 2)
        slots = [((int(high) << 32 | int(low)) * ROWS) >> 64 for high, low in w]
        self.updates += 1
        return (self.data[name][slots] for name in ("obs", "action", "reward", "next_obs", "terminated"))

    def noise(self):
        self.ticket += 1
        return normals(TARGET, self.ticket - 1, self.o["batch"] * ACT).reshape(-1, ACT)

    def values(self, nets, s, a):
        return torch.cat([net(torch.cat([s, a], dim=1)) for net in nets], dim=1)  # [B x critics]

    def descend(self, loss, *names):
        for name in names:
            self.optimisers[name].zero_grad()
        loss.backward()
        for name in names:
            self.optimisers[name].step()

    def fit_critics(self, s, a, y):
        q = self.values(self.critics, s, a)
        loss = sum(mse_loss(q[:, i], y) for i in range(q.shape[1]))
        self.descend(loss, *[f"critic{i}" for i in range(q.shape[1])])
        self.log("critic_loss", loss / q.shape[1])
        self.log("q_mean", q.mean())

    @torch.no_grad()
    def blend(self, target, net):
        for p, source in zip(target.parameters(), net.parameters()):
            p.lerp_(source, self.o["eta"])

    def log(self, name, value):
        self.logged.setdefault(name, []).append(float(value.detach()))

    def keep_more(self):
        pass

    def save(self, name, updates):
        for _ in range(updates):
            self.update()
        self.keep_nets("after/")
        self.keep_more()
        for part, optimiser in self.optimisers.items():
            if part in self.nets:
                m = self.nets[part].flat(lambda p: optimiser.state[p]["exp_avg"])
                self.put(f"after/{part}_adam/m", m)
        for what, values in self.logged.items():
            self.put(f"log/train/{what}", np.mean(values))
        self.put("updates", updates)
        settings = " ".join(f"{key}={value}" for key, value in self.o.items())
        path = FIXTURES / name
        save_file(self.tensors, path, metadata={"options": settings})  # one entry: their order is not fixed
        print(path, path.stat().st_size, "bytes")


# ---------------------------------------------------------------- DDPG and TD3
class DDPG(Learner):
    def __init__(self, options):
        super().__init__(options, options["n_critics"], ACT, target_actor=True)

    def target_action(self, s):
        return torch.tanh(self.nets["actor_target"](s))

    def actor_due(self):
        return True

    def update(self):
        o = self.o
        s, a, r, s_next, terminated = self.minibatch()
        with torch.no_grad():
            q_next = self.values(self.targets, s_next, self.target_action(s_next)).min(dim=1).values
            y = r + o["gamma"] * (1 - terminated) * q_next
        self.fit_critics(s, a, y)
        if not self.actor_due():
            return
        pi = torch.tanh(self.actor(s))
        loss = -self.values(self.critics[:1], s, pi).mean()
        self.descend(loss, "actor")
        self.log("actor_loss", loss)
        for target, net in zip(self.targets, self.critics):
            self.blend(target, net)
        self.blend(self.nets["actor_target"], self.actor)


class TD3(DDPG):
    def __init__(self, options):
        Learner.__init__(self, options, 2, ACT, target_actor=True)

    def target_action(self, s):
        c = self.o["target_clip"]
        noise = (self.o["target_noise"] * self.noise()).clamp(-c, c)
        return (torch.tanh(self.nets["actor_target"](s)) + noise).clamp(-1, 1)

    def actor_due(self):
        return self.updates % self.o["policy_delay"] == 0


# ---------------------------------------------------------------- SAC
class SAC(Learner):
    def __init__(self, options):
        super().__init__(options, 2, 2 * ACT, target_actor=False)
        self.log_alpha = torch.tensor(np.log(options["alpha"]), requires_grad=True)
        self.optimisers["alpha"] = torch.optim.Adam([self.log_alpha], lr=options["lr_alpha"])

    def sample(self, s):
        """a ~ pi(s) and log pi(a|s), reparameterised."""
        o = self.o
        mu, l = self.actor(s).chunk(2, dim=1)
        low, high = o["log_sigma_min"], o["log_sigma_max"]
        log_sigma = l.clamp(low, high) if o["log_sigma"] == "clamp" else low + (high - low) * (torch.tanh(l) + 1) / 2
        normal = Normal(mu, log_sigma.exp())
        pi = TransformedDistribution(normal, [TanhTransform(cache_size=1)])
        a = pi.transforms[0](mu + log_sigma.exp() * self.noise())
        return a, pi.log_prob(a).sum(dim=1)

    def update(self):
        o = self.o
        s, a, r, s_next, terminated = self.minibatch()
        with torch.no_grad():
            alpha = self.log_alpha.exp()
            a_next, log_pi = self.sample(s_next)
            soft = self.values(self.targets, s_next, a_next).min(dim=1).values - alpha * log_pi
            y = r + o["gamma"] * (1 - terminated) * soft
        self.fit_critics(s, a, y)
        for _ in range(o["actor_delay"] if self.updates % o["actor_delay"] == 0 else 0):
            alpha = self.log_alpha.exp().detach()
            pi, log_pi = self.sample(s)
            loss = (alpha * log_pi - self.values(self.critics, s, pi).min(dim=1).values).mean()
            self.descend(loss, "actor")
            self.log("actor_loss", loss)
            if o["temperature"] == "auto":
                target = o["entropy_target"] * ACT
                factor = self.log_alpha if o["alpha_loss"] == "log" else self.log_alpha.exp()
                loss = -(factor * (log_pi.detach() + target)).mean()
                self.descend(loss, "alpha")
                self.log("ent_coef_loss", loss)
        for target, net in zip(self.targets, self.critics):
            self.blend(target, net)

    def keep_more(self):
        self.put("after/log_alpha", self.log_alpha)


COMMON = dict(width=16, hidden=2, batch=36, replay=64, warmup=1, gamma=0.97, eta=0.01, lr_critic=1e-3, lr_actor=1e-3)

if __name__ == "__main__":
    DDPG(dict(COMMON, n_critics=1)).save("ddpg.safetensors", 2)
    TD3(dict(COMMON, policy_delay=2, target_noise=0.4, target_clip=0.5)).save("td3.safetensors", 2)
    soft = dict(COMMON, alpha=0.3, lr_alpha=1e-2, entropy_target=-1.0)
    SAC(dict(soft, temperature="auto", alpha_loss="log", log_sigma="tanh", log_sigma_min=-5.0, log_sigma_max=2.0,
             actor_delay=1)).save("sac.safetensors", 2)
    SAC(dict(soft, temperature="auto", alpha_loss="alpha", log_sigma="clamp", log_sigma_min=-0.8, log_sigma_max=0.5,
             actor_delay=2)).save("sac_variant.safetensors", 2)
