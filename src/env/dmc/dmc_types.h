/* dmc_types: the suite's tasks by name. The rows behind them (struct dmc_task <symbol>_task) stand in dmc_<domain>.c;
 * a build without MuJoCo knows the names, and says what to do about it. */
#ifndef ENV_DMC_DMC_TYPES_H
#define ENV_DMC_DMC_TYPES_H

#include "dqs.h"

/* symbol, name, what it is */
#define DMC_TYPES(X)                                                                           \
    X(cheetah_run, "cheetah-run", "run forward on two legs, up to 10 m/s")                     \
    X(finger_spin, "finger-spin", "spin a body about its hinge with a finger")                 \
    X(finger_turn_easy, "finger-turn_easy", "turn the body's tip into a large target")         \
    X(finger_turn_hard, "finger-turn_hard", "turn the body's tip into a small target")         \
    X(fish_upright, "fish-upright", "right a floating fish")                                   \
    X(fish_swim, "fish-swim", "swim to a target, upright")                                     \
    X(hopper_stand, "hopper-stand", "keep a one-legged body at standing height")               \
    X(hopper_hop, "hopper-hop", "hop forward on one leg")                                      \
    X(quadruped_walk, "quadruped-walk", "walk on four legs at 0.5 m/s, from any attitude")     \
    X(quadruped_run, "quadruped-run", "run on four legs at 5 m/s, from any attitude")          \
    X(reacher_easy, "reacher-easy", "reach a large target with a two-link arm")                \
    X(reacher_hard, "reacher-hard", "reach a small target with a two-link arm")                \
    X(walker_stand, "walker-stand", "stand on two legs, in a plane")                           \
    X(walker_walk, "walker-walk", "walk on two legs at 1 m/s, in a plane")                     \
    X(walker_run, "walker-run", "run on two legs at 8 m/s, in a plane")

#define DMC_DECLARE(symbol, name, doc)             \
    extern const struct dmc_task symbol##_task;    \
    extern const dqs_env_type symbol##_type;
struct dmc_task;
DMC_TYPES(DMC_DECLARE)
#undef DMC_DECLARE

/* What a run should record: "3.14.0", or "none". */
const char *dmc_mujoco_version(void);

#endif
