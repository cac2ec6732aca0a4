/* dmc_probe: one DeepMind Control task at the end of a pipe, in double precision, for test_dmc_parity.py.
 *     dmc_probe list          the names of the tasks, one per line
 *     dmc_probe version       of MuJoCo
 *     dmc_probe serve NAME    one line of JSON about the task, then requests on stdin, answers on stdout
 * A request is one byte and its numbers; an answer is a zero byte and doubles, or a one and a line that says
 * why not.
 *     r uint64 seed           reset                        -> snapshot
 *     s state                 set_state                    -> snapshot
 *     a float[nu]             step, in the task's bounds   -> snapshot
 *     e uint64 seed           an episode through dqs.h     -> steps, terminated, truncated, wrong numbers
 *     m uint32 length, path   saves the model as MJB       -> nothing
 *     d uint64 seed           takes up the generator a reset with this seed would use -> nothing
 *     u, n, b uint32          its next draw: uniform, normal, below a bound -> the number
 * snapshot: reward, terminated, ncon, obs in double, obs as float32, state, subtree_com of body 0, then xpos
 * of all bodies, geom_xpos, site_xpos. */
#include "build_info.h"
#include "dmc.h"
#include "env.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe {
    const dqs_env_type *type;
    void *self;
    struct dmc *dmc;
    dqs_spec spec;
    dqs_outcome outcome;
    float *obs, *action;
    double *state;
    struct rng rng;
};

/* Arrays of the model, in doubles, that a task may edit. */
#define EDITABLE(X)                 \
    X(body_pos, 3 * m->nbody)       \
    X(body_quat, 4 * m->nbody)      \
    X(body_mass, m->nbody)          \
    X(body_inertia, 3 * m->nbody)   \
    X(jnt_pos, 3 * m->njnt)         \
    X(jnt_stiffness, m->njnt)       \
    X(jnt_range, 2 * m->njnt)       \
    X(dof_damping, m->nv)           \
    X(dof_armature, m->nv)          \
    X(dof_frictionloss, m->nv)      \
    X(geom_pos, 3 * m->ngeom)       \
    X(geom_quat, 4 * m->ngeom)      \
    X(geom_size, 3 * m->ngeom)      \
    X(geom_friction, 3 * m->ngeom)  \
    X(site_pos, 3 * m->nsite)       \
    X(site_quat, 4 * m->nsite)      \
    X(site_size, 3 * m->nsite)      \
    X(light_pos, 3 * m->nlight)     \
    X(tendon_stiffness, m->ntendon) \
    X(wrap_prm, m->nwrap)           \
    X(actuator_gear, 6 * m->nu)     \
    X(qpos0, m->nq)                 \
    X(qpos_spring, m->nq)           \
    X(hfield_size, 4 * m->nhfield)

/* Which number of which array `place` is; false if of none. */
static bool find_place(const mjModel *m, const double *place, const char **field, long *index)
{
#define LOOK(name, count)                                \
    if (place >= m->name && place < m->name + (count)) { \
        *field = #name;                                  \
        *index = (long)(place - m->name);                \
        return true;                                     \
    }
    EDITABLE(LOOK)
#undef LOOK
    return false;
}

static int complain(const char *message)
{
    fprintf(stderr, "dmc_probe: %s\n", message);
    return 1;
}

/* ---------------------------------------------------------------- answers */
static void put(const double *numbers, long n)
{
    fwrite(numbers, sizeof *numbers, (size_t)n, stdout);
}

static void put_number(double number)
{
    put(&number, 1);
}

static bool answer(dqs_status status, const dqs_error *error)
{
    putchar(status != DQS_OK);
    if (status != DQS_OK)
        printf("%s\n", error->message);
    return status == DQS_OK;
}

static void put_snapshot(struct probe *p)
{
    const mjModel *m = p->dmc->m;
    const mjData *d = p->dmc->d;
    put_number(p->outcome.reward);
    put_number(p->outcome.terminated);
    put_number(d->ncon);
    put(p->dmc->obs, p->spec.obs_dim);
    for (int i = 0; i < p->spec.obs_dim; i++)
        put_number(p->obs[i]);
    p->type->get_state(p->self, p->state);
    put(p->state, p->spec.state_dim);
    put(d->subtree_com, 3);
    put(d->xpos, 3 * (long)m->nbody);
    put(d->geom_xpos, 3 * (long)m->ngeom);
    put(d->site_xpos, 3 * (long)m->nsite);
}

static int describe(const struct probe *p)
{
    const mjModel *m = p->dmc->m;
    long places = 1 + (long)(m->nbody + m->ngeom + m->nsite);
    long numbers = 3 + 2 * p->spec.obs_dim + p->spec.state_dim + 3 * places;
    printf("{\"name\": \"%s\", \"obs_dim\": %d, \"state_dim\": %d, \"max_steps\": %d, \"terminates\": %d, "
           "\"substeps\": %d, \"timestep\": %.17g, \"snapshot\": %ld",
           p->type->name, p->spec.obs_dim, p->spec.state_dim, p->spec.max_steps, p->spec.terminates,
           p->dmc->task->substeps, m->opt.timestep, numbers);
#define DIMENSION(name) printf(", \"" #name "\": %ld", (long)m->name);
    DIMENSION(nq)
    DIMENSION(nv)
    DIMENSION(na)
    DIMENSION(nu)
    DIMENSION(nsensordata)
    DIMENSION(nbody)
    DIMENSION(ngeom)
    DIMENSION(nsite)
#undef DIMENSION
    printf(", \"low\": [");
    for (int i = 0; i < p->spec.act_dim; i++)
        printf("%s%.9g", i ? ", " : "", (double)p->spec.act_low[i]);
    printf("], \"high\": [");
    for (int i = 0; i < p->spec.act_dim; i++)
        printf("%s%.9g", i ? ", " : "", (double)p->spec.act_high[i]);
    printf("], \"edits\": [");
    for (int i = 0; i < p->dmc->n_edits; i++) {
        const char *field;
        long index;
        if (!find_place(m, p->dmc->edit[i], &field, &index))
            return complain("an edit is in none of the known arrays of mjModel; add its array to EDITABLE");
        printf("%s[\"%s\", %ld]", i ? ", " : "", field, index);
    }
    printf("]}\n");
    return 0;
}

/* ---------------------------------------------------------------- requests */
static bool take(void *to, size_t size)
{
    return fread(to, 1, size, stdin) == size;
}

static bool serve_reset(struct probe *p)
{
    uint64_t seed;
    dqs_error error = {0};
    if (!take(&seed, sizeof seed))
        return false;
    p->outcome = (dqs_outcome){0};
    if (answer(p->type->reset(p->self, seed, p->obs, &error), &error))
        put_snapshot(p);
    return true;
}

static bool serve_set_state(struct probe *p)
{
    dqs_error error = {0};
    if (!take(p->state, (size_t)p->spec.state_dim * sizeof *p->state))
        return false;
    p->outcome = (dqs_outcome){0};
    if (answer(p->type->set_state(p->self, p->state, p->obs, &error), &error))
        put_snapshot(p);
    return true;
}

static bool serve_step(struct probe *p)
{
    dqs_error error = {0};
    if (!take(p->action, (size_t)p->spec.act_dim * sizeof *p->action))
        return false;
    p->outcome = (dqs_outcome){0};
    if (answer(p->type->step(p->self, p->action, p->obs, &p->outcome, &error), &error))
        put_snapshot(p);
    return true;
}

static bool serve_save_model(struct probe *p)
{
    uint32_t length;
    char path[1000];
    dqs_error error = {0};
    if (!take(&length, sizeof length) || length >= sizeof path || !take(path, length))
        return false;
    path[length] = '\0';
    p->dmc->mj->mj_saveModel(p->dmc->m, path, NULL, 0);
    answer(DQS_OK, &error);
    return true;
}

/* How many numbers of a public observation are not the float32 of those of the instance. */
static int wrong_floats(const struct probe *p, const float *public_obs)
{
    int wrong = 0;
    for (int i = 0; i < p->spec.obs_dim; i++)
        wrong += public_obs[i] != (float)p->dmc->obs[i];
    return wrong;
}

/* An episode of dqs.h beside the same one of the instance, whose doubles can be seen. Some actions leave the
 * box, as a policy's may. */
static dqs_status run_episode(struct probe *p, dqs_env *env, uint64_t seed, double result[4], float *obs,
                              dqs_error *error)
{
    struct rng rng;
    rng_seed(&rng, seed, RNG_ENV);
    dqs_outcome outcome = {0};
    TRY(dqs_env_reset(env, seed, obs, error));
    TRY(env_reset(p->type, p->self, p->obs, &p->spec, seed, error));
    int wrong = wrong_floats(p, obs), step = 0;
    float *action = p->action, *mapped = p->action + p->spec.act_dim;
    while (!outcome.terminated && !outcome.truncated && step < 3000) {
        for (int i = 0; i < p->spec.act_dim; i++)
            action[i] = (float)(2.2 * rng_uniform(&rng) - 1.1);
        step++;
        TRY(dqs_env_step(env, action, obs, &outcome, error));
        TRY(env_step(p->type, p->self, mapped, p->obs, &p->outcome, &p->spec, action, step, error));
        wrong += wrong_floats(p, obs) + (p->outcome.reward != outcome.reward);
    }
    result[0] = step;
    result[1] = outcome.terminated;
    result[2] = outcome.truncated;
    result[3] = wrong;
    return DQS_OK;
}

static bool serve_episode(struct probe *p)
{
    uint64_t seed;
    double result[4];
    dqs_error error = {0};
    dqs_env *env = NULL;
    if (!take(&seed, sizeof seed))
        return false;
    float *obs = calloc((size_t)p->spec.obs_dim, sizeof *obs);
    dqs_status status = obs ? dqs_env_create(&env, p->type->name, NULL, &error) : DQS_E_MEMORY;
    if (status == DQS_OK)
        status = run_episode(p, env, seed, result, obs, &error);
    if (answer(status, &error))
        put(result, 4);
    dqs_env_free(env);
    free(obs);
    return true;
}

static bool serve_draws(struct probe *p)
{
    uint64_t seed;
    if (!take(&seed, sizeof seed))
        return false;
    rng_seed(&p->rng, seed, RNG_ENV);
    return answer(DQS_OK, NULL);
}

static bool serve_draw(struct probe *p, int kind)
{
    uint32_t bound = 0;
    if (kind == 'b' && !take(&bound, sizeof bound))
        return false;
    answer(DQS_OK, NULL);
    put_number(kind == 'u'   ? rng_uniform(&p->rng)
               : kind == 'n' ? rng_normal(&p->rng)
                             : rng_below(&p->rng, bound));
    return true;
}

static bool serve_one(struct probe *p, int request)
{
    switch (request) {
    case 'd':
        return serve_draws(p);
    case 'u':
    case 'n':
    case 'b':
        return serve_draw(p, request);
    case 'r':
        return serve_reset(p);
    case 's':
        return serve_set_state(p);
    case 'a':
        return serve_step(p);
    case 'e':
        return serve_episode(p);
    case 'm':
        return serve_save_model(p);
    }
    return false;
}

static int serve(const char *name)
{
    struct probe p = {0};
    void *handle;
    dqs_error error = {0};
    if (env_load(&p.type, &handle, name, &error) != DQS_OK ||
        env_open(p.type, &p.self, &p.spec, NULL, &error) != DQS_OK)
        return complain(error.message);
    p.dmc = dmc_of(p.type, p.self);
    if (!p.dmc)
        return complain("not one of these tasks; see `dmc_probe list`");
    p.obs = calloc((size_t)p.spec.obs_dim, sizeof *p.obs);
    p.action = calloc(2 * (size_t)p.spec.act_dim, sizeof *p.action);
    p.state = calloc((size_t)p.spec.state_dim, sizeof *p.state);
    bool good = p.obs && p.action && p.state && describe(&p) == 0;
    int request;
    while (good && fflush(stdout) == 0 && (request = getchar()) != EOF)
        good = serve_one(&p, request);
    free(p.obs);
    free(p.action);
    free(p.state);
    p.type->close(p.self);
    env_unload(handle);
    return good ? 0 : complain("stopped by a request it does not know or cannot read");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
#define PRINT_NAME(symbol, name, doc) puts(name);
        DMC_TYPES(PRINT_NAME)
#undef PRINT_NAME
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "version") == 0)
        return puts(BUILD_MUJOCO) < 0;
    if (argc == 3 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2]);
    return complain("usage: dmc_probe list | version | serve NAME");
}
