/* test_dmc: what the MuJoCo tasks promise apart from dm_control, which test_dmc_parity.py holds them to: the
 * soft indicator, bounds, and MuJoCo's troubles as one line that never ends the process. */
#include "test_env_help.h"
#ifdef HAVE_MUJOCO
#include "dmc.h"
#include "tolerance.h"

/* ---------------------------------------------------------------- the soft indicator */
static void test_tolerance_is_one_inside_and_the_value_at_the_margin(void **unused)
{
    (void)unused;
    for (int shape = TOLERANCE_GAUSSIAN; shape <= TOLERANCE_TANH_SQUARED; shape++) {
        assert_near(tolerance(2.0, 2.0, 3.0, 0.5, shape, 0.3), 1.0, 0.0);
        assert_near(tolerance(3.0, 2.0, 3.0, 0.5, shape, 0.3), 1.0, 0.0);
        assert_near(tolerance(3.5, 2.0, 3.0, 0.5, shape, 0.3), 0.3, 1e-12);
        assert_near(tolerance(1.5, 2.0, 3.0, 0.5, shape, 0.3), 0.3, 1e-12);
        assert_near(tolerance(2.0, 2.0, INFINITY, 0.5, shape, 0.3), 1.0, 0.0);
        assert_near(tolerance(1.9999, 2.0, 3.0, 0.0, shape, 0.3), 0.0, 0.0);
        double before = 1.0;
        for (double x = 3.0; x < 6.0; x += 0.01) {
            double value = tolerance(x, 2.0, 3.0, 0.5, shape, 0.3);
            assert_true(value <= before && value >= 0.0);
            before = value;
        }
    }
}

/* Closed forms at half a margin and at two: where the shapes differ. */
static void test_tolerance_shapes(void **unused)
{
    (void)unused;
    static const struct {
        enum tolerance_shape shape;
        double v, half, two;
    } rows[] = {{TOLERANCE_GAUSSIAN, 0.1, 0.56234132519034907, 1e-4},
                {TOLERANCE_LONG_TAIL, 0.1, 1.0 / 3.25, 1.0 / 37.0},
                {TOLERANCE_RECIPROCAL, 0.1, 1.0 / 5.5, 1.0 / 19.0},
                {TOLERANCE_HYPERBOLIC, 0.5, 0.81649658092772603, 1.0 / 7.0},
                {TOLERANCE_COSINE, 0.5, 0.85355339059327373, 0.0},
                {TOLERANCE_LINEAR, 0.5, 0.75, 0.0},
                {TOLERANCE_LINEAR, 0.0, 0.5, 0.0},
                {TOLERANCE_QUADRATIC, 0.75, 0.9375, 0.0},
                {TOLERANCE_TANH_SQUARED, 0.75, 1.0 - 0.071796769724490826, 0.36}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_near(tolerance(1.5, 0.0, 1.0, 1.0, rows[i].shape, rows[i].v), rows[i].half, 1e-12);
        assert_near(tolerance(3.0, 0.0, 1.0, 1.0, rows[i].shape, rows[i].v), rows[i].two, 1e-12);
    }
}

/* ---------------------------------------------------------------- trouble */
struct task {
    const dqs_env_type *type;
    struct dmc *dmc;
    dqs_spec spec;
    float obs[100], mapped[64];
    double state[500];
};

static void open_task(struct task *t, const char *name)
{
    dqs_error error = {0};
    void *self = NULL;
    memset(t, 0, sizeof *t);
    t->type = env_find(name);
    assert_non_null(t->type);
    if (env_open(t->type, &self, &t->spec, "", &error) != DQS_OK)
        fail_msg("%s", error.message);
    t->dmc = dmc_of(t->type, self);
    assert_non_null(t->dmc);
    assert_int_equal(env_reset(t->type, self, t->obs, &t->spec, 1, &error), DQS_OK);
    t->type->get_state(self, t->state);
}

static void test_divergence_is_an_error_with_the_step(void **unused)
{
    (void)unused;
    struct task t;
    dqs_error error = {0};
    dqs_outcome outcome;
    static const float still[6] = {0};
    open_task(&t, "walker-run");
    double sane = t.state[1];
    t.dmc->d->qvel[3] = 1e12; /* beyond what MuJoCo believes in: mj_step would quietly start anew */
    dqs_status status = env_step(t.type, t.dmc, t.mapped, t.obs, &outcome, &t.spec, still, 7, &error);
    assert_int_equal(status, DQS_E_ENV);
    assert_says(&error, "walker-run: MuJoCo warned");
    assert_says(&error, "step 7 of the episode");
    /* and the instance is as good as new after a state or a reset */
    assert_int_equal(t.type->set_state(t.dmc, t.state, t.obs, &error), DQS_OK);
    assert_near(t.dmc->d->qpos[0], sane, 0.0);
    assert_int_equal(env_step(t.type, t.dmc, t.mapped, t.obs, &outcome, &t.spec, still, 1, &error), DQS_OK);
    t.state[3] = 1e12;
    assert_int_equal(t.type->set_state(t.dmc, t.state, t.obs, &error), DQS_E_ENV);
    assert_says(&error, "while restoring");
    t.state[3] = NAN;
    assert_int_equal(t.type->set_state(t.dmc, t.state, t.obs, &error), DQS_E_USAGE);
    assert_says(&error, "entry 3 of the state");
    t.type->close(t.dmc);
}

static const char small[] =
    "<mujoco><size memory=\"1K\"/><worldbody><geom type=\"plane\" size=\"1 1 1\"/><body pos=\"0 0 .1\">"
    "<freejoint/><geom size=\".2\"/></body></worldbody></mujoco>";

static void step_small(void *argument)
{
    struct dmc *dmc = argument;
    dmc->d = dmc->mj->mj_makeData(dmc->m);
    dmc->mj->mj_step(dmc->m, dmc->d);
}

static void test_errors_of_mujoco_are_caught(void **unused)
{
    (void)unused;
#if mjVERSION_HEADER < 300
    skip(); /* 2.2.2 has no <size memory> */
#endif
    struct dmc dmc = {0};
    dqs_error error = {0};
    char message[200] = "";
    dmc.mj = mujoco_load(&error);
    assert_non_null(dmc.mj);
    assert_int_equal(mujoco_compile(dmc.mj, &dmc.m, "small", small, &error), DQS_OK);
    assert_false(mujoco_try(step_small, &dmc, message, sizeof message));
    assert_non_null(strstr(message, "stack"));
    dmc.mj->mj_deleteModel(dmc.m);
    if (dmc.d)
        dmc.mj->mj_deleteData(dmc.d);
}

static void test_a_damaged_model_is_refused_in_one_line(void **unused)
{
    (void)unused;
    dqs_error error = {0};
    const struct mujoco_api *mj = mujoco_load(&error);
    assert_non_null(mj);
    for (const struct dmc_model_text *row = dmc_model_texts; row->name; row++) {
        size_t length = strlen(row->text);
        char *cut = strdup(row->text);
        mjModel *model = NULL;
        cut[length / 2] = '\0';
        assert_int_equal(mujoco_compile(mj, &model, row->name, cut, &error), DQS_E_FORMAT);
        assert_null(model);
        assert_says(&error, row->name);
        assert_says(&error, "cannot compile");
        free(cut);
    }
    mjModel *model = NULL;
    assert_int_equal(mujoco_compile(mj, &model, "empty", "", &error), DQS_E_FORMAT);
    assert_int_equal(mujoco_compile(mj, &model, "other", "<nothing/>", &error), DQS_E_FORMAT);
}

static void test_tasks_have_no_options(void **unused)
{
    (void)unused;
    dqs_error error = {0};
    dqs_env *env = NULL;
    assert_int_not_equal(dqs_env_create(&env, "cheetah-run", "gravity=2", &error), DQS_OK);
    assert_says(&error, "gravity");
}

/* Actions reach the actuators in their own bounds: quadruped's lift goes to 1.1, its extend to 0.8. */
static void test_actions_are_mapped_to_the_actuators(void **unused)
{
    (void)unused;
    struct task t;
    dqs_error error = {0};
    dqs_outcome outcome;
    float action[12];
    open_task(&t, "quadruped-run");
    for (int i = 0; i < 12; i++)
        action[i] = 1.0f;
    assert_int_equal(env_step(t.type, t.dmc, t.mapped, t.obs, &outcome, &t.spec, action, 1, &error), DQS_OK);
    for (int leg = 0; leg < 4; leg++) {
        assert_near(t.dmc->d->ctrl[3 * leg], 1.0, 1e-6);
        assert_near(t.dmc->d->ctrl[3 * leg + 1], 1.1, 1e-6);
        assert_near(t.dmc->d->ctrl[3 * leg + 2], 0.8, 1e-6);
    }
    t.type->close(t.dmc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerance_is_one_inside_and_the_value_at_the_margin),
        cmocka_unit_test(test_tolerance_shapes),
        cmocka_unit_test(test_divergence_is_an_error_with_the_step),
        cmocka_unit_test(test_errors_of_mujoco_are_caught),
        cmocka_unit_test(test_a_damaged_model_is_refused_in_one_line),
        cmocka_unit_test(test_tasks_have_no_options),
        cmocka_unit_test(test_actions_are_mapped_to_the_actuators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void test_tasks_say_what_is_missing(void **unused)
{
    (void)unused;
    dqs_error error = {0};
    dqs_env *env = NULL;
    assert_int_equal(dqs_env_create(&env, "cheetah-run", "", &error), DQS_E_UNSUPPORTED);
    assert_says(&error, "make mujoco");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tasks_say_what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
