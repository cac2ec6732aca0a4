/* gym: the C end of the socket; python/dqs/_gym_server.py, whose text is compiled in, is the other and says
 * what goes over it. The helper is our own, but runs foreign code: every length it sends is checked. */
#include "gym.h"
#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const char gym_server_text[];
extern char **environ;

enum { OPEN, CLOSE, RESET, STEP };
enum { HELPER_SOCKET = 3, MOST_BYTES = 1 << 28 };

struct gym {
    dqs_env_type type;
    char name[256];
    pthread_mutex_t lock; /* lanes are stepped by several threads, and the helper serves one at a time */
    pid_t helper;
    int socket, lanes;
    uint32_t next_lane;
};

struct lane {
    struct gym *gym;
    uint32_t number;
    int obs_dim, act_dim;
    float *bounds; /* low, then high */
};

bool gym_is_name(const char *name)
{
    return strncmp(name, GYM_PREFIX, strlen(GYM_PREFIX)) == 0;
}

/* ---------------------------------------------------------------- the helper process */
static dqs_status spawn_helper(struct gym *gym, int theirs, dqs_error *error)
{
    const char *python = process_python();
    char *words[] = {(char *)python, "-c", (char *)gym_server_text, gym->name + strlen(GYM_PREFIX), NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", gym->name);
    code = posix_spawn_file_actions_adddup2(&actions, theirs, HELPER_SOCKET);
    if (!code)
        code = posix_spawnp(&gym->helper, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code ? fail(error, DQS_E_ENV, "%s: cannot start %s: %s; set PYTHON to one that has gymnasium",
                       gym->name, python, strerror(code))
                : DQS_OK;
}

static dqs_status start_helper(struct gym *gym, dqs_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(error, DQS_E_ENV, "%s: no socket: %s", gym->name, strerror(errno));
    if (ends[1] == HELPER_SOCKET) { /* dup2 onto itself would leave it close-on-exec */
        int other = fcntl(ends[1], F_DUPFD_CLOEXEC, HELPER_SOCKET + 1);
        close(ends[1]);
        ends[1] = other;
    }
    dqs_status status = spawn_helper(gym, ends[1], error);
    close(ends[1]);
    gym->socket = ends[0];
    if (status != DQS_OK)
        close(ends[0]);
    return status;
}

/* The helper ends by itself when nobody is at the other end any more; an environment that hangs gets two
 * seconds. */
static void stop_helper(struct gym *gym)
{
    const struct timespec moment = {0, 10000000};
    pid_t ended = 0;
    close(gym->socket);
    for (int i = 0; i < 200 && ended == 0; i++) {
        ended = waitpid(gym->helper, NULL, WNOHANG);
        if (ended == 0)
            nanosleep(&moment, NULL);
    }
    if (ended == 0) {
        kill(gym->helper, SIGKILL);
        while (waitpid(gym->helper, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    gym->helper = 0;
}

/* ---------------------------------------------------------------- messages */
static bool send_all(int to, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t sent = send(to, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int from, void *data, size_t size)
{
    for (char *at = data; size > 0;) {
        ssize_t got = recv(from, at, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static dqs_status lost(const struct gym *gym, dqs_error *error)
{
    return fail(error, DQS_E_ENV, "%s: the helper process has ended; its last words may stand above",
                gym->name);
}

static dqs_status complaint(const struct gym *gym, size_t size, dqs_error *error)
{
    char text[400] = "";
    if (size >= sizeof text || !receive_all(gym->socket, text, size))
        return lost(gym, error);
    text[size] = 0;
    return fail(error, DQS_E_ENV, "%s: %s", gym->name, text);
}

/* Where an answer goes: its head, and the rest. rest NULL: as long as it comes, in memory that the caller
 * frees. */
struct answer {
    void *head;
    size_t head_size;
    void *rest;
    size_t rest_size;
};

static dqs_status ask(struct gym *gym, uint32_t what, uint32_t lane, const void *data, size_t size,
                      struct answer *answer, dqs_error *error)
{
    uint32_t head[4] = {what, lane, (uint32_t)size, 0}, reply[4];
    if (!send_all(gym->socket, head, sizeof head) || !send_all(gym->socket, data, size) ||
        !receive_all(gym->socket, reply, sizeof reply))
        return lost(gym, error);
    if (reply[0] != 0)
        return complaint(gym, reply[2], error);
    if (!answer->rest && reply[2] >= answer->head_size && reply[2] < MOST_BYTES) { /* its length is news */
        answer->rest_size = reply[2] - answer->head_size;
        answer->rest = calloc(1, answer->rest_size + 1);
        if (!answer->rest)
            return fail(error, DQS_E_MEMORY, "%s: out of memory", gym->name);
    }
    if (reply[2] != answer->head_size + answer->rest_size) {
        shutdown(gym->socket, SHUT_RDWR); /* what follows cannot be told apart any more */
        return fail(error, DQS_E_ENV,
                    "%s: %u bytes where %zu belong; observations must keep the shape of their space",
                    gym->name, reply[2], answer->head_size + answer->rest_size);
    }
    if (!receive_all(gym->socket, answer->head, answer->head_size) ||
        !receive_all(gym->socket, answer->rest, answer->rest_size))
        return lost(gym, error);
    return DQS_OK;
}

static dqs_status ask_locked(struct gym *gym, uint32_t what, uint32_t lane, const void *data, size_t size,
                             struct answer *answer, dqs_error *error)
{
    pthread_mutex_lock(&gym->lock);
    dqs_status status = ask(gym, what, lane, data, size, answer, error);
    pthread_mutex_unlock(&gym->lock);
    return status;
}

/* ---------------------------------------------------------------- the environment */
static dqs_status read_sizes(struct lane *lane, const uint32_t head[4], const struct answer *answer,
                             dqs_spec *spec, dqs_error *error)
{
    if (head[0] < 1 || head[1] < 1 || head[0] > 1000000 || head[1] > 100000 ||
        answer->rest_size != 2 * head[1] * sizeof(float))
        return fail(error, DQS_E_ENV, "%s: tells of %u observations and %u actions", lane->gym->name, head[0],
                    head[1]);
    lane->obs_dim = (int)head[0];
    lane->act_dim = (int)head[1];
    lane->bounds = answer->rest;
    *spec = (dqs_spec){.obs_dim = lane->obs_dim,
                       .act_dim = lane->act_dim,
                       .terminates = head[2] != 0,
                       .act_low = lane->bounds,
                       .act_high = lane->bounds + lane->act_dim};
    return DQS_OK;
}

static void drop(struct gym *gym)
{
    if (--gym->lanes == 0)
        stop_helper(gym);
}

static dqs_status open_lane(struct lane *lane, dqs_spec *spec, const char *options, dqs_error *error)
{
    struct gym *gym = lane->gym;
    uint32_t head[4];
    struct answer answer = {head, sizeof head, NULL, 0};
    if (gym->lanes == 0)
        TRY(start_helper(gym, error));
    gym->lanes++;
    lane->number = gym->next_lane++;
    dqs_status status = ask(gym, OPEN, lane->number, options, strlen(options), &answer, error);
    if (status == DQS_OK)
        status = read_sizes(lane, head, &answer, spec, error);
    if (status != DQS_OK) {
        free(answer.rest);
        drop(gym);
    }
    return status;
}

static dqs_status gym_open(void **self, dqs_spec *spec, void *user, const char *options, dqs_error *error)
{
    struct gym *gym = user;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return fail(error, DQS_E_MEMORY, "%s: out of memory", gym->name);
    lane->gym = gym;
    pthread_mutex_lock(&gym->lock);
    dqs_status status = open_lane(lane, spec, options, error);
    pthread_mutex_unlock(&gym->lock);
    if (status != DQS_OK) {
        free(lane);
        return status;
    }
    *self = lane;
    return DQS_OK;
}

static void gym_close(void *self)
{
    struct lane *lane = self;
    struct answer nothing = {NULL, 0, lane->bounds, 0};
    pthread_mutex_lock(&lane->gym->lock);
    (void)ask(lane->gym, CLOSE, lane->number, NULL, 0, &nothing, NULL);
    drop(lane->gym);
    pthread_mutex_unlock(&lane->gym->lock);
    free(lane->bounds);
    free(lane);
}

static dqs_status gym_reset(void *self, uint64_t seed, float *obs, dqs_error *error)
{
    struct lane *lane = self;
    struct answer answer = {NULL, 0, obs, sizeof *obs * (size_t)lane->obs_dim};
    return ask_locked(lane->gym, RESET, lane->number, &seed, sizeof seed, &answer, error);
}

static dqs_status gym_step(void *self, const float *action, float *obs, dqs_outcome *outcome,
                           dqs_error *error)
{
    struct lane *lane = self;
    struct {
        double reward;
        uint32_t terminated, truncated;
    } head;
    struct answer answer = {&head, sizeof head, obs, sizeof *obs * (size_t)lane->obs_dim};
    TRY(ask_locked(lane->gym, STEP, lane->number, action, sizeof *action * (size_t)lane->act_dim, &answer,
                   error));
    *outcome = (dqs_outcome){head.reward, head.terminated != 0, head.truncated != 0};
    return DQS_OK;
}

/* ---------------------------------------------------------------- the type */
dqs_status gym_create(struct gym **out, const char *name, dqs_error *error)
{
    *out = NULL;
    if (strlen(name) >= sizeof(*out)->name || strlen(name) == strlen(GYM_PREFIX))
        return fail(error, DQS_E_UNKNOWN, "%.60s: write it as gym:ID, such as gym:Pendulum-v1", name);
    struct gym *gym = calloc(1, sizeof *gym);
    if (!gym || pthread_mutex_init(&gym->lock, NULL) != 0) {
        free(gym);
        return fail(error, DQS_E_MEMORY, "%s: out of memory", name);
    }
    snprintf(gym->name, sizeof gym->name, "%s", name);
    gym->type = (dqs_env_type){.size = sizeof(dqs_env_type),
                               .name = gym->name,
                               .doc = "an environment of Gymnasium, in a helper process",
                               .user = gym,
                               .open = gym_open,
                               .close = gym_close,
                               .reset = gym_reset,
                               .step = gym_step};
    *out = gym;
    return DQS_OK;
}

const dqs_env_type *gym_type(const struct gym *gym)
{
    return &gym->type;
}

void gym_free(struct gym *gym)
{
    if (!gym)
        return;
    if (gym->lanes > 0)
        stop_helper(gym);
    pthread_mutex_destroy(&gym->lock);
    free(gym);
}
