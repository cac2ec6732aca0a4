"""One update of Diffusion Q-Sampling in JAX, jitted as a whole, written as one would write it; see peer.py for what it
answers.

    python bench/peers/jax_update.py --fixture FOLDER [--threads N] [--hoist]
"""
import numpy as np
import peer

WORDS = peer.arguments(__doc__)
import os  # noqa: E402

os.environ["JAX_PLATFORMS"] = "cpu"
import jax  # noqa: E402  after the processors are chosen
import jax.numpy as jnp  # noqa: E402

BETA1, BETA2, EPS = 0.9, 0.999, 1e-8


def sinusoid(u, size):
    half = size // 2
    angle = u[..., None] * 0.5 * 60.0 ** (jnp.arange(half) / (half - 1))
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)


def rest(layers, z, layernorm, residual):
    """From the first layer's sums to the output."""
    x = None
    for i, (weight, bias) in enumerate(layers[:-1]):
        z = z if i == 0 else x @ weight + bias
        if layernorm:
            z = z - z.mean(-1, keepdims=True)
            z = z * jax.lax.rsqrt((z * z).mean(-1, keepdims=True) + 1e-5)
        z = jax.nn.relu(z)
        x = z + x if residual and i > 0 else z
    return x @ layers[-1][0] + layers[-1][1]


def part(layers, x, first):
    """What inputs first, first + 1, ... add to the first layer."""
    return x @ layers[0][0][first : first + x.shape[-1]]


def adam(params, gradient, moments, lr):
    m, v, t = moments
    t = t + 1
    m = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, m, gradient)
    v = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, v, gradient)
    c1, c2 = 1 / (1 - BETA1**t), 1 / (1 - BETA2**t)
    params = jax.tree.map(lambda p, m, v: p - lr * m * c1 / (jnp.sqrt(v * c2) + EPS), params, m, v)
    return params, (m, v, t)


class Learner:
    """The state is a tree {net: layers, net_adam: (m, v, t)}; all methods on it are pure."""

    def __init__(self, fixture):
        self.fixture, self.o = fixture, fixture.options
        self.state = {net: fixture.layers(net) for net in peer.NETS}
        for net in ("critic0", "critic1", "score"):
            self.state[f"{net}_adam"] = (fixture.moments(net, "m"), fixture.moments(net, "v"),
                                         np.float32(fixture.steps_before(net)))
        self.state = jax.tree.map(lambda x: jnp.array(x, dtype=jnp.float32), self.state)
        self.replay = {name: jnp.array(rows) for name, rows in fixture.replay().items()}
        self.mean = jnp.array(fixture.before["normaliser/shift"])
        self.std_inverse = jnp.array(fixture.before["normaliser/scale"])
        self.key = jax.random.key(0)
        self.obs = jax.random.normal(self.key, (1, fixture.obs_dim))
        self.jit_recorded = jax.jit(self.update)
        self.jit_update = jax.jit(self.sampled_update, donate_argnums=0)
        self.jit_act = jax.jit(self.sampled_act)

    def score_scale(self, h):
        gain = self.o["score_gain"]
        return gain / (1 + gain * h) if gain > 0 else 1 + 0 * h

    def features(self, obs):
        return jnp.clip((obs - self.mean) * self.std_inverse, -10, 10) if self.o["normalise_obs"] else obs

    def combine(self, q, how):
        return jnp.minimum(*q) if how == "min" else (q[0] + q[1]) / 2

    def critic(self, layers, *parts):
        return self.enter(layers, parts, self.o["critic_layernorm"], False)[..., 0]

    def enter(self, layers, parts, layernorm, residual):
        """A network at inputs given by parts that broadcast against each other."""
        if WORDS.hoist:
            z, first = layers[0][1], 0
            for x in parts:
                z, first = z + part(layers, x, first), first + x.shape[-1]
        else:
            rows = jnp.broadcast_shapes(*(x.shape[:-1] for x in parts))
            x = jnp.concatenate([jnp.broadcast_to(x, (*rows, x.shape[-1])) for x in parts], -1)
            z = x @ layers[0][0] + layers[0][1]
        return rest(layers, z, layernorm, residual)

    def draw(self, score, s, start, steps):
        """Reverse diffusion. Hoisted: what does not change from step to step stays outside of the loop."""
        o, N, obs_dim = self.o, len(steps), self.fixture.obs_dim
        tau, h, _, _ = self.fixture.levels(N)
        drift, spread = (jnp.array(x, jnp.float32) for x in self.fixture.moves(N))
        T = jnp.full((N,), self.fixture.seen_T(), jnp.float32)
        levels = jnp.concatenate([sinusoid(jnp.array(tau, jnp.float32), o["embed"]), sinusoid(T, o["embed"])], -1)
        drift = drift * self.score_scale(jnp.array(h, jnp.float32))
        if WORDS.hoist:
            s, levels = part(score, s, 0) + score[0][1], part(score, levels, obs_dim + self.fixture.act_dim)

        def step(x, now):
            level, drift, spread, z = now
            if WORDS.hoist:
                f = rest(score, s + level + part(score, x, obs_dim), False, o["score_residual"])
            else:
                f = self.enter(score, (s, x, level[None]), False, o["score_residual"])
            return x + drift * f + spread * z, None

        x, _ = jax.lax.scan(step, start * float(h[0] ** 0.5), (levels, drift, spread, steps))
        return jnp.tanh(x)

    def scores(self, critics, s, x, e, h):
        def log_sum(x, s, e, sigma):
            """log sum_i exp(Q(s, x + sigma e_i)/T) of one state."""
            q = [self.critic(layers, s[None], x + sigma * e) for layers in critics]
            return jax.nn.logsumexp(self.combine(q, self.o["energy_critics"]) / self.o["T"])

        one = jax.grad(log_sum)
        states = max(1, peer.CHUNK_ROWS // self.o["K"])
        if states >= len(x):
            return jax.vmap(one)(x, s, e, jnp.sqrt(h))
        return jax.lax.map(lambda row: one(*row), (x, s, e, jnp.sqrt(h)), batch_size=states)

    def update(self, state, batch, noise):
        o = self.o
        s, s_next = self.features(batch["obs"]), self.features(batch["next_obs"])
        a_next = self.draw(state["score"], s_next, noise["start"], noise["steps"])
        value = self.combine([self.critic(state[f"target{i}"], s_next, a_next) for i in (0, 1)], o["target_critics"])
        y = o["reward_scale"] * batch["reward"] + o["gamma"] * (1 - batch["terminated"]) * value

        def critic_loss(layers):
            return ((self.critic(layers, s, batch["action"]) - y) ** 2).mean()

        critics, losses = [], []
        for i in (0, 1):
            loss, gradient = jax.value_and_grad(critic_loss)(state[f"critic{i}"])
            layers, moments = adam(state[f"critic{i}"], gradient, state[f"critic{i}_adam"], o["lr_critic"])
            target = jax.tree.map(lambda t, p: t + o["eta"] * (p - t), state[f"target{i}"], layers)
            state = {**state, f"critic{i}": layers, f"critic{i}_adam": moments, f"target{i}": target}
            critics.append(layers)
            losses.append(loss)

        h = o["sigma_min"] ** 2 * jnp.expm1(2 * np.log(o["sigma_max"] / o["sigma_min"]) * noise["tau"])
        a_tau = batch["action"] + jnp.sqrt(h)[:, None] * noise["action"]
        S, scale = self.scores(critics, s, a_tau, noise["samples"], h), self.score_scale(h)[:, None]
        T = jnp.full((len(s),), self.fixture.seen_T(), jnp.float32)

        def actor_loss(layers):
            f = self.enter(layers, (s, a_tau, sinusoid(noise["tau"], o["embed"]), sinusoid(T, o["embed"])), False,
                           o["score_residual"])
            if o["loss_weight"] == "lambda":
                return ((h[:, None] + 1e-3) * (scale * f - S) ** 2).mean()
            return ((f - S / scale) ** 2).mean()

        loss, gradient = jax.value_and_grad(actor_loss)(state["score"])
        layers, moments = adam(state["score"], gradient, state["score_adam"], o["lr_actor"])
        return {**state, "score": layers, "score_adam": moments}, (sum(losses) / 2, loss)

    def sampled_update(self, state, replay, key):
        o, d = self.o, self.fixture.act_dim
        B, K, N = o["batch"], o["K"], o["N"]
        keys = jax.random.split(key, 7)
        slots = jax.random.randint(keys[0], (B,), 0, self.fixture.written)
        e = jax.random.normal(keys[5], (B, K // 2, d))
        noise = {"start": jax.random.normal(keys[1], (B, d)), "steps": jax.random.normal(keys[2], (N, B, d)),
                 "tau": (jnp.arange(B) + jax.random.uniform(keys[3], (B,))) / B,
                 "action": jax.random.normal(keys[4], (B, d)), "samples": jnp.stack([e, -e], 2).reshape(B, K, d)}
        state, losses = self.update(state, {name: rows[slots] for name, rows in replay.items()}, noise)
        return state, losses, keys[6]

    def sampled_act(self, score, obs, key):
        d = self.fixture.act_dim
        one, two, following = jax.random.split(key, 3)
        action = self.draw(score, self.features(obs), jax.random.normal(one, (1, d)),
                           jax.random.normal(two, (peer.ACT_STEPS, 1, d)))
        return action, following

    # -- what peer.py asks for
    def update_as_recorded(self, fixture):
        state, losses = self.jit_recorded(self.state, fixture.batch(), fixture.noise())
        layers = {net: [(np.array(w), np.array(b)) for w, b in state[net]] for net in peer.NETS}
        return layers, {"critic_loss": float(losses[0]), "actor_loss": float(losses[1])}

    def updates(self, count):
        for _ in range(count):
            self.state, losses, self.key = self.jit_update(self.state, self.replay, self.key)
        jax.block_until_ready((self.state, losses))

    def act(self):
        action, self.key = self.jit_act(self.state["score"], self.obs, self.key)
        return np.array(action)


if __name__ == "__main__":
    fixture = peer.Fixture(WORDS.fixture)
    peer.serve(Learner(fixture), fixture)
