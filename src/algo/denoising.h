/* denoising: what QSM, DACER and DIPO share: the options of a denoiser that is a policy, and acting with
 * it. */
#ifndef ALGO_DENOISING_H
#define ALGO_DENOISING_H

#include "blueprint.h"
#include "denoiser.h"
#include "experience.h"

/* Member `denoising` of an algorithm's own options struct. */
struct denoising_options {
    long diffusion_steps, embed;
    int schedule;
    double eval_noise;
};

#define DENOISING_OPTIONS(steps, kind, noise, source)                                                    \
    {"diffusion_steps",                                                                                  \
     OPTION_INT,                                                                                         \
     offsetof(OPTIONS, denoising.diffusion_steps),                                                       \
     steps,                                                                                              \
     1,                                                                                                  \
     1000,                                                                                               \
     NULL,                                                                                               \
     "steps from noise to action",                                                                       \
     source},                                                                                            \
        {"schedule", OPTION_CHOICE, offsetof(OPTIONS, denoising.schedule),       kind,  0,               \
         0,          VP_CHOICES,    "how much noise each step has to take away", source},                \
        {"embed", OPTION_INT, offsetof(OPTIONS, denoising.embed), "32", 2,                               \
         1024,    NULL,       "numbers that encode the step",     "-"},                                  \
    {                                                                                                    \
        "eval_noise", OPTION_REAL, offsetof(OPTIONS, denoising.eval_noise), noise, 0, 1, NULL,           \
            "noise of the steps at evaluation: 1 samples the policy, 0 only its start is random", source \
    }

/* A denoiser of the shared width and depth, mish. [DEV] The step's sinusoids go straight into its first
 * layer; the authors of all three have a small network in between. */
struct denoiser_options denoising_choice(const struct experience *e, const struct denoising_options *o,
                                         enum ddpm_kind sampler);
/* action [rows x d] <- obs: uniform during warm-up, else drawn; explore_noise is added in DQS_ACT_EXPLORE. */
dqs_status denoising_act(struct denoiser *actor, struct experience *e, const struct denoising_options *o,
                         float *action, const float *obs, int rows, dqs_act_mode mode, double explore_noise,
                         dqs_error *error);
/* The same as a blueprint. */
dqs_status denoising_describe(const struct denoiser *actor, const struct experience *e,
                              const struct denoising_options *o, struct blueprint *b, struct arena *arena,
                              dqs_act_mode mode, double explore_noise, dqs_error *error);

#endif
