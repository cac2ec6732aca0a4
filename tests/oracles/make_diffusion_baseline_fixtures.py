"""Makes tests/fixtures/{qsm,dacer,dacer_dsac,dipo}.safetensors: a few whole updates of Q-Score Matching, DACER and DIPO, written
again in PyTorch with autograd, in double precision, from the papers and what is known of their authors' codes. Minibatches
and noise are those of the C code (make_algo_fixtures.py says how they are drawn).

    python tests/oracles/make_diffusion_baseline_fixtures.py      (torch 2.13, numpy, scipy, scikit-learn, safetensors)
"""

import torch
from make_algo_fixtures import ACT, OBS, REPLAY, ROWS, TARGET, Net, normals, uniforms, words
from make_baseline_fixtures import COMMON, Learner
from make_denoiser_fixtures import Denoiser, Schedule, cosine, exponential
from torch.nn.functional import mish, mse_loss, softplus


class DiffusionLearner(Learner):
    """A denoiser as the actor; activations and outputs of the critics to choose."""

    def __init__(self, options, kind, critic_act, critic_out=1, target_actor=False, eps=1e-8):
        super().__init__(options, 2, ACT, target_actor)
        o, g = options, torch.Generator().manual_seed(79)
        T = o["diffusion_steps"]
        schedule = Schedule(cosine(T) if o["schedule"] == "cosine" else exponential(T))
        self.kind, self.denoisers = kind, {}
        for name in ["actor", "actor_target"][: 1 + target_actor]:
            self.denoisers[name] = Denoiser(schedule, OBS, o["width"], o["hidden"], o["embed"], g)
            self.nets[name] = self.denoisers[name].net
        for name in ["critic0", "critic1", "target0", "target1"]:
            self.nets[name] = Net(OBS + ACT, critic_out, o["width"], o["hidden"], critic_act, False, False, g)
        self.critics = [self.nets["critic0"], self.nets["critic1"]]
        self.targets = [self.nets["target0"], self.nets["target1"]]
        self.actor = self.denoisers["actor"]
        for name in ["actor", "critic0", "critic1"]:
            lr = o["lr_actor" if name == "actor" else "lr_critic"]
            self.optimisers[name] = torch.optim.Adam(self.nets[name].parameters(), lr=lr, eps=eps)
        self.keep_nets("before/")

    def draw(self, s, name="actor"):
        first = self.ticket
        self.ticket += self.actor.schedule.T
        return self.denoisers[name].draw(s, self.kind, TARGET, first)

    def noised(self, a):
        """t uniform, z ~ N(0, I), a_t."""
        B, bar = len(a), torch.from_numpy(self.actor.schedule.bar)
        t = (uniforms(TARGET, self.ticket, B) * self.actor.schedule.T).long()
        self.ticket += 1
        z = self.noise()
        return t, z, bar[t].sqrt()[:, None] * a + (1 - bar[t]).sqrt()[:, None] * z

    def fit_actor(self, s, a_t, t, target):
        loss = mse_loss(self.actor.predict(s, a_t, t), target)
        self.descend(loss, "actor")
        self.log("actor_loss", loss)

    def save(self, name, updates):
        super().save(name, updates)
        print("  nearest kink of the draws", min(d.margin for d in self.denoisers.values()))


# ---------------------------------------------------------------- QSM
class QSM(DiffusionLearner):
    def __init__(self, options):
        super().__init__(options, "clip-x", torch.relu)

    def update(self):
        o = self.o
        s, a, r, s_next, terminated = self.minibatch()
        with torch.no_grad():
            a_next = (self.draw(s_next) + o["explore_noise"] * self.noise()).clamp(-1, 1)
            y = r + o["gamma"] * (1 - terminated) * self.values(self.targets, s_next, a_next).min(dim=1).values
        self.fit_critics(s, a, y)
        t, _, a_t = self.noised(a)
        a_t.requires_grad_()
        gradients = [torch.autograd.grad(q(torch.cat([s, a_t], dim=1)).sum(), a_t)[0] for q in self.critics]
        self.fit_actor(s, a_t.detach(), t, -o["M_q"] * (gradients[0] + gradients[1]) / 2)
        for target, net in zip(self.targets, self.critics):
            self.blend(target, net)


# ---------------------------------------------------------------- DACER
class DACER(DiffusionLearner):
    def __init__(self, options):
        self.dsac, self.kappa = options["critic"] == "dsac", [None, None]
        super().__init__(options, "clip-x0", mish, critic_out=2 if options["critic"] == "dsac" else 1)

    def act(self, s):
        return (self.draw(s) + self.o["noise"] * self.o["alpha"] * self.noise()).clamp(-1, 1)

    def gaussian(self, nets, s, a):
        """mu and sigma [B x 2]"""
        out = torch.stack([net(torch.cat([s, a], dim=1)) for net in nets], dim=1)
        return out[:, :, 0], softplus(out[:, :, 1])

    def fit_gaussian(self, s, a, y, y_z):
        mu, sigma = self.gaussian(self.critics, s, a)
        total = 0
        for i in range(2):
            m, sd, mean = mu[:, i], sigma[:, i], sigma[:, i].mean().item()
            eta, before = self.o["eta"], self.kappa[i]
            self.kappa[i] = k = mean if before is None else (1 - eta) * before + eta * mean
            bounded = m.detach() + (y_z - m.detach()).clamp(-3 * k, 3 * k)
            mean_part = m * (y - m).detach() / (sd.detach() ** 2 + 0.1)
            spread_part = sd * ((m - bounded) ** 2 - sd**2).detach() / (sd.detach() ** 3 + 0.1)
            total = total - (k**2 + 0.1) * (mean_part + spread_part).mean()
        self.descend(total, "critic0", "critic1")
        self.log("critic_loss", (mu - y[:, None]).pow(2).mean())
        self.log("q_mean", mu.mean())

    def update(self):
        o = self.o
        delayed = self.updates % o["policy_delay"] != 0
        s, a, r, s_next, terminated = self.minibatch()
        keep = o["gamma"] * (1 - terminated)
        with torch.no_grad():
            a_next = self.act(s_next)
            if self.dsac:
                mu, sigma = self.gaussian(self.targets, s_next, a_next)
                k = mu.argmin(dim=1, keepdim=True)
                z = normals(TARGET, self.ticket, len(s)).clamp(-3, 3)
                self.ticket += 1
                mu, sigma = mu.gather(1, k)[:, 0], sigma.gather(1, k)[:, 0]
                y, y_z = r + keep * mu, r + keep * (mu + sigma * z)
            else:
                y = r + keep * self.values(self.targets, s_next, a_next).min(dim=1).values
        if not delayed:  # the gradient by the critics as they are now; the critics' own is not touched
            q = [net(torch.cat([s, pi], dim=1))[:, 0] for pi in [self.act(s)] for net in self.critics]
            loss = -torch.minimum(*q).mean()
            self.log("actor_loss", loss)
            self.descend(loss, "actor")
        if self.dsac:
            self.fit_gaussian(s, a, y, y_z)
        else:
            self.fit_critics(s, a, y)
        if not delayed:
            for target, net in zip(self.targets, self.critics):
                self.blend(target, net)

    def keep_more(self):
        if self.dsac:
            self.put("after/kappa", self.kappa)


# ---------------------------------------------------------------- DIPO
class DIPO(DiffusionLearner):
    def __init__(self, options):
        super().__init__(options, "clip-x0", mish, target_actor=True, eps=options["adam_eps"])
        self.improved, self.samples = self.data["action"].clone(), 0

    def slots(self):
        B = self.o["batch"]
        w = words(REPLAY, self.samples, 2 * B).reshape(B, 2)
        self.samples += 1
        return [((int(high) << 32 | int(low)) * ROWS) >> 64 for high, low in w]

    def descend(self, loss, *names):
        """As the base class, with the gradients of all named networks clipped together."""
        for name in names:
            self.optimisers[name].zero_grad()
        loss.backward()
        parameters = [p for name in names for p in self.nets[name].parameters()]
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.o["max_grad_norm"])
        print("  norm", *names, round(norm.item(), 3))
        for name in names:
            self.optimisers[name].step()

    def action_gradient(self):
        o, slots = self.o, self.slots()
        s, a = self.data["obs"][slots], self.improved[slots].clone().requires_grad_()
        optimiser = torch.optim.Adam([a], lr=o["ascent_lr"], eps=o["adam_eps"])
        for _ in range(o["ascent_steps"]):
            optimiser.zero_grad()
            (-self.values(self.critics, s, a).min(dim=1).values).sum().backward()
            torch.nn.utils.clip_grad_norm_([a], o["ascent_norm"] * ACT)
            optimiser.step()
            with torch.no_grad():
                a.clamp_(-1, 1)
        self.improved[slots] = a.detach()
        return s, a.detach()

    def update(self):
        o = self.o
        slots = self.slots()
        s, a, r, s_next, terminated = (
            self.data[name][slots] for name in ("obs", "action", "reward", "next_obs", "terminated")
        )
        with torch.no_grad():
            a_next = self.draw(s_next, "actor_target")
            y = r + o["gamma"] * (1 - terminated) * self.values(self.targets, s_next, a_next).min(dim=1).values
        self.fit_critics(s, a, y)
        s, a = self.action_gradient()
        t, z, a_t = self.noised(a)
        self.fit_actor(s, a_t, t, z)
        for target, net in zip(self.targets, self.critics):
            self.blend(target, net)
        self.blend(self.nets["actor_target"], self.nets["actor"])

    def keep_more(self):
        untouched = torch.zeros(self.o["replay"] - ROWS, ACT)
        self.put("after/replay/improved", torch.cat([self.improved, untouched]))


if __name__ == "__main__":
    common = dict(COMMON, embed=8)
    QSM(dict(common, diffusion_steps=5, schedule="vp", M_q=50.0, explore_noise=0.1)).save("qsm.safetensors", 2)
    dacer = dict(common, diffusion_steps=20, schedule="vp", noise=0.1, alpha=3.0, alpha_period=0, policy_delay=2)
    DACER(dict(dacer, critic="mse")).save("dacer.safetensors", 2)
    DACER(dict(dacer, critic="dsac")).save("dacer_dsac.safetensors", 2)
    DIPO(
        dict(
            common,
            diffusion_steps=20,
            schedule="cosine",
            ascent_steps=20,
            ascent_lr=0.03,
            ascent_norm=0.1,
            adam_eps=1e-5,
            max_grad_norm=0.5,
            writeback="true",
        )
    ).save("dipo.safetensors", 2)
