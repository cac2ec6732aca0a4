#include "transport.h"
#include "arena.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct assignment {
    int n;
    double *cost; /* [n x n] */
    double *price_row, *price_col,
        *slack;         /* reduced cost = cost - price_row - price_col >= 0, 0 on matched pairs */
    int *row_of, *from; /* matched row of a column, -1: free; the row from which a column was reached */
    bool *settled;
};

static void assignment_create(struct assignment *s, struct arena *arena, const float *a, const float *b,
                              int n)
{
    *s = (struct assignment){.n = n};
    s->cost = arena_new(arena, double, (size_t)n *(size_t)n);
    s->price_row = arena_new(arena, double, n);
    s->price_col = arena_new(arena, double, n);
    s->slack = arena_new(arena, double, n);
    s->row_of = arena_new(arena, int, n);
    s->from = arena_new(arena, int, n);
    s->settled = arena_new(arena, bool, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double dx = (double)a[2 * i] - b[2 * j], dy = (double)a[2 * i + 1] - b[2 * j + 1];
            s->cost[(size_t)i * (size_t)n + (size_t)j] = dx * dx + dy * dy;
        }
    for (int j = 0; j < n; j++)
        s->row_of[j] = -1;
}

/* Each row takes its cheapest column where that is free: most rows need no search afterwards. */
static void match_greedily(struct assignment *s, int *column)
{
    for (int i = 0; i < s->n; i++) {
        const double *cost = s->cost + (size_t)i * (size_t)s->n;
        int best = 0;
        for (int j = 1; j < s->n; j++)
            best = cost[j] < cost[best] ? j : best;
        s->price_row[i] = cost[best];
        column[i] = -1;
        if (s->row_of[best] < 0) {
            s->row_of[best] = i;
            column[i] = best;
        }
    }
}

/* Dijkstra from a free row to the nearest free column; prices follow, then the path is flipped. */
static void augment(struct assignment *s, int *column, int start)
{
    int n = s->n, row = start, end = -1;
    double reached = 0;
    for (int j = 0; j < n; j++) {
        s->slack[j] = INFINITY;
        s->settled[j] = false;
    }
    while (end < 0) {
        const double *cost = s->cost + (size_t)row * (size_t)n;
        double base = reached - s->price_row[row], nearest = INFINITY;
        int best = -1;
        for (int j = 0; j < n; j++) {
            if (s->settled[j])
                continue;
            double length = base + cost[j] - s->price_col[j];
            if (length < s->slack[j]) {
                s->slack[j] = length;
                s->from[j] = row;
            }
            if (s->slack[j] < nearest) {
                nearest = s->slack[j];
                best = j;
            }
        }
        reached = nearest;
        s->settled[best] = true;
        if (s->row_of[best] < 0)
            end = best;
        else
            row = s->row_of[best];
    }
    s->price_row[start] += reached;
    for (int j = 0; j < n; j++)
        if (s->settled[j] && j != end) {
            s->price_col[j] -= reached - s->slack[j];
            s->price_row[s->row_of[j]] += reached - s->slack[j];
        }
    while (end >= 0) {
        int i = s->from[end], before = column[i];
        s->row_of[end] = i;
        column[i] = end;
        end = before;
    }
}

double transport_w2(const float *a, const float *b, int n)
{
    struct arena arena = {0};
    struct assignment s;
    int *column = arena_new(&arena, int, n);
    double total = 0;
    assignment_create(&s, &arena, a, b, n);
    match_greedily(&s, column);
    for (int i = 0; i < n; i++)
        if (column[i] < 0)
            augment(&s, column, i);
    for (int i = 0; i < n; i++)
        total += s.cost[(size_t)i * (size_t)n + (size_t)column[i]];
    arena_free(&arena);
    return sqrt(total / n);
}
