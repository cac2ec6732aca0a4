/* fuzz_table: any bytes as evaluations.csv. What is accepted can be asked for any column, row and score; what
 * is refused is refused with one line. */
#include "collection.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool kept)
{
    if (!kept)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct collection_run run = {.path = "fuzz"};
    struct plot_table *table = &run.evaluations;
    dqs_error error = {.status = DQS_OK};
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    if (plot_table_parse(table, &arena, text, size, "fuzz", &error) != DQS_OK) {
        demand(error.message[0] && !strchr(error.message, '\n'));
    } else {
        double sum = 0; /* every number is there */
        for (int k = 0; k < table->columns; k++) {
            const double *column = plot_column(table, table->names[k]);
            demand(column != NULL);
            for (int i = 0; i < table->rows; i++)
                sum += column[i];
        }
        static const long budgets[] = {1, 1000, 100000, 1000000000000};
        for (int b = 0; b < 4; b++) {
            int row = collection_row(&run, budgets[b]);
            demand(row >= -1 && row < table->rows);
            demand((row < 0) == isnan(collection_score(&run, budgets[b])));
        }
        volatile double sink = sum;
        (void)sink;
    }
    free(text);
    arena_free(&arena);
    return 0;
}
