/* dmc_types: the suite's tasks by name. The rows behind them (struct dmc_task <symbol>_task) stand in
 * dmc_<domain>.c; a build without MuJoCo knows the names, and says what to do about it. */
#ifndef ENV_DMC_DMC_TYPES_H
#define ENV_DMC_DMC_TYPES_H

#include "dqs.h"

/* symbol, name, what it is */
#define DMC_TYPES(X)                                                                                        \
    X(acrobot_swingup, "acrobot-swingup", "swing up two arms with one motor, at their joint")               \
    X(acrobot_swingup_sparse, "acrobot-swingup_sparse", "the same, rewarded at the target only")            \
    X(ball_in_cup_catch, "ball_in_cup-catch", "swing a ball on a string into a cup")                        \
    X(cartpole_balance, "cartpole-balance", "keep a pole upright on a cart")                                \
    X(cartpole_balance_sparse, "cartpole-balance_sparse", "the same, rewarded near the goal only")          \
    X(cartpole_swingup, "cartpole-swingup", "swing up a pole on a cart and keep it there")                  \
    X(cartpole_swingup_sparse, "cartpole-swingup_sparse", "the same, rewarded near the goal only")          \
    X(cartpole_two_poles, "cartpole-two_poles", "swing up a chain of two poles on a cart")                  \
    X(cartpole_three_poles, "cartpole-three_poles", "swing up a chain of three poles on a cart")            \
    X(cheetah_run, "cheetah-run", "run forward on two legs, up to 10 m/s")                                  \
    X(finger_spin, "finger-spin", "spin a body about its hinge with a finger")                              \
    X(finger_turn_easy, "finger-turn_easy", "turn the body's tip into a large target")                      \
    X(finger_turn_hard, "finger-turn_hard", "turn the body's tip into a small target")                      \
    X(fish_upright, "fish-upright", "right a floating fish")                                                \
    X(fish_swim, "fish-swim", "swim to a target, upright")                                                  \
    X(hopper_stand, "hopper-stand", "keep a one-legged body at standing height")                            \
    X(hopper_hop, "hopper-hop", "hop forward on one leg")                                                   \
    X(humanoid_stand, "humanoid-stand", "stand up and stand still, arms and legs, 21 motors")               \
    X(humanoid_walk, "humanoid-walk", "walk at 1 m/s, arms and legs, 21 motors")                            \
    X(humanoid_run, "humanoid-run", "run at 10 m/s, arms and legs, 21 motors")                              \
    X(humanoid_run_pure_state, "humanoid-run_pure_state",                                                   \
      "the same, observing positions and velocities only")                                                  \
    X(humanoid_cmu_stand, "humanoid_CMU-stand", "stand up and stand still, with hands and toes, 56 motors") \
    X(humanoid_cmu_walk, "humanoid_CMU-walk", "walk at 1 m/s, with hands and toes, 56 motors")              \
    X(humanoid_cmu_run, "humanoid_CMU-run", "run at 10 m/s, with hands and toes, 56 motors")                \
    X(lqr_lqr_2_1, "lqr-lqr_2_1", "bring two balls on springs to rest, one motor")                          \
    X(lqr_lqr_6_2, "lqr-lqr_6_2", "bring six balls on springs to rest, two motors")                         \
    X(manipulator_bring_ball, "manipulator-bring_ball", "bring a ball to a target with a planar arm")       \
    X(manipulator_bring_peg, "manipulator-bring_peg", "bring a peg to a target with a planar arm")          \
    X(manipulator_insert_ball, "manipulator-insert_ball", "put a ball into a cup with a planar arm")        \
    X(manipulator_insert_peg, "manipulator-insert_peg", "put a peg into a slot with a planar arm")          \
    X(pendulum_swingup, "pendulum-swingup", "swing up a weight with a weak motor")                          \
    X(point_mass_easy, "point_mass-easy", "push a ball to the middle of a square")                          \
    X(point_mass_hard, "point_mass-hard", "the same, along unknown directions")                             \
    X(quadruped_walk, "quadruped-walk", "walk on four legs at 0.5 m/s, from any attitude")                  \
    X(quadruped_run, "quadruped-run", "run on four legs at 5 m/s, from any attitude")                       \
    X(quadruped_fetch, "quadruped-fetch", "bring a ball to the middle of a yard on four legs")              \
    X(reacher_easy, "reacher-easy", "reach a large target with a two-link arm")                             \
    X(reacher_hard, "reacher-hard", "reach a small target with a two-link arm")                             \
    X(stacker_stack_2, "stacker-stack_2", "stack two boxes with a planar arm")                              \
    X(stacker_stack_4, "stacker-stack_4", "stack four boxes with a planar arm")                             \
    X(swimmer_swimmer6, "swimmer-swimmer6", "swim to a target with six links")                              \
    X(swimmer_swimmer15, "swimmer-swimmer15", "swim to a target with fifteen links")                        \
    X(walker_stand, "walker-stand", "stand on two legs, in a plane")                                        \
    X(walker_walk, "walker-walk", "walk on two legs at 1 m/s, in a plane")                                  \
    X(walker_run, "walker-run", "run on two legs at 8 m/s, in a plane")

#define DMC_DECLARE(symbol, name, doc)          \
    extern const struct dmc_task symbol##_task; \
    extern const dqs_env_type symbol##_type;
struct dmc_task;
DMC_TYPES(DMC_DECLARE)
#undef DMC_DECLARE

#endif
