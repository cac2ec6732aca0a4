/* ablate: the table in its forms. */
#include "ablate.h"
#include "file.h"
#include "number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\u2013"

static bool is_return(const struct ablation *a)
{
    return !strcmp(a->measure, "mean_reward");
}

static double per_hour(const struct ablation *a, const struct ablate_value *v)
{
    /* Negative returns have no such number: less would seem more. */
    return is_return(a) && v->n > 0 && v->hours > 0 && v->mean >= 0 ? v->mean / v->hours : NAN;
}

static void put_number(struct document *d, double value)
{
    char text[40];
    plot_number(text, sizeof text, value);
    document_cell(d, DOCUMENT_PLAIN, "%s", isfinite(value) ? text : DASH);
}

static void put_interval(struct document *d, const struct stats_interval *interval, int n)
{
    char low[40], high[40];
    plot_number(low, sizeof low, interval->low);
    plot_number(high, sizeof high, interval->high);
    if (n < 2) /* one seed has no spread */
        document_cell(d, DOCUMENT_PLAIN, DASH);
    else
        document_cell(d, DOCUMENT_PLAIN, "%s .. %s", low, high);
}

void ablate_document(struct document *d, const struct ablation *a)
{
    static const char *const head[] = {"Seeds", "Mean",     "Std",       "95 % interval",
                                       "Area",  "Area std", "Core hours"};
    const int columns = 1 + (int)(sizeof head / sizeof *head) + is_return(a);
    int least = a->n_values ? a->values[0].n : 0;
    for (int i = 0; i < a->n_values; i++)
        least = a->values[i].n < least ? a->values[i].n : least;
    document_heading(d, 1, "%s of %s on %s", a->option, a->algo, a->task);
    document_paragraph(d, "Preset %s, %ld steps.%s", a->preset, a->steps,
                       least < 3 ? " Fewer than 3 seeds: differences may be chance." : "");
    document_table(
        d, columns, 1,
        "%s at the end and its mean along the curve (area under it over its width); intervals are the middle "
        "95 %% of the mean when seeds are drawn anew.",
        is_return(a) ? "Return" : a->measure);
    document_cell(d, DOCUMENT_PLAIN, "%s", a->option);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        document_cell(d, DOCUMENT_PLAIN, "%s", head[i]);
    if (is_return(a))
        document_cell(d, DOCUMENT_PLAIN, "Return per hour");
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        document_cell(d, DOCUMENT_PLAIN, "%s", v->text);
        document_cell(d, DOCUMENT_PLAIN, v->n < v->planned ? "%d of %d" : "%d", v->n, v->planned);
        put_number(d, v->mean);
        put_number(d, v->std);
        put_interval(d, &v->interval, v->n);
        put_number(d, v->area);
        put_number(d, v->area_std);
        put_number(d, v->hours);
        if (is_return(a))
            put_number(d, per_hour(a, v));
    }
}

static void csv_number(FILE *out, double value)
{
    char text[NUMBER_TEXT_SIZE] = "";
    if (isfinite(value))
        number_write(text, value);
    fprintf(out, ",%s", text);
}

static void write_csv(FILE *out, const struct ablation *a)
{
    fprintf(out, "value,seeds,mean,std,low,high,area,area_std,area_low,area_high,core_hours,per_hour\n");
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        const double numbers[] = {v->mean,  v->std,        v->interval.low,      v->interval.high,
                                  v->area,  v->area_std,   v->area_interval.low, v->area_interval.high,
                                  v->hours, per_hour(a, v)};
        for (const char *c = v->text; *c; c++)
            fputc(*c == ',' || *c == '"' ? '_' : *c, out);
        fprintf(out, ",%d", v->n);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            csv_number(out, numbers[k]);
        fputc('\n', out);
    }
}

void ablate_json(struct json *j, const struct ablation *a)
{
    json_open(j, '{');
    json_put_text(j, "env", a->task);
    json_put_text(j, "algo", a->algo);
    json_put_text(j, "preset", a->preset);
    json_put_text(j, "option", a->option);
    json_put_text(j, "measure", a->measure);
    json_key(j, "steps");
    json_integer(j, a->steps);
    json_key(j, "values");
    json_open(j, '[');
    for (int i = 0; i < a->n_values; i++) {
        const struct ablate_value *v = &a->values[i];
        json_open(j, '{');
        json_put_text(j, "value", v->text);
        json_key(j, "seeds");
        json_integer(j, v->n);
        json_put_number(j, "mean", v->mean);
        json_put_number(j, "std", v->std);
        json_put_number(j, "low", v->interval.low);
        json_put_number(j, "high", v->interval.high);
        json_put_number(j, "area", v->area);
        json_put_number(j, "area_std", v->area_std);
        json_put_number(j, "area_low", v->area_interval.low);
        json_put_number(j, "area_high", v->area_interval.high);
        json_put_number(j, "core_hours", v->hours);
        json_put_number(j, "per_hour", per_hour(a, v));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static dqs_status write_text(const struct ablation *a, const struct plot_target *target, bool csv,
                             dqs_error *error)
{
    char *text = NULL;
    size_t size;
    struct document d = {0};
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail(error, DQS_E_MEMORY, "ablate: out of memory");
    if (csv) {
        write_csv(out, a);
    } else {
        ablate_document(&d, a);
        document_markdown(out, &d);
        document_free(&d);
    }
    dqs_status status = fclose(out) == 0
                            ? plot_write_text(target, "ablation", csv ? "csv" : "md", text, error)
                            : fail(error, DQS_E_MEMORY, "ablate: out of memory");
    free(text);
    return status;
}

dqs_status ablate_write(const struct ablation *a, const char *folder, struct plot_report *files,
                        dqs_error *error)
{
    const struct plot_target target = {folder, files};
    TRY(file_make_folders(folder, error));
    TRY(write_text(a, &target, false, error));
    TRY(write_text(a, &target, true, error));
    return ablate_figure(a, &target, error);
}
