/* control_loop: an exported policy in a control loop at 1 kHz. The plant is the pendulum of the task,
 * simulated here; on a robot, sense and actuate are yours and the rest stays as it is.
 *
 *     make RUN=../../runs/pendulum/dqs/default-s0 && ./control_loop 10
 *
 * It prints how long actions took, how late the loop woke, and how much of the last half the pendulum was
 * upright. */
#define _GNU_SOURCE /* clock_nanosleep, sched_setscheduler, mlockall */
#include "policy.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define HZ 1000
#define PERIOD_NS (1000000000L / HZ)
#define MOST_SECONDS 3600

#if POLICY_OBS_DIM != 3 || POLICY_ACT_DIM != 1
#error "this plant is a pendulum: export a policy of the task pendulum"
#endif

struct plant {
    double angle, speed; /* 0 is upright */
};

static void sense(const struct plant *p, float obs[3])
{
    obs[0] = (float)cos(p->angle);
    obs[1] = (float)sin(p->angle);
    obs[2] = (float)p->speed;
}

/* Rod of 1 m and 1 kg, gravity 10 m/s^2, torque at most 2 N m, speed at most 8 rad/s: as the task has it. */
static void actuate(struct plant *p, float torque)
{
    double u = torque < -2 ? -2 : torque > 2 ? 2 : torque, dt = 1.0 / HZ;
    p->speed += (15 * sin(p->angle) + 3 * u) * dt;
    p->speed = p->speed < -8 ? -8 : p->speed > 8 ? 8 : p->speed;
    p->angle += p->speed * dt;
}

static double micros(struct timespec a, struct timespec b)
{
    return (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, float *us, long n)
{
    qsort(us, (size_t)n, sizeof *us, ascending);
    printf("%s: p50 %.2f us, p99 %.2f us, longest %.2f us\n", what, us[n / 2], us[n * 99 / 100], us[n - 1]);
}

/* Real-time rights, if we may have them; without, the loop runs and is late now and then. */
static void ask_for_time(void)
{
    struct sched_param first = {.sched_priority = 80};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        puts("no real-time rights (run as root, or grant CAP_SYS_NICE): expect late wake-ups");
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? atol(argv[1]) : 10, n = seconds * HZ, late = 0, upright = 0;
    if (seconds < 1 || seconds > MOST_SECONDS) {
        fprintf(stderr, "usage: control_loop [seconds, 1 to %d]\n", MOST_SECONDS);
        return 2;
    }
    float *act_us = calloc((size_t)n, sizeof *act_us), *wake_us = calloc((size_t)n, sizeof *wake_us);
    if (!act_us || !wake_us)
        return 1;
    struct plant plant = {3.14159265358979, 0};
    struct policy_generator generator;
    struct timespec next, begin, end;
    float action[POLICY_ACT_DIM] = {0};
    policy_seed(&generator, 1);
    ask_for_time();
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long i = 0; i < n; i++) {
        float obs[POLICY_OBS_DIM];
        next.tv_nsec += PERIOD_NS;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        sense(&plant, obs);
        if (i % POLICY_ACTION_REPEAT == 0)
            policy_draw(&generator, obs, action);
        actuate(&plant, action[0]);
        clock_gettime(CLOCK_MONOTONIC, &end);
        wake_us[i] = (float)micros(next, begin);
        act_us[i] = (float)micros(begin, end);
        late += wake_us[i] + act_us[i] > 1e6 / HZ;
        upright += i >= n / 2 && cos(plant.angle) > 0.95;
    }
    printf("%ld steps at %d Hz, %ld deadlines missed\n", n, HZ, late);
    print_times("sense, act, actuate", act_us, n);
    print_times("wake-up after its time", wake_us, n);
    printf("upright in %.0f %% of the second half\n", 100.0 * (double)upright / (double)(n - n / 2));
    free(act_us);
    free(wake_us);
    return 0;
}
