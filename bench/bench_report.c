/* bench_report: the measurements as text and as one JSON object:
 *
 *   version cpu cores kernels preset threads obs act repeats     what was measured, where
 *   peak      {instructions fma_gflops sgemm_gflops product_gflops cloud_gflops pull_gflops normals_per_second} of one thread
 *   update    {ms gflop gflops sgemm_share library_ms phases}    at `threads`
 *             phases: [{name ms gflop gflops sgemm_share}]
 *   scaling   [{threads ms speedup}]                             the same update at 1 .. threads
 *   acting    [{rows steps p50_us p99_us}]                       rows observations in one call, N = steps;
 *             an untrained policy: later more units are zero, and are skipped
 *   training  {steps_per_second loop_ms act_ms env_ms observe_ms update_ms parts_share} or null
 *
 * training is per step, and null without MuJoCo. Parts that were not asked for are missing. sgemm_share is of
 * the library's SGEMM peak times the number of threads; library_ms is what the update's matrix products alone
 * take with the library's SGEMM on one thread. */
#include "bench.h"
#include "file.h"
#include "json.h"
#include "machine.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool wants(const struct bench_choice *c, const char *part)
{
    return !c->only || strcmp(c->only, part) == 0;
}

static double share(const struct bench *b, const struct bench_choice *c, double gflop, double ms)
{
    return b->peak.sgemm_gflops > 0 ? gflop / (ms * 1e-3) / (b->peak.sgemm_gflops * c->threads) : NAN;
}

static double parts_ms(const struct bench_training *t)
{
    return t->act_ms + t->env_ms + t->observe_ms + t->update_ms;
}

/* ---------------------------------------------------------------- JSON */
static void write_head(struct json *j, const struct bench_choice *c, const char *kernels)
{
    char cpu[200];
    machine_cpu(cpu, sizeof cpu);
    json_put_text(j, "version", DQS_VERSION);
    json_put_text(j, "cpu", cpu);
    json_put_number(j, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    json_put_text(j, "kernels", kernels);
    json_put_text(j, "preset", c->preset);
    json_put_number(j, "threads", c->threads);
    json_put_number(j, "obs", c->obs_dim);
    json_put_number(j, "act", c->act_dim);
    json_put_number(j, "repeats", c->repeats);
}

static void write_peak(struct json *j, const struct bench_peak *p)
{
    json_key(j, "peak");
    json_open(j, '{');
    json_put_text(j, "instructions", p->instructions);
    json_put_number(j, "fma_gflops", p->fma_gflops);
    json_put_number(j, "sgemm_gflops", p->sgemm_gflops);
    json_put_number(j, "product_gflops", p->product_gflops);
    json_put_number(j, "cloud_gflops", p->cloud_gflops);
    json_put_number(j, "pull_gflops", p->pull_gflops);
    json_put_number(j, "normals_per_second", p->normals_per_second);
    json_close(j, '}');
}

static void write_cost(struct json *j, const struct bench *b, const struct bench_choice *c, double ms,
                       double gflop)
{
    json_put_number(j, "ms", ms);
    json_put_number(j, "gflop", gflop);
    json_put_number(j, "gflops", ms > 0 ? gflop / (ms * 1e-3) : 0);
    json_put_number(j, "sgemm_share", ms > 0 ? share(b, c, gflop, ms) : 0);
}

static void write_update(struct json *j, const struct bench *b, const struct bench_choice *c)
{
    const struct bench_update *u = &b->update;
    json_key(j, "update");
    json_open(j, '{');
    write_cost(j, b, c, u->ms, u->gflop);
    json_put_number(j, "library_ms", u->library_ms);
    json_key(j, "phases");
    json_open(j, '[');
    for (int i = 0; i < u->n_phases; i++) {
        json_open(j, '{');
        json_put_text(j, "name", u->phases[i].name);
        write_cost(j, b, c, u->phases[i].ms, u->phases[i].gflop);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
    json_key(j, "scaling");
    json_open(j, '[');
    for (int i = 0; i < u->n_widths; i++) {
        json_open(j, '{');
        json_put_number(j, "threads", u->widths[i].threads);
        json_put_number(j, "ms", u->widths[i].ms);
        json_put_number(j, "speedup", u->widths[0].ms / u->widths[i].ms);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_acting(struct json *j, const struct bench_acting *acting)
{
    json_key(j, "acting");
    json_open(j, '[');
    for (int i = 0; i < BENCH_ACTINGS; i++) {
        json_open(j, '{');
        json_put_number(j, "rows", acting[i].rows);
        json_put_number(j, "steps", acting[i].steps);
        json_put_number(j, "p50_us", acting[i].p50_us);
        json_put_number(j, "p99_us", acting[i].p99_us);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void write_training(struct json *j, const struct bench_training *t)
{
    json_key(j, "training");
    if (!t->there) {
        json_raw(j, "null");
        return;
    }
    json_open(j, '{');
    json_put_number(j, "steps_per_second", 1e3 / t->loop_ms);
    json_put_number(j, "loop_ms", t->loop_ms);
    json_put_number(j, "act_ms", t->act_ms);
    json_put_number(j, "env_ms", t->env_ms);
    json_put_number(j, "observe_ms", t->observe_ms);
    json_put_number(j, "update_ms", t->update_ms);
    json_put_number(j, "parts_share", parts_ms(t) / t->loop_ms);
    json_close(j, '}');
}

char *bench_json(const struct bench *b, const struct bench_choice *c, const char *kernels)
{
    struct json j = {0};
    json_open(&j, '{');
    write_head(&j, c, kernels);
    if (wants(c, "peak"))
        write_peak(&j, &b->peak);
    if (wants(c, "update"))
        write_update(&j, b, c);
    if (wants(c, "acting"))
        write_acting(&j, b->acting);
    if (wants(c, "training"))
        write_training(&j, &b->training);
    json_close(&j, '}');
    return j.text;
}

/* ---------------------------------------------------------------- text */
static void print_update(const struct bench *b, const struct bench_choice *c)
{
    const struct bench_update *u = &b->update;
    printf("\n%-32s %10s %10s %10s %10s\n", "one update", "ms", "GFLOP", "GFLOP/s", "of SGEMM");
    for (int i = 0; i <= u->n_phases; i++) {
        struct bench_phase all = {"all", u->ms, u->gflop};
        const struct bench_phase *p = i < u->n_phases ? &u->phases[i] : &all;
        printf("  %-30s %10.3f %10.3f", p->name, p->ms, p->gflop);
        if (p->gflop > 0)
            printf(" %10.1f", p->gflop / (p->ms * 1e-3));
        if (p->gflop > 0 && b->peak.sgemm_gflops > 0)
            printf(" %8.0f %%", 100 * share(b, c, p->gflop, p->ms));
        putchar('\n');
    }
    printf("  %-30s %10.3f ms on one thread, where the update takes %.2f times as long\n",
           "its products by SGEMM", u->library_ms, u->widths[0].ms / u->library_ms);
    for (int i = 0; u->n_widths > 1 && i < u->n_widths; i++)
        printf("  %2d thread%-20s %10.3f ms %9.2f x\n", u->widths[i].threads,
               u->widths[i].threads > 1 ? "s" : "", u->widths[i].ms, u->widths[0].ms / u->widths[i].ms);
}

static void print_training(const struct bench_training *t)
{
    if (!t->there) {
        printf("\ntraining on cheetah-run: not measured: %s\n", t->absent);
        return;
    }
    printf("\ntraining on cheetah-run          %10.1f steps/s: %.3f ms a step\n", 1e3 / t->loop_ms,
           t->loop_ms);
    printf("  act + env + observe + update   %10.3f ms: %.3f + %.3f + %.3f + %.3f (%.1f %% of the loop)\n",
           parts_ms(t), t->act_ms, t->env_ms, t->observe_ms, t->update_ms, 100 * parts_ms(t) / t->loop_ms);
}

void bench_print(const struct bench *b, const struct bench_choice *c, const char *kernels)
{
    printf("kernels %s, %d thread%s, preset %s, %d observations, %d actions\n", kernels, c->threads,
           c->threads > 1 ? "s" : "", c->preset, c->obs_dim, c->act_dim);
    if (wants(c, "peak")) {
        printf("\npeaks of one thread\n");
        printf("  multiply-adds (%s)         %10.1f GFLOP/s\n", b->peak.instructions, b->peak.fma_gflops);
        printf("  the library's SGEMM            %10.1f GFLOP/s\n", b->peak.sgemm_gflops);
        printf("  our product                    %10.1f GFLOP/s\n", b->peak.product_gflops);
        printf("  K samples of a state, forward  %10.1f GFLOP/s\n", b->peak.cloud_gflops);
        printf("  K samples of a state, backward %10.1f GFLOP/s\n", b->peak.pull_gflops);
        printf("  random normals                 %10.2f G/s\n", b->peak.normals_per_second * 1e-9);
    }
    if (wants(c, "update"))
        print_update(b, c);
    if (wants(c, "acting")) {
        printf("\n%-32s %10s %10s\n", "acting", "p50, us", "p99, us");
        for (int i = 0; i < BENCH_ACTINGS; i++)
            printf("  %3d observation%s, N = %-10d %10.1f %10.1f\n", b->acting[i].rows,
                   b->acting[i].rows > 1 ? "s" : " ", b->acting[i].steps, b->acting[i].p50_us,
                   b->acting[i].p99_us);
    }
    if (wants(c, "training"))
        print_training(&b->training);
}

/* ---------------------------------------------------------------- keeping */
/* "Intel(R) Xeon(R) Processor @ 2.80GHz" -> "intel-xeon-processor-2.80ghz" */
static void machine_name(char *name, size_t size)
{
    char cpu[200];
    size_t n = 0;
    int depth = 0;
    machine_cpu(cpu, sizeof cpu);
    for (const char *c = cpu; *c && n + 1 < size; c++) {
        depth += (*c == '(') - (*c == ')');
        if (depth == 0 && (isalnum((unsigned char)*c) || *c == '.'))
            name[n++] = (char)tolower((unsigned char)*c);
        else if (depth == 0 && *c != ')' && n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    name[n] = 0;
}

dqs_status bench_save(const char *json, const struct bench_choice *c, char path[1024], dqs_error *error)
{
    char machine[100];
    bool own = strcmp(c->preset, "default") == 0;
    if (!file_exists("bench/bench.h"))
        return fail(error, DQS_E_USAGE,
                    "--save: writes to bench/results/; start dqs in the folder of its sources");
    machine_name(machine, sizeof machine);
    snprintf(path, 1024, "bench/results/%s-%d-thread%s%s%s.json", machine, c->threads,
             c->threads > 1 ? "s" : "", own ? "" : "-", own ? "" : c->preset);
    TRY(file_make_folders("bench/results", error));
    return file_write_text(path, json, error);
}
