/* averages: of a policy's networks over their last updates. They are what is evaluated and kept as policy; who
 * learns and explores does not look at them. */
#ifndef ALGO_AVERAGES_H
#define ALGO_AVERAGES_H

#include "net.h"

#define AVERAGES_MOST 3

struct averages_options {
    double rate;   /* share of an update, in the long run; 0: there are no averages */
    bool act_only; /* the networks are averages already */
    bool anew;     /* the networks may begin anew */
    long settle;   /* updates for which the averages from before act on, then */
};

struct averages {
    struct averages_options o;
    int n;
    const char *const *names;
    struct net *of[AVERAGES_MOST];
    struct net now[AVERAGES_MOST];    /* what acts */
    struct net coming[AVERAGES_MOST]; /* of networks that began anew, before it is their turn */
};

/* names and networks [n] stay the caller's. */
void averages_create(struct averages *a, struct arena *arena, const struct averages_options *o,
                     struct net *const of[], const char *const names[], int n);
/* After an update of the networks; `updates`: those before it, since they began; `again`: not for the first
 * time. */
void averages_update(struct averages *a, const struct compute *compute, long updates, bool again);
/* The averages take the place of the networks; once more, and they are back. */
void averages_exchange(struct averages *a);
/* The policy; `first`: before the first update the networks are what will be the first averages. */
void averages_visit(struct averages *a, struct visitor *v, bool first);
/* What acts later; for learners alone. */
void averages_visit_coming(struct averages *a, struct visitor *v);

#endif
