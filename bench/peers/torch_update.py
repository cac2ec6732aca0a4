"""One update of Diffusion Q-Sampling in PyTorch, written as one would write it; see peer.py for what it answers.

    python bench/peers/torch_update.py --fixture FOLDER [--threads N] [--hoist] [--compile]
"""
import peer

WORDS = peer.arguments(__doc__)
import torch  # noqa: E402  after the processors are chosen
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(WORDS.threads)


def sinusoid(u, size):
    half = size // 2
    angle = u[:, None] * 0.5 * 60.0 ** (torch.arange(half) / (half - 1))
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)


class Net(torch.nn.Module):
    def __init__(self, layers, layernorm, residual):
        super().__init__()
        self.linears = torch.nn.ModuleList(torch.nn.Linear(*weight.shape) for weight, _ in layers)
        self.layernorm, self.residual = layernorm, residual
        with torch.no_grad():
            for linear, (weight, bias) in zip(self.linears, layers):
                linear.weight.copy_(torch.tensor(weight.T.copy()))
                linear.bias.copy_(torch.tensor(bias))

    def part(self, x, first):
        """What columns first, first + 1, ... of the input add to the first layer."""
        return F.linear(x, self.linears[0].weight[:, first : first + x.shape[-1]])

    def rest(self, z):
        for i, linear in enumerate(self.linears[:-1]):
            z = z if i == 0 else linear(x)
            z = torch.relu(F.layer_norm(z, z.shape[-1:]) if self.layernorm else z)
            x = z + x if self.residual and i > 0 else z
        return self.linears[-1](x)

    def forward(self, x):
        return self.rest(self.linears[0](x))

    def layers(self):
        return [(l.weight.detach().numpy().T.copy(), l.bias.detach().numpy().copy()) for l in self.linears]


class Learner:
    def __init__(self, fixture):
        self.fixture, self.o = fixture, fixture.options
        o = self.o
        make = lambda net: Net(fixture.layers(net), net != "score" and o["critic_layernorm"],
                               net == "score" and o["score_residual"])
        self.critics, self.targets = [make("critic0"), make("critic1")], [make("target0"), make("target1")]
        self.score = make("score")
        self.optimisers = [torch.optim.Adam(net.parameters(), lr=lr, fused=True) for net, lr in
                           ((self.critics[0], o["lr_critic"]), (self.critics[1], o["lr_critic"]),
                            (self.score, o["lr_actor"]))]
        for optimiser, net, name in zip(self.optimisers, (*self.critics, self.score), ("critic0", "critic1", "score")):
            self.remember(optimiser, net, name)
        self.replay = {name: torch.tensor(rows) for name, rows in fixture.replay().items()}
        self.mean = torch.tensor(fixture.before["normaliser/shift"])
        self.scale = torch.tensor(fixture.before["normaliser/scale"])
        self.tables = {N: self.table(N) for N in (o["N"], peer.ACT_STEPS)}
        self.seen_T = sinusoid(torch.full((o["batch"],), float(fixture.seen_T())), o["embed"])
        self.obs = torch.randn(1, fixture.obs_dim)
        if WORDS.compile:  # a long loop of steps is not unrolled
            for name in ("draw" if o["N"] <= 50 else "sampler_step", "log_sum", "critic_loss", "actor_loss"):
                setattr(self, name, torch.compile(getattr(self, name), dynamic=False))

    def remember(self, optimiser, net, name):
        """Adam as it was in our learner."""
        m, v = self.fixture.moments(name, "m"), self.fixture.moments(name, "v")
        for linear, (mw, mb), (vw, vb) in zip(net.linears, m, v):
            for p, one, two in ((linear.weight, mw.T, vw.T), (linear.bias, mb, vb)):
                optimiser.state[p] = {"step": torch.tensor(float(self.fixture.steps_before(name))),
                                      "exp_avg": torch.tensor(one.copy()), "exp_avg_sq": torch.tensor(two.copy())}

    def table(self, N):
        """Embedding of each step's time and T, how the step moves, and the noise at the start."""
        tau, h, _, _ = self.fixture.levels(N)
        embedding = sinusoid(torch.tensor(tau, dtype=torch.float32), self.o["embed"])
        T = sinusoid(torch.full((N,), float(self.fixture.seen_T())), self.o["embed"])
        drift, spread = self.fixture.moves(N)
        drift = torch.tensor(drift) * self.score_scale(torch.tensor(h))
        return torch.cat([embedding, T], 1), drift.float(), torch.tensor(spread).float(), float(h[0] ** 0.5)

    def score_scale(self, h):
        gain = self.o["score_gain"]
        return gain / (1 + gain * h) if gain > 0 else torch.ones_like(h)

    def features(self, obs):
        return torch.clamp((obs - self.mean) * self.scale, -10, 10) if self.o["normalise_obs"] else obs

    def combine(self, q, how):
        return torch.minimum(*q) if how == "min" else (q[0] + q[1]) / 2

    # -- sampling
    def sampler_step(self, s, x, level, drift, spread, z):
        """s: features; or, hoisted, their part of the first layer. level: the embeddings, or theirs."""
        if WORDS.hoist:
            f = self.score.rest(s + level + self.score.part(x, self.fixture.obs_dim))
        else:
            f = self.score(torch.cat([s, x, level.expand(len(x), -1)], 1))
        return x + drift * f + spread * z

    @torch.no_grad()
    def draw(self, s, start, steps):
        N, d = len(steps), self.fixture.act_dim
        levels, drift, spread, sigma = self.tables[N]
        if WORDS.hoist:
            s = self.score.part(s, 0) + self.score.linears[0].bias
            levels = self.score.part(levels, self.fixture.obs_dim + d)
        x = start * sigma
        for n in range(N):
            x = self.sampler_step(s, x, levels[n], drift[n], spread[n], steps[n])
        return torch.tanh(x)

    # -- the score target
    def log_sum(self, s, x, e, sigma):
        """log sum_i exp(Q(s, x + sigma e_i)/T), summed over states."""
        y = x[:, None] + sigma[:, None, None] * e
        if WORDS.hoist:
            d0 = self.fixture.obs_dim
            q = [c.rest((c.part(s, 0) + c.linears[0].bias)[:, None] + c.part(y, d0))[..., 0] for c in self.critics]
        else:
            both = torch.cat([s[:, None].expand(-1, y.shape[1], -1), y], 2)
            q = [c(both)[..., 0] for c in self.critics]
        return torch.logsumexp(self.combine(q, self.o["energy_critics"]) / self.o["T"], 1).sum()

    def freeze(self, frozen):
        """Compiled, the backward pass would else make the gradients of all weights."""
        for critic in self.critics:
            critic.requires_grad_(not frozen)

    def scores(self, s, x, e, h):
        states, S = max(1, peer.CHUNK_ROWS // self.o["K"]), []
        self.freeze(True)
        for i in range(0, len(x), states):
            part = x[i : i + states].clone().requires_grad_()
            L = self.log_sum(s[i : i + states], part, e[i : i + states], h[i : i + states].sqrt())
            S += torch.autograd.grad(L, part)
        self.freeze(False)
        return torch.cat(S)

    # -- the losses
    def critic_loss(self, x, y):
        return sum(F.mse_loss(critic(x)[:, 0], y) for critic in self.critics)

    def actor_loss(self, s, a_tau, tau, h, S):
        scale = self.score_scale(h)[:, None]
        f = self.score(torch.cat([s, a_tau, sinusoid(tau, self.o["embed"]), self.seen_T], 1))
        if self.o["loss_weight"] == "lambda":
            return ((h[:, None] + 1e-3) * (scale * f - S) ** 2).mean()
        return F.mse_loss(f, S / scale)

    def learn(self, loss, optimisers):
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()

    def update(self, batch, noise):
        o = self.o
        s, s_next = self.features(batch["obs"]), self.features(batch["next_obs"])
        a_next = self.draw(s_next, noise["start"], noise["steps"])
        with torch.no_grad():
            x = torch.cat([s_next, a_next], 1)
            value = self.combine([target(x)[:, 0] for target in self.targets], o["target_critics"])
            y = o["reward_scale"] * batch["reward"] + o["gamma"] * (1 - batch["terminated"]) * value
        critic_loss = self.critic_loss(torch.cat([s, batch["action"]], 1), y)
        self.learn(critic_loss, self.optimisers[:2])

        tau, ratio = noise["tau"], o["sigma_max"] / o["sigma_min"]
        h = o["sigma_min"] ** 2 * (ratio ** (2 * tau.double()) - 1).float()
        a_tau = batch["action"] + h.sqrt()[:, None] * noise["action"]
        S = self.scores(s, a_tau, noise["samples"], h)
        actor_loss = self.actor_loss(s, a_tau, tau, h, S)
        self.learn(actor_loss, self.optimisers[2:])
        with torch.no_grad():
            for target, critic in zip(self.targets, self.critics):
                torch._foreach_lerp_(list(target.parameters()), list(critic.parameters()), o["eta"])
        return critic_loss, actor_loss

    # -- what peer.py asks for
    def update_as_recorded(self, fixture):
        tensors = lambda named: {name: torch.tensor(value) for name, value in named.items()}
        critic_loss, actor_loss = self.update(tensors(fixture.batch()), tensors(fixture.noise()))
        nets = dict(zip(peer.NETS, (*self.critics, *self.targets, self.score)))
        return ({name: net.layers() for name, net in nets.items()},
                {"critic_loss": critic_loss.item() / 2, "actor_loss": actor_loss.item()})

    def updates(self, count):
        o, d = self.o, self.fixture.act_dim
        B, K, N = o["batch"], o["K"], o["N"]
        for _ in range(count):
            slots = torch.randint(self.fixture.written, (B,))
            batch = {name: rows[slots] for name, rows in self.replay.items()}
            e = torch.randn(B, K // 2, d)
            noise = {"start": torch.randn(B, d), "steps": torch.randn(N, B, d),
                     "tau": (torch.arange(B) + torch.rand(B)) / B, "action": torch.randn(B, d),
                     "samples": torch.stack([e, -e], 2).reshape(B, K, d)}
            critic_loss, actor_loss = self.update(batch, noise)
        return critic_loss.item(), actor_loss.item()

    def act(self):
        d = self.fixture.act_dim
        return self.draw(self.features(self.obs), torch.randn(1, d), torch.randn(peer.ACT_STEPS, 1, d)).numpy()


if __name__ == "__main__":
    torch.manual_seed(0)
    fixture = peer.Fixture(WORDS.fixture)
    peer.serve(Learner(fixture), fixture)
