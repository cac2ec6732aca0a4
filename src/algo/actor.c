#include "actor.h"
#include <math.h>
#include <string.h>

#define SATURATED 0.99f /* where tanh passes on less than 2 % of a gradient */

void actor_create(struct actor *actor, struct arena *arena, const struct net_spec *spec, int batch, double lr,
                  bool with_target, bool learn)
{
    net_create(&actor->net, arena, spec);
    tape_create(&actor->tape, arena, spec, batch, learn ? TAPE_TRAIN : TAPE_INFER);
    actor->u = arena_new(arena, float, batch * spec->out);
    if (!learn)
        return;
    net_create(&actor->gradient, arena, spec);
    adam_create(&actor->adam, arena, actor->net.count, lr, 0);
    actor->du = arena_new(arena, float, batch * spec->out);
    if (!with_target)
        return;
    net_create(&actor->target, arena, spec);
    tape_create(&actor->target_tape, arena, spec, batch, TAPE_INFER);
}

void actor_initialise(struct actor *actor, float out_scale, struct rng *rng)
{
    net_initialise(&actor->net, NET_UNIFORM, out_scale, rng);
    if (actor->target.params)
        net_copy(&actor->target, &actor->net);
}

void actor_forward(const struct compute *compute, struct actor *actor, const float *s, int rows)
{
    struct net_pass pass = {&actor->net, &actor->tape, s, actor->u, NULL, NULL, rows};
    net_forward(compute, &pass, 1);
}

void actor_descend(const struct compute *compute, struct actor *actor, const float *s, int rows,
                   double max_norm)
{
    struct net_pass pass = {&actor->net, &actor->tape, s, actor->u, actor->du, &actor->gradient, rows};
    net_backward(compute, &pass, 1);
    adam_net(compute, &actor->adam, &actor->net, &actor->gradient, max_norm);
}

void actor_blend(const struct compute *compute, struct actor *actor, double eta)
{
    polyak_blend(compute, &actor->target, &actor->net, eta);
}

void actor_visit(struct actor *actor, struct visitor *visitor, bool learn)
{
    net_visit(&actor->net, visitor, "actor/", VISIT_POLICY);
    if (!learn)
        return;
    if (actor->target.params)
        net_visit(&actor->target, visitor, "actor_target/", VISIT_LEARN);
    adam_visit(&actor->adam, visitor, "actor_adam/");
}

/* ---------------------------------------------------------------- deterministic */
static void squash(float *action, const float *u, int n)
{
    for (int i = 0; i < n; i++)
        action[i] = tanhf(u[i]);
}

static void act_greedily(const struct compute *compute, struct actor *actor, float *action, const float *s,
                         int rows)
{
    actor_forward(compute, actor, s, rows);
    squash(action, actor->u, rows * actor->net.spec.out);
}

void actor_target_action(const struct compute *compute, struct actor *actor, float *action, const float *s,
                         int rows)
{
    struct net_pass pass = {&actor->target, &actor->target_tape, s, actor->u, NULL, NULL, rows};
    net_forward(compute, &pass, 1);
    squash(action, actor->u, rows * actor->net.spec.out);
}

dqs_status actor_act(struct actor *actor, struct experience *e, float *action, const float *obs, int rows,
                     dqs_act_mode mode, double noise, dqs_error *error)
{
    int d = e->setup.act_dim;
    TRY(experience_refuse_exact(mode, error));
    if (experience_warms_up(e, action, rows, mode))
        return DQS_OK;
    for (int at = 0, n; (n = experience_block(e, obs, at, rows)) > 0; at += n) {
        float *a = action + (size_t)at * (size_t)d;
        act_greedily(e->setup.compute, actor, a, e->s, n);
        if (mode == DQS_ACT_EXPLORE)
            add_noise(e->setup.compute->k, a, n * d, noise, INFINITY, &e->rng_act);
    }
    return DQS_OK;
}

dqs_status actor_describe(const struct actor *actor, const struct experience *e, struct blueprint *b,
                          struct arena *arena, dqs_act_mode mode, double noise, dqs_error *error)
{
    TRY(experience_refuse_exact(mode, error));
    experience_describe(e, b, mode);
    b->net = &actor->net;
    b->squash = OUT_TANH;
    if (mode == DQS_ACT_EXPLORE && noise > 0) {
        b->out_noise = (float)noise;
        b->out_slot = blueprint_draw(b, arena, b->act_dim, false, 0);
    }
    blueprint_finish(b);
    return DQS_OK;
}

struct ascent actor_ascend(struct actor *actor, struct twin *critics, struct experience *e)
{
    const struct compute *compute = e->setup.compute;
    int B = (int)e->o.batch, d = e->setup.act_dim, n = B * d;
    struct ascent found = {0};
    act_greedily(compute, actor, e->a, e->s, B);
    join_rows(e->x_next, e->s, e->features.dim, e->a, d, B); /* the target has done with x_next */
    found.loss = -twin_action_gradient(compute, critics, actor->du, e->x_next, B, d, TWIN_FIRST);
    for (int i = 0; i < n; i++) {
        float a = e->a[i];
        found.saturated += (fabsf(a) > SATURATED) / (double)n;
        found.size += fabsf(actor->u[i]) / n;
        actor->du[i] *= -(1 - a * a) / (float)B; /* from dQ/da to d loss / d u */
    }
    actor_descend(compute, actor, e->s, B, e->o.max_grad_norm);
    return found;
}

void ascent_log(struct ascent found, struct log_sink *log)
{
    log_add(log, "train/actor_loss", found.loss);
    log_add(log, "train/saturated", found.saturated);
    log_add(log, "train/pre_tanh", found.size);
}
