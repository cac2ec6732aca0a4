/* export_c: a policy as one C99 file and its header. The working is template/policy.c.in; here are its gaps
 * and its tables. */
#include "export.h"
#include "fill_in.h"
#include "number.h"
#include "process.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- tables */
static void put(struct file_writer *to, const char *text)
{
    file_put(to, text, strlen(text));
}

/* A float literal: 1.0f, -0.25f, 1e-05f */
static void literal(char text[NUMBER_TEXT_SIZE + 4], float x)
{
    number_write_float(text, x);
    if (!strpbrk(text, ".e"))
        strcat(text, ".0");
    strcat(text, "f");
}

static void put_number(struct file_writer *to, float x, bool half)
{
    char text[NUMBER_TEXT_SIZE + 4];
    if (half)
        snprintf(text, sizeof text, "0x%04x", half_of(x));
    else
        literal(text, x);
    put(to, text);
}

/* Numbers in nested braces: dims ends with 0. `stride`: from one row of the last dimension to the next. */
static const float *put_block(struct file_writer *to, const float *x, const int *dims, bool half)
{
    put(to, "{");
    for (int i = 0; i < dims[0]; i++) {
        if (i > 0)
            put(to, dims[1] ? ",\n" : i % 12 ? ", " : ",\n ");
        if (dims[1])
            x = put_block(to, x, dims + 1, half);
        else
            put_number(to, *x++, half);
    }
    put(to, "}");
    return x;
}

static void put_table(struct file_writer *to, const char *type, const char *name, const float *x,
                      const int *dims)
{
    char head[200];
    int n = snprintf(head, sizeof head, "static const %s %s", type, name);
    for (int i = 0; dims[i]; i++)
        n += snprintf(head + n, sizeof head - (size_t)n, "[%d]", dims[i]);
    put(to, head);
    put(to, " ALIGNED = ");
    put_block(to, x, dims, false);
    put(to, ";\n");
}

/* Weights may be in half precision, and a table may be put together from pieces that are not neighbours. */
static void begin_weights(struct file_writer *to, const char *name, const int *dims)
{
    char head[200];
    int n = snprintf(head, sizeof head, "static const weight %s", name);
    for (int i = 0; dims[i]; i++)
        n += snprintf(head + n, sizeof head - (size_t)n, "[%d]", dims[i]);
    put(to, head);
    put(to, " ALIGNED = ");
}

static void put_weights(struct file_writer *to, const char *name, const float *x, const int *dims, bool half)
{
    begin_weights(to, name, dims);
    put_block(to, x, dims, half);
    put(to, ";\n");
}

/* The hidden layers from the second on, side by side: biases or weights. */
static void put_hidden(struct file_writer *to, const struct net *net, bool bias, bool half)
{
    int width = net->spec.width;
    put(to, "{");
    for (int l = 1; l < net->spec.hidden; l++) {
        put(to, l > 1 ? ",\n" : "");
        if (bias)
            put_block(to, net_bias(net, l), (int[]){width, 0}, false);
        else
            put_block(to, net_weight(net, l), (int[]){width, width, 0}, half);
    }
    put(to, "}");
}

static void put_network(struct file_writer *to, const struct export_job *job)
{
    const struct blueprint *b = job->b;
    const struct net *net = b->net;
    int F = b->feature_dim, d = b->act_dim, width = net->spec.width, deep = net->spec.hidden - 1,
        out = net->spec.out;
    put_weights(to, "w_state", net_weight(net, 0), (int[]){F, width, 0}, job->half);
    if (b->steps > 0) {
        put_weights(to, "w_action", net_weight(net, 0) + (size_t)F * (size_t)width, (int[]){d, width, 0},
                    job->half);
        put_table(to, "float", "level_part", b->level_part, (int[]){b->steps, width, 0});
    } else {
        put_table(to, "float", "b_first", net_bias(net, 0), (int[]){width, 0});
    }
    if (deep > 0) {
        begin_weights(to, "w_hidden", (int[]){deep, width, width, 0});
        put_hidden(to, net, false, job->half);
        char head[100];
        snprintf(head, sizeof head, ";\nstatic const float b_hidden[%d][%d] ALIGNED = ", deep, width);
        put(to, head);
        put_hidden(to, net, true, false);
        put(to, ";\n");
    }
    put_weights(to, "w_out", net_weight(net, net->spec.hidden), (int[]){out, width, 0}, job->half);
    put_table(to, "float", "b_out", net_bias(net, net->spec.hidden), (int[]){out, 0});
}

/* One table for both critics. part: what of a critic stands in it. */
static void put_pair(struct file_writer *to, const struct export_job *job, const char *head,
                     void (*part)(struct file_writer *, const struct export_job *, const struct net *))
{
    put(to, head);
    put(to, " ALIGNED = {");
    part(to, job, job->b->critic[0]);
    put(to, ",\n");
    part(to, job, job->b->critic[1]);
    put(to, "};\n");
}

static void part_state(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    put_block(to, net_weight(net, 0), (int[]){job->b->feature_dim, net->spec.width, 0}, job->half);
}

static void part_action(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    put_block(to, net_weight(net, 0) + (size_t)job->b->feature_dim * (size_t)net->spec.width,
              (int[]){job->b->act_dim, net->spec.width, 0}, job->half);
}

static void part_first_bias(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    (void)job;
    put_block(to, net_bias(net, 0), (int[]){net->spec.width, 0}, false);
}

static void part_hidden(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    put_hidden(to, net, false, job->half);
}

static void part_hidden_bias(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    (void)job;
    put_hidden(to, net, true, false);
}

static void part_out(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    put_block(to, net_weight(net, net->spec.hidden), (int[]){net->spec.width, 0}, job->half);
}

static void part_out_bias(struct file_writer *to, const struct export_job *job, const struct net *net)
{
    (void)job;
    put_number(to, *net_bias(net, net->spec.hidden), false);
}

static void put_critics(struct file_writer *to, const struct export_job *job)
{
    const struct blueprint *b = job->b;
    put_pair(to, job, "static const weight critic_state[2][FEATURES][CRITIC_WIDTH]", part_state);
    put_pair(to, job, "static const weight critic_action[2][ACT][CRITIC_WIDTH]", part_action);
    put_pair(to, job, "static const float critic_b_first[2][CRITIC_WIDTH]", part_first_bias);
    if (b->critic[0]->spec.hidden > 1) {
        put_pair(to, job,
                 "static const weight critic_hidden[2][CRITIC_HIDDEN - 1][CRITIC_WIDTH][CRITIC_WIDTH]",
                 part_hidden);
        put_pair(to, job, "static const float critic_b_hidden[2][CRITIC_HIDDEN - 1][CRITIC_WIDTH]",
                 part_hidden_bias);
    }
    put_pair(to, job, "static const weight critic_out[2][CRITIC_WIDTH]", part_out);
    put_pair(to, job, "static const float critic_b_out[2]", part_out_bias);
    put(to, "static const float inverse_T = ");
    put_number(to, b->inverse_T, false);
    put(to, ";\n");
    if (b->corrector == 0)
        return;
    put(to, "static const float corrector_step = ");
    put_number(to, b->corrector_step, false);
    put(to, ";\n/* Where in the noise. */\n");
    for (int uniform = 0; uniform < 2; uniform++) {
        put(to, uniform ? "static const int correction_uniform[CORRECTIONS] = {"
                        : "static const int correction_normals[CORRECTIONS] = {");
        for (int n = 0; n < b->corrector; n++) {
            char text[24];
            snprintf(text, sizeof text, "%s%d", n > 0 ? ", " : "",
                     b->slot[b->first_corrector_noise + 2 * n + uniform].at);
            put(to, text);
        }
        put(to, "};\n");
    }
}

static bool any_second(const struct blueprint *b)
{
    for (int n = 0; n < b->steps; n++)
        if (b->step[n].second)
            return true;
    return false;
}

static void put_steps(struct file_writer *to, const struct blueprint *b)
{
    bool second = any_second(b);
    put(to,
        "/* inner = inner_x x + inner_y y; x <- by_inner inner + by_x x + spread z, y the network at x, z = "
        "noise[noise ..] */\n"
        "static const struct step {\n    float inner_x, inner_y, by_inner, by_x, spread;\n    int noise;\n");
    if (second)
        put(to, "    int second; /* x <- x + by_y y + by_y2 (the network at inner, one level on) */\n    "
                "float by_y, by_y2;\n");
    put(to, "} steps[STEPS] = {\n");
    for (int n = 0; n < b->steps; n++) {
        const struct blueprint_step *s = &b->step[n];
        const float numbers[] = {s->inner_x, s->inner_y, s->by_inner, s->by_x, s->spread};
        char text[NUMBER_TEXT_SIZE];
        put(to, "    {");
        for (int i = 0; i < 5; i++) {
            put_number(to, numbers[i], false);
            put(to, ", ");
        }
        snprintf(text, sizeof text, "%d", s->noise < 0 ? -1 : b->slot[s->noise].at);
        put(to, text);
        if (second) {
            put(to, s->second ? ", 1, " : ", 0, ");
            put_number(to, s->by_y, false);
            put(to, ", ");
            put_number(to, s->by_y2, false);
        }
        put(to, "},\n");
    }
    put(to, "};\nstatic const float chain_start = ");
    put_number(to, b->start, false);
    put(to, ";\n");
}

static void put_tables(struct file_writer *to, const void *context)
{
    const struct export_job *job = context;
    const struct blueprint *b = job->b;
    int obs[] = {b->obs_dim, 0}, act[] = {b->act_dim, 0};
    if (b->norm->on) {
        put_table(to, "float", "obs_shift", b->norm->shift, obs);
        put_table(to, "float", "obs_scale", b->norm->scale, obs);
    }
    put_network(to, job);
    if (b->steps > 0)
        put_steps(to, b);
    if (b->sigma_form == SIGMA_CONSTANT)
        put_table(to, "float", "sigma", b->sigma, act);
    if (b->critic[0])
        put_critics(to, job);
    if (job->centre) {
        put_table(to, "float", "action_centre", job->centre, act);
        put_table(to, "float", "action_half", job->reach, act);
    }
}

static void put_summary(struct file_writer *to, const void *context)
{
    const struct export_job *job = context;
    char line[300];
    put(to, " * ");
    export_summary(job->b, line, sizeof line);
    put(to, line);
    snprintf(line, sizeof line, ": %zu weights in fp%d.\n", export_weights(job->b), job->half ? 16 : 32);
    put(to, line);
}

/* ---------------------------------------------------------------- gaps */
static void fill_sizes(struct fill_in *f, const struct export_job *job)
{
    const struct blueprint *b = job->b;
    const struct net_spec *s = &b->net->spec, none = {0}, *c = b->critic[0] ? &b->critic[0]->spec : &none;
    int most = b->feature_dim > s->width ? b->feature_dim : s->width;
    most = most > c->width ? most : c->width;
    most = most > b->act_dim ? most : b->act_dim;
    size_t floats = (size_t)b->feature_dim + 3 * (size_t)s->width + (size_t)(b->normals + b->uniforms) +
                    (size_t)(2 + 2 * c->hidden + 3) * (size_t)c->width +
                    (size_t)((8 + b->particles) * b->act_dim) + 64;
    fill_in_text(f, "obs", "%d", b->obs_dim);
    fill_in_text(f, "act", "%d", b->act_dim);
    fill_in_text(f, "features", "%d", b->feature_dim);
    fill_in_text(f, "width", "%d", s->width);
    fill_in_text(f, "hidden", "%d", s->hidden);
    fill_in_text(f, "out", "%d", s->out);
    fill_in_text(f, "steps", "%d", b->steps);
    fill_in_text(f, "most_inputs", "%d", most);
    fill_in_text(f, "normals", "%d", b->normals);
    fill_in_text(f, "uniforms", "%d", b->uniforms);
    fill_in_text(f, "stack", "%zu", (floats * sizeof(float) + 2 * (size_t)most + 255) / 256 * 256);
    fill_in_text(f, "particles", "%s", "");
    if (b->particles > 1)
        snprintf(f->gap[f->count - 1].value, sizeof f->gap[0].value, "%d", b->particles);
    fill_in_text(f, "corrector", "%s", "");
    if (b->corrector > 0)
        snprintf(f->gap[f->count - 1].value, sizeof f->gap[0].value, "%d", b->corrector);
    fill_in_text(f, "critic_width", "%d", c->width);
    fill_in_text(f, "critic_hidden", "%d", c->hidden);
    fill_in_text(f, "octaves", "%.*d", b->octaves > 0, b->octaves); /* nothing where there are none */
}

static void fill_numbers(struct fill_in *f, const struct blueprint *b)
{
    const struct {
        const char *key;
        float value;
    } numbers[] = {{"sigma_low", b->sigma_low},
                   {"sigma_high", b->sigma_high},
                   {"sigma_half", 0.5f * (b->sigma_high - b->sigma_low)}};
    const struct {
        const char *key;
        int slot;
    } places[] = {{"start_at", b->start_noise},
                  {"choice_at", b->choice_noise},
                  {"sigma_at", b->sigma_noise},
                  {"out_at", b->out_slot}};
    char text[NUMBER_TEXT_SIZE + 4];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        literal(text, numbers[i].value);
        fill_in_text(f, numbers[i].key, "%.*s", (int)strlen(text) - 1, text);
    }
    literal(text, b->out_noise);
    fill_in_text(f, "out_noise", "%.*s", b->out_noise > 0 ? (int)strlen(text) - 1 : 0, text);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        fill_in_text(f, places[i].key, "%d", b->slots > 0 ? b->slot[places[i].slot].at : 0);
}

static void fill_flags(struct fill_in *f, const struct export_job *job)
{
    const struct blueprint *b = job->b;
    const struct net_spec *s = &b->net->spec, none = {0}, *c = b->critic[0] ? &b->critic[0]->spec : &none;
    bool chain = b->steps > 0, clip = chain && b->step[0].clip, clip_inner = chain && b->step[0].clip_inner,
         spread = false;
    for (int n = 0; n < b->steps; n++)
        spread = spread || b->step[n].noise >= 0;
    const struct {
        const char *key;
        bool on;
    } flags[] = {
        {"chain", chain},
        {"direct", !chain},
        {"best", b->particles > 1 && b->best},
        {"drawn", b->particles > 1 && !b->best},
        {"one_chain", chain && b->particles == 1},
        {"deep", s->hidden > 1},
        {"half", job->half},
        {"act_relu", s->act == ACT_RELU},
        {"act_gelu", s->act == ACT_GELU},
        {"act_mish", s->act == ACT_MISH},
        {"act_tanh", s->act == ACT_TANH},
        {"tanh", s->act == ACT_TANH || s->act == ACT_GELU},
        {"exp", s->act != ACT_RELU},
        {"layernorm", s->layernorm},
        {"any_layernorm", s->layernorm || c->layernorm},
        {"residual", s->residual},
        {"normalise", b->norm->on},
        {"clip", clip},
        {"clip_inner", clip_inner},
        {"second", any_second(b)},
        {"spread", spread},
        {"squash_box", b->squash == OUT_BOX},
        {"squash_tanh", b->squash == OUT_TANH},
        {"box", b->squash == OUT_BOX || clip || clip_inner || b->out_noise > 0 || b->corrector > 0},
        {"sigma_constant", b->sigma_form == SIGMA_CONSTANT},
        {"sigma_tanh", b->sigma_form == SIGMA_OF_NET_TANH},
        {"sigma_clamp", b->sigma_form == SIGMA_OF_NET_CLAMP},
        {"critics", b->critic[0] != NULL},
        {"critics_mean", b->critics_mean},
        {"critic_deep", c->hidden > 1},
        {"critic_layernorm", c->layernorm},
        {"critic_residual", c->residual},
        {"scale", job->centre != NULL},
        {"still", b->slots == 0},
        {"any_uniforms", b->uniforms > 0},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        fill_in_flag(f, flags[i].key, flags[i].on);
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void fill_names(struct fill_in *f, const struct export_job *job)
{
    char upper[EXPORT_NAME_SIZE];
    const char *file = file_of(job->path);
    size_t i = 0;
    for (; job->name[i]; i++)
        upper[i] = (char)toupper((unsigned char)job->name[i]);
    upper[i] = 0;
    fill_in_text(f, "file", "%.*s", (int)(strlen(file) - strlen(export_c_format.ending)), file);
    fill_in_text(f, "name", "%s", job->name);
    fill_in_text(f, "NAME", "%s", upper);
    fill_in_text(f, "env", "%s", job->env);
    fill_in_text(f, "algo", "%s", job->algo);
    fill_in_text(f, "version", "%s", DQS_VERSION);
    fill_in_text(f, "repeat", "%d", job->repeat);
    fill_in_text(f, "units", "%s", job->centre ? "the task's own units" : "the box [-1,1]");
}

static dqs_status write_c(const struct export_job *job, dqs_error *error)
{
    char header[EXPORT_PATH_SIZE];
    struct fill_in *f = calloc(1, sizeof *f);
    if (!f)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", job->path);
    fill_names(f, job);
    fill_sizes(f, job);
    fill_numbers(f, job->b);
    fill_flags(f, job);
    fill_in_writer(f, "tables", put_tables, job);
    fill_in_writer(f, "summary", put_summary, job);
    snprintf(header, sizeof header, "%.*s.h", (int)(strlen(job->path) - strlen(export_c_format.ending)),
             job->path);
    dqs_status status = fill_in_file(f, header, export_policy_h, error);
    if (status == DQS_OK)
        status = fill_in_file(f, job->path, export_policy_c, error);
    free(f);
    return status;
}

/* ---------------------------------------------------------------- compiled and compared */
static const char *compiler(void)
{
    const char *chosen = getenv("CC");
    return chosen && *chosen && !strpbrk(chosen, " \t") ? chosen : "cc";
}

static int compile(const char *folder, const char *source, const char *policy, char *output, size_t size)
{
    char include[EXPORT_PATH_SIZE + 8], program[EXPORT_PATH_SIZE + 32];
    const char *slash = strrchr(policy, '/');
    snprintf(include, sizeof include, "-I%.*s", slash ? (int)(slash - policy) : 1, slash ? policy : ".");
    snprintf(program, sizeof program, "%s/parity", folder);
    const char *fast[] = {compiler(), "-O3",  "-march=native", include, "-o",
                          program,    source, policy,          "-lm",   NULL};
    const char *plain[] = {compiler(), "-O2", include, "-o", program, source, policy, "-lm", NULL};
    int code = process_run(fast, output, size);
    return code == 0 || code == PROCESS_ABSENT ? code : process_run(plain, output, size);
}

static void first_line(char *text)
{
    text[strcspn(text, "\n")] = 0;
}

static dqs_status run_c(const struct export_job *job, const struct export_sample *sample, const char *folder,
                        struct export_outcome *out, dqs_error *error)
{
    char source[EXPORT_PATH_SIZE + 32], data[EXPORT_PATH_SIZE + 32], program[EXPORT_PATH_SIZE + 32],
        output[2000];
    snprintf(source, sizeof source, "%s/parity.c", folder);
    snprintf(data, sizeof data, "%s/parity.bin", folder);
    snprintf(program, sizeof program, "%s/parity", folder);
    struct fill_in *f = calloc(1, sizeof *f);
    if (!f)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", job->path);
    fill_names(f, job);
    dqs_status status = fill_in_file(f, source, export_parity_c, error);
    free(f);
    TRY(status);
    TRY(export_sample_write(job, sample, data, error));
    int code = compile(folder, source, job->path, output, sizeof output);
    if (code == PROCESS_ABSENT) {
        snprintf(out->note, sizeof out->note,
                 "no C compiler '%s' here; install one, or name one by CC=", compiler());
        return DQS_OK;
    }
    first_line(output);
    if (code != 0)
        return fail(error, DQS_E_UNSUPPORTED, "%s: %s does not compile it: %.200s", job->path, compiler(),
                    output);
    const char *const argv[] = {program, data, NULL};
    code = process_run(argv, output, sizeof output);
    if (code != 0 || !export_outcome_read(output, out)) {
        first_line(output);
        return fail(error, DQS_E_UNSUPPORTED, "%s: its comparison ended with code %d: %.200s", job->path,
                    code, output);
    }
    return DQS_OK;
}

const struct export_format export_c_format = {"c", ".c", write_c, run_c};
