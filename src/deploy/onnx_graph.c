/* onnx_graph: field numbers are those of onnx.proto3. */
#include "onnx_graph.h"
#include "export.h"
#include "file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_NOTES = 14
};
enum { OPSET_VERSION = 2, NOTE_KEY = 1, NOTE_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_I = 3, ATTRIBUTE_S = 4, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { DATA_FLOAT = 1, DATA_INT64 = 7, DATA_FLOAT16 = 10 };
enum {
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_ELEMENT = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_PARAM = 2
};
enum { IR_VERSION = 8, OPSET = 17 };

static onnx_value fresh(struct onnx_graph *g, const char *what)
{
    char *name = arena_new(&g->names, char, 40);
    snprintf(name, 40, "%.24s_%d", what, g->count++);
    return name;
}

/* ---------------------------------------------------------------- operators */
static void put_attribute(struct message *node, const struct onnx_attribute *a)
{
    struct message m = {0};
    message_text(&m, ATTRIBUTE_NAME, a->name);
    if (a->text)
        message_text(&m, ATTRIBUTE_S, a->text);
    else if (a->count > 0)
        for (int i = 0; i < a->count; i++)
            message_integer(&m, ATTRIBUTE_INTS, a->integers[i]);
    else
        message_integer(&m, ATTRIBUTE_I, a->integer);
    message_integer(&m, ATTRIBUTE_TYPE, a->text ? TYPE_STRING : a->count > 0 ? TYPE_INTS : TYPE_INT);
    message_put(node, NODE_ATTRIBUTE, &m);
}

static void put_node(struct onnx_graph *g, const char *op, const onnx_value *inputs, int n,
                     const onnx_value *outputs, int n_outputs, const struct onnx_attribute *attributes,
                     int n_attributes)
{
    struct message node = {0};
    for (int i = 0; i < n; i++)
        message_text(&node, NODE_INPUT, inputs[i]);
    for (int i = 0; i < n_outputs; i++)
        message_text(&node, NODE_OUTPUT, outputs[i]);
    message_text(&node, NODE_NAME, outputs[0]);
    message_text(&node, NODE_OP, op);
    for (int i = 0; i < n_attributes; i++)
        put_attribute(&node, &attributes[i]);
    message_put(&g->body, GRAPH_NODE, &node);
}

onnx_value onnx_node(struct onnx_graph *g, const char *op, const onnx_value *inputs, int n,
                     const struct onnx_attribute *attributes, int n_attributes)
{
    onnx_value out = fresh(g, op);
    put_node(g, op, inputs, n, &out, 1, attributes, n_attributes);
    return out;
}

onnx_value onnx_one(struct onnx_graph *g, const char *op, onnx_value a)
{
    return onnx_node(g, op, &a, 1, NULL, 0);
}

onnx_value onnx_two(struct onnx_graph *g, const char *op, onnx_value a, onnx_value b)
{
    return onnx_node(g, op, (onnx_value[]){a, b}, 2, NULL, 0);
}

void onnx_split(struct onnx_graph *g, onnx_value a, int axis, const int64_t *sizes, int n, onnx_value *out)
{
    onnx_value inputs[] = {a, onnx_integers(g, sizes, n)};
    const struct onnx_attribute along = {.name = "axis", .integer = axis};
    for (int i = 0; i < n; i++)
        out[i] = fresh(g, "Split");
    put_node(g, "Split", inputs, 2, out, n, &along, 1);
}

onnx_value onnx_concat(struct onnx_graph *g, const onnx_value *inputs, int n, int axis)
{
    return onnx_node(g, "Concat", inputs, n, &(struct onnx_attribute){.name = "axis", .integer = axis}, 1);
}

onnx_value onnx_reduce_mean(struct onnx_graph *g, onnx_value a, int axis)
{
    const int64_t axes = axis;
    return onnx_node(g, "ReduceMean", &a, 1,
                     &(struct onnx_attribute){.name = "axes", .integers = &axes, .count = 1}, 1);
}

onnx_value onnx_where(struct onnx_graph *g, onnx_value condition, onnx_value yes, onnx_value no)
{
    return onnx_node(g, "Where", (onnx_value[]){condition, yes, no}, 3, NULL, 0);
}

onnx_value onnx_reshape(struct onnx_graph *g, onnx_value a, const int64_t *shape, int rank)
{
    return onnx_two(g, "Reshape", a, onnx_integers(g, shape, rank));
}

onnx_value onnx_cast_float(struct onnx_graph *g, onnx_value a)
{
    return onnx_node(g, "Cast", &a, 1, &(struct onnx_attribute){.name = "to", .integer = DATA_FLOAT}, 1);
}

/* ---------------------------------------------------------------- constants */
static onnx_value put_tensor(struct onnx_graph *g, int type, const void *data, size_t size,
                             const int64_t *shape, int rank)
{
    struct message tensor = {0};
    onnx_value name = fresh(g, type == DATA_INT64 ? "i" : "w");
    for (int i = 0; i < rank; i++)
        message_integer(&tensor, TENSOR_DIMS, shape[i]);
    message_integer(&tensor, TENSOR_DATA_TYPE, type);
    message_text(&tensor, TENSOR_NAME, name);
    message_bytes(&tensor, TENSOR_RAW, data, size);
    message_put(&g->body, GRAPH_INITIALIZER, &tensor);
    return name;
}

static size_t count_of(const int64_t *shape, int rank)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    return count;
}

onnx_value onnx_tensor(struct onnx_graph *g, const float *data, const int64_t *shape, int rank)
{
    return put_tensor(g, DATA_FLOAT, data, sizeof *data * count_of(shape, rank), shape, rank);
}

onnx_value onnx_weights(struct onnx_graph *g, const float *data, const int64_t *shape, int rank)
{
    size_t count = count_of(shape, rank);
    uint16_t *halves;
    if (!g->half)
        return onnx_tensor(g, data, shape, rank);
    if (!(halves = malloc(sizeof *halves * count))) {
        g->body.failed = true;
        return "";
    }
    for (size_t i = 0; i < count; i++)
        halves[i] = half_of(data[i]);
    onnx_value stored = put_tensor(g, DATA_FLOAT16, halves, sizeof *halves * count, shape, rank);
    free(halves);
    return onnx_cast_float(g, stored);
}

onnx_value onnx_integers(struct onnx_graph *g, const int64_t *data, int n)
{
    const int64_t shape = n;
    return put_tensor(g, DATA_INT64, data, sizeof *data * (size_t)n, &shape, 1);
}

onnx_value onnx_integer(struct onnx_graph *g, int64_t value)
{
    return put_tensor(g, DATA_INT64, &value, sizeof value, NULL, 0);
}

onnx_value onnx_scalar(struct onnx_graph *g, float value)
{
    return onnx_tensor(g, &value, NULL, 0);
}

/* ---------------------------------------------------------------- ends */
static void put_value(struct onnx_graph *g, int field, const char *name, int n)
{
    struct message value = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    message_text(&dim, DIM_PARAM, "batch");
    message_put(&shape, SHAPE_DIM, &dim);
    message_integer(&dim, DIM_VALUE, n);
    message_put(&shape, SHAPE_DIM, &dim);
    message_integer(&tensor, TENSOR_ELEMENT, DATA_FLOAT);
    message_put(&tensor, TENSOR_SHAPE, &shape);
    message_put(&type, TYPE_TENSOR, &tensor);
    message_text(&value, VALUE_NAME, name);
    message_put(&value, VALUE_TYPE, &type);
    message_put(&g->body, field, &value);
}

onnx_value onnx_input(struct onnx_graph *g, const char *name, int n)
{
    put_value(g, GRAPH_INPUT, name, n);
    return name;
}

void onnx_output(struct onnx_graph *g, const char *name, onnx_value from, int n)
{
    put_node(g, "Identity", &from, 1, &name, 1, NULL, 0);
    put_value(g, GRAPH_OUTPUT, name, n);
}

dqs_status onnx_write(struct onnx_graph *g, const char *path, const char *name, const struct onnx_note *notes,
                      dqs_error *error)
{
    struct message model = {0}, opset = {0};
    message_text(&g->body, GRAPH_NAME, name);
    message_integer(&model, MODEL_IR_VERSION, IR_VERSION);
    message_text(&model, MODEL_PRODUCER, "dqs");
    message_text(&model, MODEL_PRODUCER_VERSION, DQS_VERSION);
    message_integer(&opset, OPSET_VERSION, OPSET);
    message_put(&model, MODEL_OPSET, &opset);
    message_put(&model, MODEL_GRAPH, &g->body);
    for (; notes->key; notes++) {
        struct message note = {0};
        message_text(&note, NOTE_KEY, notes->key);
        message_text(&note, NOTE_VALUE, notes->value);
        message_put(&model, MODEL_NOTES, &note);
    }
    struct file_writer writer;
    dqs_status status = model.failed ? fail(error, DQS_E_MEMORY, "%s: out of memory", path)
                                     : file_begin(&writer, path, error);
    if (status == DQS_OK) {
        file_put(&writer, model.data, model.size);
        status = file_commit(&writer, error);
    }
    message_free(&model);
    arena_free(&g->names);
    return status;
}
