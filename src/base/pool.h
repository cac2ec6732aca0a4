/* pool: fork and join over numbered tiles. Tile boundaries are chosen by the caller and do not depend on the
 * number of threads, so results do not either. Workers spin briefly between jobs and then sleep. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

struct pool;
/* Work on one tile; `thread` (0 .. threads-1) selects per-thread scratch, never results. */
typedef void pool_fn(void *context, int tile, int thread);

struct pool *
pool_create(int threads); /* threads >= 1, the caller is one of them; NULL if threads cannot be had */
int pool_threads(const struct pool *pool);
void pool_run(struct pool *pool, int tiles, pool_fn *fn, void *context); /* returns when all tiles are done */
void pool_free(struct pool *pool);

#endif
