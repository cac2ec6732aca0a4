/* actor: a policy network with its optimiser and, if wanted, its target; and what the deterministic policies
 * a = tanh u(s) do with it: act, and climb the critic.
 *
 * B batch, d action dimensions. */
#ifndef ALGO_ACTOR_H
#define ALGO_ACTOR_H

#include "experience.h"

struct actor {
    struct net net, target, gradient;
    struct adam adam;
    struct tape tape, target_tape;
    float *u, *du; /* outputs [B x out], and d loss / d u */
};

/* learn false: the network alone, for acting. */
void actor_create(struct actor *actor, struct arena *arena, const struct net_spec *spec, int batch, double lr,
                  bool with_target, bool learn);
/* out_scale multiplies the output layer; the target becomes a copy. */
void actor_initialise(struct actor *actor, float out_scale, struct rng *rng);
/* actor->u [rows x out] <- s [rows x in] */
void actor_forward(const struct compute *compute, struct actor *actor, const float *s, int rows);
/* One Adam step from actor->du, after actor_forward on the same rows. */
void actor_descend(const struct compute *compute, struct actor *actor, const float *s, int rows,
                   double max_norm);
void actor_blend(const struct compute *compute, struct actor *actor, double eta);
void actor_visit(struct actor *actor, struct visitor *visitor, bool learn);

/* ---- deterministic: a = tanh u(s), [rows x d] */
void actor_target_action(const struct compute *compute, struct actor *actor, float *action, const float *s,
                         int rows);
/* action [rows x d] <- obs: uniform during warm-up, else a(s), with noise in DQS_ACT_EXPLORE. */
dqs_status actor_act(struct actor *actor, struct experience *e, float *action, const float *obs, int rows,
                     dqs_act_mode mode, double noise, dqs_error *error);
/* The same as a blueprint. */
dqs_status actor_describe(const struct actor *actor, const struct experience *e, struct blueprint *b,
                          struct arena *arena, dqs_act_mode mode, double noise, dqs_error *error);
/* One Adam step on -mean Q_1(s, a(s)) over the minibatch, and what it found. */
struct ascent {
    double loss, saturated, size; /* share of |a| > 0.99, mean |u| */
};
struct ascent actor_ascend(struct actor *actor, struct twin *critics, struct experience *e);
void ascent_log(struct ascent found, struct log_sink *log);

#endif
