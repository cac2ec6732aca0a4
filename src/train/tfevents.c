/* tfevents: protocol-buffer fields by hand (a few bytes each) in TFRecord frames: length, its masked CRC-32C,
 * the event, its masked CRC-32C. Field numbers are those of TensorFlow's event.proto and summary.proto. */
#include "tfevents.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7
};
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, SESSION_STATUS = 1, SESSION_START = 1 };
enum { NAME_LIMIT = 200 };

/* Bit by bit: records are small and rare, a table would be more code. */
static uint32_t crc32c(const unsigned char *data, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint32_t masked_crc(const unsigned char *data, size_t size)
{
    uint32_t crc = crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static unsigned char *put_varint(unsigned char *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *out++ = (unsigned char)(value | 128);
    *out++ = (unsigned char)value;
    return out;
}

static unsigned char *put_key(unsigned char *out, int field, enum wire wire)
{
    return put_varint(out, (uint64_t)field << 3 | wire);
}

static unsigned char *put_raw(unsigned char *out, const void *data, size_t size)
{
    memcpy(out, data, size);
    return out + size;
}

static unsigned char *put_bytes(unsigned char *out, int field, const void *data, size_t size)
{
    out = put_varint(put_key(out, field, WIRE_BYTES), size);
    return put_raw(out, data, size);
}

static double wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One event with one payload field. */
static dqs_status write_event(struct tfevents *events, long step, int field, const void *payload, size_t size,
                              dqs_error *error)
{
    unsigned char *const event = events->record + sizeof(uint64_t) + sizeof(uint32_t), *out = event;
    double now = wall_time();
    out = put_raw(put_key(out, EVENT_WALL_TIME, WIRE_64), &now, sizeof now);
    out = put_varint(put_key(out, EVENT_STEP, WIRE_VARINT), (uint64_t)step);
    out = put_bytes(out, field, payload, size);
    uint64_t length = (uint64_t)(out - event);
    memcpy(events->record, &length, sizeof length);
    uint32_t crc = masked_crc(events->record, sizeof length);
    memcpy(events->record + sizeof length, &crc, sizeof crc);
    crc = masked_crc(event, length);
    out = put_raw(out, &crc, sizeof crc);
    return append_record(&events->file, events->record, (size_t)(out - events->record), error);
}

/* Readers take the files in the order of their names, and the time in the name is what orders them: a resumed
 * run's must be later than all there are, even within a second or after the clock was set back. */
static dqs_status choose_time(int64_t *chosen, const char *folder, dqs_error *error)
{
    static const char start[] = "events.out.tfevents.";
    *chosen = (int64_t)wall_time();
    DIR *stream = opendir(folder);
    if (!stream)
        return fail(error, DQS_E_IO, "%s: cannot read the folder: %s", folder, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(stream));)
        if (!strncmp(entry->d_name, start, sizeof start - 1)) {
            int64_t there = strtoll(entry->d_name + sizeof start - 1, NULL, 10);
            if (there >= *chosen && there < 9999999999)
                *chosen = there + 1;
        }
    closedir(stream);
    return DQS_OK;
}

dqs_status tfevents_open(struct tfevents *events, const char *folder, long first_step, dqs_error *error)
{
    int64_t seconds;
    char path[sizeof events->file.path + 100];
    events->file.fd = -1;
    TRY(choose_time(&seconds, folder, error));
    snprintf(path, sizeof path, "%.1024s/events.out.tfevents.%010lld.dqs", folder, (long long)seconds);
    TRY(append_open(&events->file, path, 1, error));
    static const char version[] = "brain.Event:2";
    TRY(write_event(events, 0, EVENT_FILE_VERSION, version, sizeof version - 1, error));
    unsigned char session[8];
    size_t size =
        (size_t)(put_varint(put_key(session, SESSION_STATUS, WIRE_VARINT), SESSION_START) - session);
    return write_event(events, first_step, EVENT_SESSION_LOG, session, size, error);
}

void tfevents_begin(struct tfevents *events)
{
    events->used = 0;
    events->full = 0;
}

void tfevents_scalar(struct tfevents *events, const char *name, double value)
{
    unsigned char scalar[NAME_LIMIT + 20], *out = scalar;
    float number = (float)value;
    out = put_bytes(out, VALUE_TAG, name, strnlen(name, NAME_LIMIT));
    out = put_raw(put_key(out, VALUE_SIMPLE, WIRE_32), &number, sizeof number);
    size_t size = (size_t)(out - scalar);
    if (events->used + size + 4 > sizeof events->summary) {
        events->full = 1;
        return;
    }
    out = put_bytes(events->summary + events->used, SUMMARY_VALUE, scalar, size);
    events->used = (size_t)(out - events->summary);
}

dqs_status tfevents_end(struct tfevents *events, long step, dqs_error *error)
{
    if (events->full)
        return fail(error, DQS_E_UNSUPPORTED, "%s: too many numbers in one event; report fewer",
                    events->file.path);
    return write_event(events, step, EVENT_SUMMARY, events->summary, events->used, error);
}

void tfevents_close(struct tfevents *events)
{
    append_close(&events->file);
}
