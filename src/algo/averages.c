#include "averages.h"
#include "adam.h"
#include <assert.h>
#include <math.h>

static bool kept(const struct averages *a)
{
    return a->o.rate > 0 && !a->o.act_only;
}

void averages_create(struct averages *a, struct arena *arena, const struct averages_options *o,
                     struct net *const of[], const char *const names[], int n)
{
    assert(n <= AVERAGES_MOST);
    *a = (struct averages){.o = *o, .n = n, .names = names};
    for (int i = 0; i < n; i++) {
        a->of[i] = of[i];
        if (kept(a))
            net_create(&a->now[i], arena, &of[i]->spec);
        if (kept(a) && o->anew)
            net_create(&a->coming[i], arena, &of[i]->spec);
    }
}

/* A fading memory: of about a quarter of all updates, and of 1/rate at most. */
void averages_update(struct averages *a, const struct compute *compute, long updates, bool again)
{
    bool settling = again && updates < a->o.settle;
    for (int i = 0; kept(a) && i < a->n; i++) {
        if (settling && updates == 0) /* for the same bits as without settling: a share of 1 rounds */
            net_copy(&a->coming[i], &a->now[i]);
        if (again && updates == a->o.settle && a->o.settle > 0)
            net_copy(&a->now[i], &a->coming[i]);
        polyak_blend(compute, settling ? &a->coming[i] : &a->now[i], a->of[i],
                     fmax(a->o.rate, 4 / (4 + (double)updates)));
    }
}

void averages_exchange(struct averages *a)
{
    for (int i = 0; kept(a) && i < a->n; i++) {
        struct net own = *a->of[i];
        *a->of[i] = a->now[i];
        a->now[i] = own;
    }
}

void averages_visit(struct averages *a, struct visitor *v, bool first)
{
    int mark = visit_enter(v, "average/");
    for (int i = 0; kept(a) && first && i < a->n; i++)
        net_copy(&a->now[i], a->of[i]);
    for (int i = 0; i < a->n; i++)
        net_visit(kept(a) ? &a->now[i] : a->of[i], v, a->names[i], VISIT_POLICY | VISIT_COURSE);
    visit_leave(v, mark);
}

void averages_visit_coming(struct averages *a, struct visitor *v)
{
    int mark = visit_enter(v, "coming/");
    for (int i = 0; kept(a) && a->o.anew && i < a->n; i++)
        net_visit(&a->coming[i], v, a->names[i], VISIT_LEARN | VISIT_COURSE);
    visit_leave(v, mark);
}
