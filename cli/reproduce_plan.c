/* reproduce_plan: see reproduce_plan.h. */
#include "reproduce_plan.h"
#include "terminal.h"
#include <math.h>
#include <string.h>

dqs_status plan_add(struct plan *plan, const struct reproduce_item *item,
                    const struct reproduce_request *request, dqs_error *error)
{
    struct plan_item *p = &plan->items[plan->n++];
    *p = (struct plan_item){.item = item};
    plan->preset = request->preset ? request->preset : "default";
    dqs_status status = reproduce_spec(&p->spec, item, request, error);
    return status == DQS_OK ? sweep_plan(&p->plan, &p->spec, error) : status;
}

void plan_free(struct plan *plan)
{
    for (int i = 0; i < plan->n; i++) {
        sweep_plan_free(&plan->items[i].plan);
        sweep_free(&plan->items[i].spec);
    }
    *plan = (struct plan){0};
}

/* ---------------------------------------------------------------- estimates */

/* One probe per algorithm and first task: control tasks differ little in what an update costs. */
static const struct probe *find_probe(struct plan *plan, const struct plan_item *p,
                                      const struct sweep_run *run)
{
    const char *task = p->plan.runs[0].task;
    int i = 0;
    while (i < plan->n_probes &&
           (strcmp(plan->probes[i].algo, run->algo) || strcmp(plan->probes[i].task, task)))
        i++;
    if (i == PLAN_PROBES)
        return NULL;
    if (i == plan->n_probes) {
        const struct sweep_run *first = run;
        for (int k = 0; k < p->plan.count && first == run; k++)
            if (!strcmp(p->plan.runs[k].algo, run->algo) && !strcmp(p->plan.runs[k].task, task))
                first = &p->plan.runs[k];
        plan->probes[i].algo = run->algo;
        plan->probes[i].task = task;
        plan->probes[i].good = probe_run(&plan->probes[i].probe, first);
        plan->n_probes++;
    }
    return plan->probes[i].good ? &plan->probes[i].probe : NULL;
}

static struct plan_share *find_share(struct plan_item *p, const char *algo)
{
    for (int i = 0; i < p->n_shares; i++)
        if (!strcmp(p->shares[i].algo, algo))
            return &p->shares[i];
    if (p->n_shares == PLAN_ALGOS)
        return &p->shares[PLAN_ALGOS - 1];
    p->shares[p->n_shares] = (struct plan_share){.algo = algo};
    return &p->shares[p->n_shares++];
}

static bool is_shared(const struct plan *plan, int item, const struct sweep_run *run)
{
    for (int i = 0; i < item; i++)
        for (int k = 0; k < plan->items[i].plan.count; k++)
            if (!strcmp(plan->items[i].plan.runs[k].folder, run->folder))
                return true;
    return false;
}

struct task_cost {
    const char *task;
    double seconds;
    long length;
    bool good;
};

static void estimate_item(struct plan *plan, int index)
{
    struct plan_item *p = &plan->items[index];
    struct task_cost cost = {0};
    for (int k = 0; k < p->plan.count; k++) {
        const struct sweep_run *run = &p->plan.runs[k];
        struct sweep_state state = {0};
        struct plan_share *share = find_share(p, run->algo);
        sweep_look(&state, run, 1, LEASE_PATIENCE);
        p->runs++;
        share->runs++;
        p->done += state.done;
        if (state.done)
            continue;
        bool shared = is_shared(plan, index, run);
        p->shared += shared;
        share->left++;
        const struct probe *probe = find_probe(plan, p, run);
        if (!cost.task || strcmp(cost.task, run->task)) {
            cost.task = run->task;
            cost.good = probe_task(&cost.seconds, &cost.length, run->task);
        }
        double seconds = probe && cost.good ? probe_seconds(probe, cost.seconds, cost.length,
                                                            state.begun ? state.step : 0, run->steps)
                                            : NAN;
        share->update = probe ? probe->update : NAN;
        share->seconds += seconds;
        share->own += shared ? 0 : seconds;
        p->seconds += shared ? 0 : seconds;
        plan->longest = fmax(plan->longest, seconds);
    }
}

void plan_estimate(struct plan *plan, int jobs, bool quiet)
{
    plan->jobs = jobs;
    if (!quiet)
        fprintf(stderr, "measuring what an update costs here ...\n");
    for (int i = 0; i < plan->n; i++)
        estimate_item(plan, i);
}

int plan_left(const struct plan *plan)
{
    int left = 0;
    for (int i = 0; i < plan->n; i++)
        left += plan->items[i].runs - plan->items[i].done;
    return left;
}

/* On its jobs, but not less than its longest run; not-a-number if not known. */
static double plan_hours(const struct plan *plan)
{
    double seconds = 0;
    for (int i = 0; i < plan->n; i++)
        seconds += plan->items[i].seconds;
    double shared = seconds / plan->jobs; /* among the jobs; a comparison with not-a-number is false */
    return (shared < plan->longest ? plan->longest : shared) / 3600;
}

bool plan_paper_dqs(const struct plan *plan, double *core_hours, double *update)
{
    bool any = false;
    *core_hours = 0;
    for (int i = 0; i < plan->n && !strcmp(plan->preset, "paper"); i++)
        for (int k = 0; k < plan->items[i].n_shares; k++) {
            const struct plan_share *share = &plan->items[i].shares[k];
            if (strcmp(share->algo, "dqs") || share->left == 0)
                continue;
            *core_hours += share->own / 3600;
            *update = share->update;
            any = true;
        }
    return any;
}

/* ---------------------------------------------------------------- words */

static void format_time(char *text, size_t size, double hours)
{
    if (isnan(hours))
        snprintf(text, size, "an unknown time");
    else if (hours < 1.0 / 60)
        snprintf(text, size, "less than a minute");
    else if (hours < 2)
        snprintf(text, size, "about %.0f minutes", ceil(60 * hours));
    else
        snprintf(text, size, "about %.*f hours", hours < 10 ? 1 : 0, hours);
}

static void print_shares(FILE *out, const struct plan_item *p)
{
    for (int i = 0; i < p->n_shares; i++) {
        const struct plan_share *share = &p->shares[i];
        char time[64];
        format_time(time, sizeof time, share->seconds / 3600);
        if (share->left == 0)
            fprintf(out, "    %-6s %3d run%s, finished\n", share->algo, share->runs,
                    share->runs == 1 ? "" : "s");
        else if (isnan(share->update))
            fprintf(out, "    %-6s %3d run%s, %d to do\n", share->algo, share->runs,
                    share->runs == 1 ? "" : "s", share->left);
        else
            fprintf(out, "    %-6s %3d run%s, %d to do: %.*f ms an update, %s of one core\n", share->algo,
                    share->runs, share->runs == 1 ? "" : "s", share->left,
                    share->update < 0.001 ? 2 : share->update < 0.01, 1000 * share->update, time);
    }
}

/* "8 tasks x 5 algorithms x 3 seeds" */
static void format_grid(char *text, size_t size, const struct plan_item *p)
{
    int algos = p->n_shares ? p->n_shares : 1, cells = p->plan.cells ? p->plan.cells : 1;
    int tasks = cells / algos, seeds = p->plan.count / cells;
    snprintf(text, size, "%d task%s x %d algorithm%s x %d seed%s", tasks, tasks == 1 ? "" : "s", algos,
             algos == 1 ? "" : "s", seeds, seeds == 1 ? "" : "s");
}

/* The paper's count of steps: all but PPO have it as it is. */
static long paper_count(const struct sweep_plan *plan)
{
    long least = plan->count ? plan->runs[0].steps : 0;
    for (int i = 0; i < plan->count; i++)
        least = plan->runs[i].steps < least ? plan->runs[i].steps : least;
    return least;
}

void plan_print(FILE *out, const struct plan *plan)
{
    const char *bold = terminal_style(out, STYLE_BOLD), *plain = terminal_style(out, STYLE_PLAIN);
    char time[64], grid[100];
    for (int i = 0; i < plan->n; i++) {
        const struct plan_item *p = &plan->items[i];
        format_grid(grid, sizeof grid, p);
        fprintf(out, "%s%s%s: %s\n", bold, p->item->name, plain, p->item->title);
        fprintf(out, "    %s = %d run%s of %ld steps, preset %s; %d finished", grid, p->runs,
                p->runs == 1 ? "" : "s", paper_count(&p->plan), plan->preset, p->done);
        fprintf(out, p->shared ? ", %d shared with the above\n" : "\n", p->shared);
        print_shares(out, p);
    }
    format_time(time, sizeof time, plan_hours(plan));
    if (plan_left(plan) == 0)
        fprintf(out, "nothing is left to train\n");
    else
        fprintf(out, "%s for %s, %d run%s at a time on cores that are free (measured by a few updates)\n",
                time, plan->n > 1 ? "all of it" : "it", plan->jobs, plan->jobs == 1 ? "" : "s");
}

void plan_json(struct json *j, const struct plan *plan)
{
    json_open(j, '[');
    for (int i = 0; i < plan->n; i++) {
        const struct plan_item *p = &plan->items[i];
        json_open(j, '{');
        json_key(j, "item");
        json_string(j, p->item->name);
        json_key(j, "preset");
        json_string(j, plan->preset);
        json_key(j, "steps");
        json_integer(j, paper_count(&p->plan));
        json_key(j, "runs");
        json_integer(j, p->runs);
        json_key(j, "finished");
        json_integer(j, p->done);
        json_key(j, "shared");
        json_integer(j, p->shared);
        json_key(j, "core_hours");
        json_number(j, p->seconds / 3600);
        json_key(j, "algos");
        json_open(j, '[');
        for (int k = 0; k < p->n_shares; k++) {
            json_open(j, '{');
            json_key(j, "algo");
            json_string(j, p->shares[k].algo);
            json_key(j, "runs");
            json_integer(j, p->shares[k].runs);
            json_key(j, "left");
            json_integer(j, p->shares[k].left);
            json_key(j, "update_seconds");
            json_number(j, p->shares[k].left ? p->shares[k].update : NAN);
            json_key(j, "core_hours");
            json_number(j, p->shares[k].seconds / 3600);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}
