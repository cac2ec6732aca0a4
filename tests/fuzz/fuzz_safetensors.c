/* Any bytes at all go through the parser; whatever it accepts is then used as a program would. */
#include "checkpoint.h"

#include <stdlib.h>

static void visit_little(void *object, struct visitor *v)
{
    visit_vector(v, "a", VISIT_POLICY, VISIT_F32, object, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors file;
    dqs_error error;
    if (safetensors_parse((const char *)data, size, &file, &error) != DQS_OK) {
        if (error.message[0] == 0)
            abort(); /* a refusal without a reason */
        return 0;
    }
    unsigned char sum = 0;
    size_t covered = 0;
    for (size_t i = 0; i < file.n_tensors; i++) {
        const struct safetensors_tensor *t = &file.tensors[i];
        for (size_t k = 0; k < t->bytes; k++)
            sum ^= (unsigned char)t->data[k];
        covered += t->bytes;
        if (i < 50 && safetensors_find(&file, t->name) != t)
            abort();
    }
    static volatile unsigned char sink; /* so that the bytes are really read */
    sink = sum;
    (void)sink;
    if (covered > size)
        abort();
    safetensors_metadata(&file, "algo");
    safetensors_verify(&file, &error);
    float target[2];
    const struct checkpoint_part parts[] = {{visit_little, target}, {NULL, NULL}};
    checkpoint_restore(&file, "fuzz", parts, VISIT_POLICY, &error);
    safetensors_close(&file);
    return 0;
}
