/* transport: the exact Wasserstein-2 distance between two sets of as many points, by optimal assignment. */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

/* a, b [n x 2]. Shortest augmenting paths with dual prices, O(n^3). */
double transport_w2(const float *a, const float *b, int n);

#endif
