/* Leases: one owner at a time, and none that outlives its process. Real processes, killed for real. */
#include "lease.h"
#include "sweep.h"
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/dqs-lease-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static bool there(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static struct lease_view look(void)
{
    struct lease_view view;
    lease_look(&view, folder, NULL, LEASE_PATIENCE);
    return view;
}

static bool take(struct lease *lease)
{
    struct lease_view view = look();
    return !view.held && lease_take(lease, folder, &view, NULL);
}

static void one_owner_at_a_time(void **state)
{
    (void)state;
    struct lease first, second;
    char owner[64];
    assert_false(look().held);
    assert_int_equal(look().number, 0);
    assert_true(take(&first));
    assert_int_equal(look().number, 1);
    assert_true(look().held);
    snprintf(owner, sizeof owner, "process %ld on ", (long)getpid());
    assert_non_null(strstr(look().owner, owner));
    assert_false(take(&second));
    assert_true(lease_renew(&first));
    lease_release(&first);
    assert_false(look().held);
    assert_true(take(&second)); /* numbers never come back */
    assert_int_equal(second.number, 2);
    assert_false(there("lease-1"));
    lease_end(&second);
    assert_int_equal(look().number, 0);
}

static void what_was_seen_long_ago_does_not_count(void **state)
{
    (void)state;
    struct lease lease, late;
    struct lease_view old = look();
    for (int i = 0; i < 3; i++) {
        assert_true(take(&lease));
        if (i < 2)
            lease_release(&lease);
    }
    assert_int_equal(lease.number, 3);
    assert_false(lease_take(&late, folder, &old, NULL)); /* lease-1 is free again, but 3 is held */
    assert_true(lease_renew(&lease));
    assert_false(there("lease-1"));
    lease_end(&lease);
}

static void a_lost_lease_is_noticed(void **state)
{
    (void)state;
    struct lease lease;
    assert_true(take(&lease));
    write_file("lease-2", "H\nelsewhere\n1\n1\nelsewhere\n");
    assert_false(lease_renew(&lease));
    lease_release(&lease); /* leaves the other's alone */
    assert_false(there("lease-1"));
    assert_int_equal(look().number, 2);
    assert_true(look().held);
}

/* A child that takes the lease and waits to be killed. */
static pid_t owner_process(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lease lease;
        _exit(take(&lease) && write(ready[1], "y", 1) == 1 ? pause() : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void a_dead_owner_holds_nothing(void **state)
{
    (void)state;
    siginfo_t info;
    struct lease lease;
    pid_t pid = owner_process();
    assert_true(look().held);
    assert_false(take(&lease));
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT); /* dead, but not yet buried */
    assert_false(look().held);
    waitpid(pid, NULL, 0);
    assert_false(look().held);
    assert_true(take(&lease));
    assert_int_equal(lease.number, 2);
    lease_end(&lease);
}

/* The number of a process that died and came again: the same number, but another start. */
static void a_number_used_again_is_not_the_owner(void **state)
{
    (void)state;
    char path[200], text[600], other[700];
    struct lease lease;
    assert_true(take(&lease));
    snprintf(path, sizeof path, "%s/lease-1", folder);
    FILE *file = fopen(path, "r");
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    char *machine = strchr(text, '\n') + 1, *process = strchr(machine, '\n') + 1,
         *start = strchr(process, '\n') + 1;
    snprintf(other, sizeof other, "%.*s%s%s", (int)(start - text), text, "7", start);
    write_file("lease-1", other);
    assert_false(look().held);
    lease_end(&lease);
}

static void of_many_one_follows_a_dead_owner(void **state)
{
    (void)state;
    enum { RACERS = 8, ROUNDS = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        int gate[2], winners = 0;
        struct lease_view seen = look();
        assert_false(seen.held);
        assert_int_equal(pipe(gate), 0);
        pid_t racer[RACERS];
        for (int i = 0; i < RACERS; i++) {
            racer[i] = fork();
            if (racer[i] == 0) {
                char byte;
                struct lease lease;
                close(gate[1]);
                (void)!read(gate[0], &byte, 1); /* all start when the gate is closed */
                _exit(lease_take(&lease, folder, &seen, NULL) ? 1 : 0);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < RACERS; i++) {
            int status;
            waitpid(racer[i], &status, 0);
            winners += WEXITSTATUS(status);
        }
        assert_int_equal(winners, 1);
        assert_int_equal(look().number, round + 1);
    }
}

static void another_machine_is_known_by_its_beats(void **state)
{
    (void)state;
    struct lease_watch watch = {0};
    struct lease_view view;
    write_file("lease-3", "H\nanother machine\n1\n1\nfar\n");
    lease_look(&view, folder, &watch, 0.2);
    assert_true(view.held);
    assert_string_equal(view.owner, "process 1 on far");
    usleep(120 * 1000);
    lease_look(&view, folder, &watch, 0.2);
    assert_true(view.held);
    char path[200];
    snprintf(path, sizeof path, "%s/lease-3", folder);
    const struct timespec beat[2] = {{1000, 0}, {1000, 0}}; /* any other time: clocks need not agree */
    utimensat(AT_FDCWD, path, beat, 0);
    lease_look(&view, folder, &watch, 0.2);
    usleep(120 * 1000);
    lease_look(&view, folder, &watch, 0.2);
    assert_true(view.held);
    usleep(120 * 1000);
    lease_look(&view, folder, &watch, 0.2);
    assert_false(view.held);
    struct lease lease;
    assert_true(lease_take(&lease, folder, &view, NULL));
    assert_int_equal(lease.number, 4);
    lease_end(&lease);
}

static void broken_files_are_foreign(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "H", "H\n", "H\na\nb\n", "H\na\n-5\n1\nx\n", "\377\376\n\n\n\n\n",
                                        "R"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lease_watch watch = {0};
        struct lease_view view;
        write_file("lease-1", texts[i]);
        lease_look(&view, folder, &watch, 0.01);
        assert_true(view.held);
        usleep(20 * 1000);
        lease_look(&view, folder, &watch, 0.01);
        assert_false(view.held);
    }
    write_file("lease-x", "");
    write_file("lease-99999999999999999999999", "");
    write_file("lease-", "");
    assert_int_equal(look().number, 1);
}

static void a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    struct lease lease;
    struct lease_view view;
    dqs_error error = {0};
    lease_look(&view, "/tmp/dqs-no-such-folder", NULL, 1);
    assert_false(view.held);
    assert_false(lease_take(&lease, "/tmp/dqs-no-such-folder", &view, &error));
    assert_int_equal(error.status, DQS_E_IO);
}

/* ---------------------------------------------------------------- what a run's folder tells */

static void states_of_odd_folders(void **state)
{
    (void)state;
    struct sweep_run run = {.folder = folder, .name = "x", .steps = 1000};
    struct sweep_state s = {0};
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_WAITING);
    write_file("progress.csv", "time/total_timesteps,time/fps,time/time_elapsed\n100,50,2\n200,50,4\n300");
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_STOPPED);
    assert_int_equal(s.step, 200);
    assert_true(s.seconds == 4 && isnan(s.eval_mean));
    write_file("progress.csv", "time/total_timesteps,time/fps,time/time_elapsed\n");
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_WAITING);
    write_file("failures.txt", "exit code 1: one\nexit code 1: two\n");
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_FAILED);
    assert_string_equal(s.message, "exit code 1: two");
    sweep_look(&s, &run, 2, 1);
    assert_int_equal(s.phase, SWEEP_WAITING);
    write_file("DONE", "steps: 1000\nepisodes: 3\neval_mean: -5\neval_std: 1\n");
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_DONE);
    assert_true(s.eval_mean == -5);
    write_file("config.yaml", "env: x\nsteps: 400\n");
    write_file("DONE", "steps: 400\n");
    sweep_look(&s, &run, 5, 1);
    assert_true(s.phase == SWEEP_WAITING && s.longer && !s.done);
    write_file("config.yaml", "env: x\nsteps: 1000\n"); /* ended by a limit on updates */
    sweep_look(&s, &run, 1, 1);
    assert_int_equal(s.phase, SWEEP_DONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(one_owner_at_a_time),
        TEST(what_was_seen_long_ago_does_not_count),
        TEST(a_lost_lease_is_noticed),
        TEST(a_dead_owner_holds_nothing),
        TEST(a_number_used_again_is_not_the_owner),
        TEST(of_many_one_follows_a_dead_owner),
        TEST(another_machine_is_known_by_its_beats),
        TEST(broken_files_are_foreign),
        TEST(a_folder_that_cannot_be_written),
        TEST(states_of_odd_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
