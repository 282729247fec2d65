/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/session.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int session_open_registry(struct session *s, const struct session_options *options, struct ridge_error *err)
{
    memset(s, 0, sizeof *s);
    s->options = *options;
    int status = registry_open(&s->registry, err);
    for (int i = 0; i < options->loads && status == RIDGE_OK; i++)
        status = registry_load(&s->registry, options->load[i], err);
    return status;
}

static int open_device(struct session *s, struct ridge_error *err)
{
    enum { MOST_THREADS = 4096 }; /* the OpenMP runtime crashes on numbers that no machine has */
    bool any = strcmp(s->options.device, "auto") == 0;
    if (omp_get_max_threads() > MOST_THREADS)
        return ridge_fail(err, RIDGE_INVALID, "OMP_NUM_THREADS asks for %d threads, at most %d are allowed",
                          omp_get_max_threads(), MOST_THREADS);
    if (strcmp(s->options.device, "host") != 0) {
        struct ridge_error reason;
        int status = device_cuda.open(&s->info, &s->timer, &reason);
        if (status == RIDGE_OK) {
            s->ops = &device_cuda;
            return RIDGE_OK;
        }
        if (!any)
            return ridge_fail(err, status, "%s", reason.text);
        snprintf(s->device_note, sizeof s->device_note, "%s", reason.text);
    }
    int status = device_host.open(&s->info, &s->timer, err);
    if (status == RIDGE_OK)
        s->ops = &device_host;
    return status;
}

/* An H20 has 78 SMs; what else it has less of is compiled in. */
static int emulate(struct session *s, struct ridge_error *err)
{
    enum { H20_SMS = 78 };
    struct ridge_device *device = &s->info.device;
    if (s->options.modes.emulate == EMULATE_NONE)
        return RIDGE_OK;
    if (device->kind != RIDGE_CUDA || device->cc != 90 || device->sms < H20_SMS)
        return ridge_fail(err, RIDGE_ENVIRONMENT,
                          "--emulate=h20: needs a GPU of compute capability 9.0 with at least %d SMs, this is %s",
                          H20_SMS, s->info.name);
    s->info.idle_sms = device->sms - H20_SMS;
    device->sms = H20_SMS;
    registry_emulate(&s->registry);
    return RIDGE_OK;
}

static int open_counters(struct session *s, struct ridge_error *err)
{
    struct ridge_error reason;
    if (strcmp(s->options.group, "none") == 0) {
        snprintf(s->counters_reason, sizeof s->counters_reason, "not asked for");
        return RIDGE_OK;
    }
    int status = metric_group_load(s->options.group, &s->group, err); /* an unknown one is refused on every device */
    if (status)
        return status;
    if (s->ops != &device_cuda)
        snprintf(s->counters_reason, sizeof s->counters_reason, "the host has no counter backend");
    else if (counters_open(NULL, &reason) == RIDGE_OK)
        s->runner.group = &s->group;
    else
        snprintf(s->counters_reason, sizeof s->counters_reason, "%s", reason.text);
    return RIDGE_OK;
}

int session_open(struct session *s, const struct session_options *options, int argc, char **argv,
                 struct ridge_error *err)
{
    session_handle_signals(); /* a GPU takes a second to open */
    int status = session_open_registry(s, options, err);
    if (status == RIDGE_OK)
        status = open_device(s, err);
    if (status == RIDGE_OK)
        status = emulate(s, err);
    if (status == RIDGE_OK)
        status = open_counters(s, err);
    if (status)
        return status;
    s->info.device.plan = s->options.plan;
    runner_id(s->run_id, sizeof s->run_id);
    s->runner.ops = s->ops;
    s->runner.info = &s->info;
    s->runner.timer = &s->timer;
    s->runner.modes = s->options.modes;
    s->runner.limits = s->options.limits;
    s->runner.counters_reason = s->counters_reason;
    s->runner.time = true;
    s->runner.foreign = s->registry.plugins > 0;
    s->runner.seed = s->options.seed;
    s->runner.run_id = s->run_id;
    s->runner.argc = argc;
    s->runner.argv = argv;
    s->runner.interrupted = session_interrupted;
    return RIDGE_OK;
}

int session_open_writer(struct record_writer *writer, const char *path, struct ridge_error *err)
{
    struct stat records, output;
    int status = record_writer_open(writer, path, err);
    if (status == RIDGE_OK && fstat(writer->fd, &records) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
        records.st_dev == output.st_dev && records.st_ino == output.st_ino && !S_ISCHR(output.st_mode))
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return status;
}

void session_close(struct session *s)
{
    alarm(0);
    if (s->runner.group)
        counters_close();
    metric_group_free(&s->group);
    if (s->ops)
        s->ops->close();
    registry_close(&s->registry);
}
