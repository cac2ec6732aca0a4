/* onnx_graph: an ONNX graph, put together operator by operator. A value is a name; functions that compute one
 * return it. Names are the graph's and live as long as it does. Operators are those of opset 17 of the
 * standard domain. */
#ifndef DEPLOY_ONNX_GRAPH_H
#define DEPLOY_ONNX_GRAPH_H

#include "arena.h"
#include "protobuf.h"
#include "status.h"

typedef const char *onnx_value;

struct onnx_graph {
    struct message body;
    struct arena names;
    int count;
    bool half; /* weights are stored in half precision, and cast where they are used */
};

struct onnx_attribute { /* text NULL: an integer, or (count > 0) a list of them */
    const char *name, *text;
    int64_t integer;
    const int64_t *integers;
    int count;
};

onnx_value onnx_node(struct onnx_graph *g, const char *op, const onnx_value *inputs, int n,
                     const struct onnx_attribute *attributes, int n_attributes);
onnx_value onnx_one(struct onnx_graph *g, const char *op, onnx_value a);
onnx_value onnx_two(struct onnx_graph *g, const char *op, onnx_value a, onnx_value b);
/* n outputs along `axis`, of the given sizes */
void onnx_split(struct onnx_graph *g, onnx_value a, int axis, const int64_t *sizes, int n, onnx_value *out);
onnx_value onnx_concat(struct onnx_graph *g, const onnx_value *inputs, int n, int axis);
onnx_value onnx_reduce_mean(struct onnx_graph *g, onnx_value a, int axis); /* keeps the dimension */
onnx_value onnx_where(struct onnx_graph *g, onnx_value condition, onnx_value yes, onnx_value no);
onnx_value onnx_reshape(struct onnx_graph *g, onnx_value a, const int64_t *shape, int rank);
onnx_value onnx_cast_float(struct onnx_graph *g, onnx_value a);

/* Constants. A weight may be stored in half precision; the others are float32. */
onnx_value onnx_weights(struct onnx_graph *g, const float *data, const int64_t *shape, int rank);
onnx_value onnx_tensor(struct onnx_graph *g, const float *data, const int64_t *shape, int rank);
onnx_value onnx_integers(struct onnx_graph *g, const int64_t *data, int n);
onnx_value onnx_integer(struct onnx_graph *g, int64_t value);
onnx_value onnx_scalar(struct onnx_graph *g, float value);

/* float32 [batch x n], batch free. An output is the value `from` under a name of its own. */
onnx_value onnx_input(struct onnx_graph *g, const char *name, int n);
void onnx_output(struct onnx_graph *g, const char *name, onnx_value from, int n);

struct onnx_note {
    const char *key, *value;
};
/* The whole file; frees the graph, also when it fails. notes end with key NULL. */
dqs_status onnx_write(struct onnx_graph *g, const char *path, const char *name, const struct onnx_note *notes,
                      dqs_error *error);

#endif
