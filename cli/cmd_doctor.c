/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/session.h"
#include "profiles/activity.h"
#include "profiles/telemetry.h"
#include "reports/script_chart.h"

static int parse(int key, char *value, struct argp_state *state)
{
    if (key != 'p')
        return inputs_none(key, value, state);
    *(bool *)state->input = true;
    return 0;
}

static void say(const char *what, bool good, const char *text)
{
    printf("%-10s %-4s %s\n", what, good ? "ok" : "no", text);
}

/* Enough work that the passes of the probe are alike: 256 MiB to fill. */
enum { PROBE_WORDS = 64 << 20 };

struct counter_probe {
    void *buffer;
};

static int probe_prepare(void *ctx, struct ridge_error *err)
{
    (void)ctx;
    return device_cuda.sync(err);
}

static int probe_launch(void *ctx, struct ridge_error *err)
{
    const struct ridge_buffer spec = {.name = "probe", .dtype = RIDGE_U32, .fill = RIDGE_FILL_BITS};
    struct counter_probe *probe = ctx;
    int status = device_cuda.fill(probe->buffer, &spec, PROBE_WORDS, FILL_RANDOM, 1, err);
    return status ? status : device_cuda.sync(err);
}

static void doctor_counters(void)
{
    struct ridge_error reason = {""};
    struct metric_group group = {0};
    struct counters_result result = {0};
    struct counter_probe probe = {NULL};
    const struct counters_work work = {probe_prepare, probe_launch, &probe};
    char text[160];
    int status = metric_group_load("roofline", &group, &reason);
    if (status == RIDGE_OK)
        status = counters_open(NULL, &reason);
    if (status == RIDGE_OK) {
        status = device_cuda.alloc(&probe.buffer, (size_t)PROBE_WORDS * 4, &reason);
        if (status == RIDGE_OK)
            status = counters_collect(&group, &work, &result, &reason);
        if (probe.buffer)
            device_cuda.free(probe.buffer);
        counters_close();
    }
    snprintf(text, sizeof text, "group roofline read in %zu passes, spread %.2f%%", result.passes, result.spread * 100);
    say("counters", status == RIDGE_OK, status == RIDGE_OK ? text : reason.text);
    counters_result_free(&result);
    metric_group_free(&group);
}

static bool doctor_gpu(struct device_info *info)
{
    struct timer_quality timer;
    struct ridge_error reason = {""};
    struct telemetry telemetry;
    char text[512];
    if (device_cuda.open(info, &timer, &reason) != RIDGE_OK) {
        say("gpu", false, reason.text);
        return false;
    }
    snprintf(text, sizeof text, "%s, %d SMs, cc %d.%d, driver %s, device file %s", info->name, info->device.sms,
             info->device.cc / 10, info->device.cc % 10, info->driver, info->profile[0] ? info->profile : "none");
    say("gpu", true, text);
    snprintf(text, sizeof text, "events: quantum %.0f ns, empty kernel %.0f ns; CUPTI: empty kernel %.0f ns; events over host clock %.5f",
             timer.event_quantum_ns, timer.event_floor_ns, timer.kernel_floor_ns, timer.clock_agreement);
    say("timer", fabs(timer.clock_agreement - 1) < 0.01, text);
    bool traced = activity_start(&reason) == RIDGE_OK;
    say("activity", traced, traced ? "kernel times from CUPTI activity records" : reason.text);
    if (traced)
        activity_stop();
    doctor_counters();
    if (telemetry_read(&telemetry)) {
        snprintf(text, sizeof text, "%.0f W of %.0f W, %.0f C, SM %.0f MHz", telemetry.power_w, telemetry.power_limit_w,
                 telemetry.temperature_c, telemetry.sm_hz / 1e6);
        say("telemetry", true, text);
    } else {
        say("telemetry", false, "NVML is not there or does not know the device: records have no power and temperature");
    }
    device_cuda.close();
    return true;
}

static void doctor_host(struct device_info *info)
{
    struct timer_quality timer;
    struct ridge_error reason;
    char text[512];
    if (device_host.open(info, &timer, &reason) != RIDGE_OK) {
        say("host", false, reason.text);
        return;
    }
    snprintf(text, sizeof text, "%s, %d threads, last-level cache %.1f MB, clock quantum %.0f ns", info->name,
             info->device.sms, (double)info->device.l2_bytes / 1e6, timer.event_quantum_ns);
    say("host", true, text);
    device_host.close();
}

static void doctor_library(const char *what, const char *library, const char *good, const char *bad)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    say(what, handle != NULL, handle ? good : bad);
    if (handle)
        dlclose(handle);
}

int cmd_doctor(int argc, char **argv, struct ridge_error *err)
{
    static const struct argp_option options[] = {
        {"profile", 'p', NULL, 0, "print only the id of this device's file, such as h200-sxm or host", 1}, {0}};
    static const struct argp argp = {options, parse, NULL,
                                     "Says what this machine can measure, and what to do where it cannot.", NULL, NULL, NULL};
    struct device_info info = {0};
    struct timer_quality timer;
    bool profile_only = false;
    char text[512];
    if (argp_parse(&argp, argc, argv, 0, NULL, &profile_only))
        return ridge_fail(err, RIDGE_INVALID, "arguments");
    if (profile_only) {
        bool gpu = device_cuda.open(&info, &timer, NULL) == RIDGE_OK;
        printf("%s\n", !gpu ? "host" : info.profile[0] ? info.profile : "unknown");
        if (gpu)
            device_cuda.close();
        return RIDGE_OK;
    }
    printf("ridge %s %s%s\n", ridge_version, ridge_git_hash, ridge_git_dirty ? " dirty" : "");
    say("build", ridge_build_note[0] == 0, ridge_build_note[0] ? ridge_build_note : "CUDA variants, counters, activity times");
    doctor_gpu(&info);
    doctor_host(&info);
    doctor_library("openblas", "libopenblas.so.0", "vendor variant of host GEMM", "install libopenblas0 for gemm_f32_h90_openblas");
    bool gnuplot = system("gnuplot --version >/dev/null 2>&1") == 0;
    say("gnuplot", gnuplot, gnuplot ? "roofline plots" : "install gnuplot-nox; until then scripts and data are written");
    const char *python = python_with_matplotlib();
    snprintf(text, sizeof text, "%s: bound charts and traces", python ? python : "");
    say("python", python,
        python ? text : "install python3-matplotlib, or set RIDGE_PYTHON; until then scripts and data are written");
    return RIDGE_OK;
}
