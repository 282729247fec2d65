/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/runner_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/stats.h"
#include "base/version.h"
#include "bench/record.h"
#include "bench/registry.h"
#include "bench/shape.h"

static void set_run(json_t *record, const struct runner *runner)
{
    char utc[32], processor[256] = "";
    time_t now = time(NULL);
    struct tm parts;
    strftime(utc, sizeof utc, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    json_t *argv = json_array();
    for (int i = 0; i < runner->argc; i++)
        json_array_append_new(argv, record_text(runner->argv[i]));
    host_processor(processor, sizeof processor);
    record_set_string(record, "run.id", runner->run_id);
    record_set_string(record, "run.time_utc", utc);
    record_set_string(record, "run.git", ridge_git_hash);
    record_set(record, "run.dirty", json_boolean(ridge_git_dirty || runner->foreign));
    record_set_string(record, "run.version", ridge_version);
    record_set(record, "run.argv", argv);
    record_set_string(record, "run.host", processor);
}

static void set_device(json_t *record, const struct runner *runner)
{
    const struct device_info *info = runner->info;
    record_set_string(record, "device.kind", runner->ops->kind);
    record_set_string(record, "device.name", info->name);
    record_set_string(record, "device.uuid", info->uuid);
    record_set_string(record, "device.profile", info->profile);
    record_set(record, "device.sms", json_integer(info->device.sms + info->idle_sms));
    record_set(record, "device.cc", json_integer(info->device.cc));
    record_set_string(record, "device.driver", info->driver);
    record_set_string(record, "device.cuda", info->cuda);
    record_set_number(record, "device.power_limit_w", info->power_limit_w);
    record_set_number(record, "device.l2_bytes", (double)info->device.l2_bytes);
    record_set_number(record, "device.memory_bytes", (double)info->device.memory_bytes);
    record_set_number(record, "device.max_sm_hz", info->max_sm_hz);
    record_set_number(record, "device.timer.event_quantum_ns", runner->timer->event_quantum_ns);
    record_set_number(record, "device.timer.event_floor_ns", runner->timer->event_floor_ns);
    record_set_number(record, "device.timer.kernel_floor_ns", runner->timer->kernel_floor_ns);
    record_set_number(record, "device.timer.clock_agreement", runner->timer->clock_agreement);
}

static void set_variant(json_t *record, const struct runner *runner, const struct ridge_entry *entry)
{
    const struct ridge_variant *variant = entry->variant;
    char name[128];
    int registers, spill, smem;
    registry_name(entry, name, sizeof name);
    runner->ops->attributes(variant, &registers, &spill, &smem);
    record_set_string(record, "variant.family", entry->family);
    record_set_string(record, "variant.label", entry->label);
    record_set_string(record, "variant.name", name);
    record_set_string(record, "variant.idea", variant->idea);
    record_set_string(record, "variant.changes", variant->changes ? variant->changes : "");
    record_set_string(record, "variant.kind", variant->kind == RIDGE_CUDA ? "cuda" : "host");
    record_set(record, "variant.ladder_break", json_boolean(variant->ladder_break));
    record_set_string(record, "variant.note", "");
    record_set_string(record, "variant.build.arch",
                      variant->kind == RIDGE_HOST ? "host" : variant->min_cc >= 90 ? "sm_90a" : "compute_80,sm_90a");
    record_set_string(record, "variant.build.cubin_xxh64", ridge_cubin_hash(entry->file));
    record_set(record, "variant.build.registers", json_integer(registers));
    record_set(record, "variant.build.spill_bytes", json_integer(spill));
    record_set(record, "variant.build.smem_bytes", json_integer(smem));
}

static void set_modes(json_t *record, const struct modes *modes, const char *plan)
{
    static const char *const fills[] = {"random", "ones", "zeros", "outliers"};
    record_set_string(record, "mode.cache.requested", modes->cache_text);
    if (modes->cache == CACHE_COLD)
        record_set_string(record, "mode.cache.method", modes->cold_method == COLD_DIRTY ? "dirty" : "clean");
    record_set_string(record, "mode.cache.verified", "unverified");
    record_set_string(record, "mode.launch.requested", modes->launch == LAUNCH_GRAPH ? "graph" : "stream");
    record_set_string(record, "mode.launch.verified", "verified");
    record_set_string(record, "mode.power.requested", modes->power == POWER_STEADY ? "steady" : "burst");
    record_set_string(record, "mode.power.verified", "unverified");
    record_set_string(record, "mode.fill.requested", fills[modes->fill]);
    record_set_string(record, "mode.emulate.requested", modes->emulate == EMULATE_H20 ? "h20" : "none");
    if (plan)
        record_set_string(record, "mode.plan.requested", plan);
}

void record_work(json_t *record, const char *path, const struct ridge_work *work)
{
    char key[64];
#define SET_KEY(name)                                                                                                  \
    snprintf(key, sizeof key, "%s.%s", path, #name);                                                                   \
    record_set_number(record, key, work->name);
    RIDGE_WORK_KEYS(SET_KEY)
#undef SET_KEY
}

json_t *record_begin(const struct runner *runner, const struct ridge_entry *entry, const int64_t *dim)
{
    const struct ridge_family *family = entry->problem;
    json_t *record = json_object();
    char name[256], key[64];
    struct ridge_work useful = {0};
    shape_name(family, dim, name, sizeof name);
    family->work(dim, &useful);
    struct ridge_work issued = useful;
    if (entry->variant->issued)
        entry->variant->issued(dim, &runner->info->device, &issued);

    record_set_string(record, "schema", RIDGE_RECORD_SCHEMA);
    set_run(record, runner);
    set_device(record, runner);
    set_variant(record, runner, entry);
    record_set_string(record, "shape.name", name);
    record_set(record, "shape.params", json_object());
    for (int i = 0; i < family->axes; i++) {
        snprintf(key, sizeof key, "shape.params.%s", family->axis[i].name);
        record_set(record, key, json_integer(dim[i]));
    }
    set_modes(record, &runner->modes, runner->info->device.plan);
    if (runner->modes.emulate)
        record_set(record, "mode.emulate.sms", json_integer(runner->info->device.sms));
    record_set_string(record, "status", "ok");
    record_set(record, "reason", NULL);
    record_set_string(record, "check.status", "none");
    record_work(record, "work.useful", &useful);
    record_work(record, "work.issued", &issued);
    record_set(record, "time", NULL);
    record_set(record, "clock", NULL);
    record_set_string(record, "counters.source", "none");
    record_set_string(record, "counters.reason", runner->counters_reason);
    record_set(record, "counters.values", json_object());
    return record;
}

/* Of the floating-point outputs, by name. */
static void record_rms(json_t *record, const struct ridge_family *family, const struct check_result *check)
{
    char key[128];
    for (int i = 0; i < family->buffers; i++) {
        const struct ridge_buffer *buffer = &family->buffer[i];
        if (buffer->role == RIDGE_INPUT || buffer->dtype == RIDGE_I32 || buffer->dtype == RIDGE_U32)
            continue;
        snprintf(key, sizeof key, "check.rmse.%s", buffer->name);
        record_set_number(record, key, check->rmse[i]);
        snprintf(key, sizeof key, "check.ref_rms.%s", buffer->name);
        record_set_number(record, key, check->ref_rms[i]);
    }
}

void record_check(json_t *record, const struct ridge_family *family, const struct check_result *check)
{
    record_set_string(record, "check.status", check->ok ? "ok" : "fail");
    record_set_string(record, "check.against", check->against);
    record_set_number(record, "check.max_error", check->max_error);
    record_set_number(record, "check.max_abs_error", check->max_abs);
    record_rms(record, family, check);
    record_set_number(record, "check.tolerance.rel", family->tolerance.rel);
    record_set_number(record, "check.tolerance.mag_rel", family->tolerance.mag_rel);
    record_set_string(record, "check.tolerance.source", family->tolerance.source);
    record_set(record, "check.tiles_checked", json_integer(check->tiles));
    record_set(record, "check.repeatable", json_boolean(check->repeatable));
    if (!check->ok) {
        record_set_string(record, "status", "fail");
        record_set_string(record, "reason", check->text);
    }
}

void record_time(json_t *record, const struct runner *runner, const struct sampler_result *samples)
{
    size_t n = samples->count;
    double *event = malloc((n + 1) * sizeof *event), *kernel = malloc((n + 1) * sizeof *kernel);
    bool traced = n > 0;
    json_t *values = json_array();
    for (size_t i = 0; i < n; i++) {
        event[i] = samples->sample[i].event_ns;
        kernel[i] = samples->sample[i].kernel_ns;
        traced = traced && !isnan(kernel[i]);
    }
    const double *used = traced ? kernel : event;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(values, json_real(round(used[i])));
    struct stats stats = stats_of(used, n, runner->seed);
    bool host = runner->info->device.kind == RIDGE_HOST;
    record_set_string(record, "time.clock", traced ? "kernel" : host ? "host" : "event");
    record_set_number(record, "time.median_ns", stats.median);
    record_set_number(record, "time.mad_ns", stats.mad);
    record_set_number(record, "time.p05_ns", stats.p05);
    record_set_number(record, "time.p95_ns", stats.p95);
    record_set(record, "time.ci95_ns", n > 1 ? json_pack("[f,f]", stats.ci95[0], stats.ci95[1]) : NULL);
    record_set(record, "time.samples_ns", values);
    record_set(record, "time.discarded", json_integer((json_int_t)samples->discarded));
    record_set(record, "time.rounds", json_integer((json_int_t)samples->rounds));
    record_set_string(record, "time.stop", sampler_stop_name(samples->stop));
    record_set_number(record, "time.event_median_ns", host ? NAN : stats_quantile(event, n, 0.5));
    record_set_number(record, "time.kernel_median_ns", traced ? stats.median : NAN);
    free(event);
    free(kernel);
}

void record_clock(json_t *record, const struct sampler_result *samples, const struct telemetry *telemetry, bool known)
{
    double *mhz = malloc((samples->count + 1) * sizeof *mhz);
    size_t n = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->sample[i].sm_hz > 0)
            mhz[n++] = samples->sample[i].sm_hz / 1e6;
    record_set(record, "clock.sm_mhz", NULL);
    if (n) {
        record_set(record, "clock.sm_mhz", json_object());
        record_set_number(record, "clock.sm_mhz.median", stats_quantile(mhz, n, 0.5));
        record_set_number(record, "clock.sm_mhz.min", stats_quantile(mhz, n, 0));
        record_set_number(record, "clock.sm_mhz.max", stats_quantile(mhz, n, 1));
    }
    free(mhz);
    json_t *names = json_array();
    if (known) {
        const char *name[16];
        int count = telemetry_throttle_names(telemetry->throttle, name, 16);
        for (int i = 0; i < count; i++)
            json_array_append_new(names, json_string(name[i]));
    }
    record_set_number(record, "clock.power_w", known ? telemetry->power_w : NAN);
    record_set_number(record, "clock.temperature_c", known ? telemetry->temperature_c : NAN);
    record_set(record, "clock.throttle", names);
}

void record_counters(json_t *record, const struct metric_group *group, const struct counters_result *result)
{
    json_t *values = json_object();
    for (size_t i = 0; i < group->count && i < result->count; i++)
        json_object_set_new(values, group->metric[i].name,
                            isfinite(result->value[i]) ? json_real(result->value[i]) : json_null());
    record_set_string(record, "counters.source", "cupti");
    record_set_string(record, "counters.group", group->name);
    record_set(record, "counters.reason", NULL);
    record_set(record, "counters.passes", json_integer((json_int_t)result->passes));
    record_set_number(record, "counters.spread", result->spread);
    record_set(record, "counters.values", values);
}

static void keep_larger(json_t *record, const json_t *earlier, const char *path)
{
    const double value = record_number(earlier, path);
    if (value > record_number(record, path))
        record_set_number(record, path, value);
}

static void join_throttle(json_t *record, const json_t *earlier)
{
    const json_t *before = record_get(earlier, "clock.throttle");
    json_t *names = json_deep_copy(record_get(record, "clock.throttle"));
    for (size_t i = 0; names && i < json_array_size(before); i++) {
        json_t *name = json_array_get(before, i);
        size_t at = 0;
        while (at < json_array_size(names) && !json_equal(json_array_get(names, at), name))
            at++;
        if (at == json_array_size(names))
            json_array_append(names, name);
    }
    if (names)
        record_set(record, "clock.throttle", names);
}

/* A set-up that times what a library proposes can choose otherwise in each round. */
static void join_notes(json_t *record, const json_t *earlier)
{
    const char *before = record_string(earlier, "variant.note"), *now = record_string(record, "variant.note");
    char both[1024];
    if (!before || !now || strcmp(before, now) == 0)
        return;
    if (strstr(before, now))
        snprintf(both, sizeof both, "%s", before);
    else
        snprintf(both, sizeof both, "%s; in a later round %s", before, now);
    record_set_string(record, "variant.note", both);
}

void record_join(json_t *record, const json_t *earlier)
{
    record_set_string(record, "run.time_utc", record_string(earlier, "run.time_utc"));
    keep_larger(record, earlier, "check.max_error");
    keep_larger(record, earlier, "check.max_abs_error");
    if (json_is_false(record_get(earlier, "check.repeatable")))
        record_set(record, "check.repeatable", json_false());
    join_throttle(record, earlier);
    join_notes(record, earlier);
    if (record_get(earlier, "mode.power") && !record_is(earlier, "mode.power.verified", "verified"))
        record_set(record, "mode.power", json_deep_copy(record_get(earlier, "mode.power")));
}

static double counter(const json_t *record, const char *metric)
{
    return json_number_value(json_object_get(record_get(record, "counters.values"), metric));
}

/* Cold: at least 0.9 of the compulsory reads came from DRAM. Hot: at most a tenth did, if they fit half of L2. */
static void verify_cache(json_t *record, const struct runner *runner)
{
    double expected = record_number(record, "work.useful.bytes_hbm_read");
    double counted = counter(record, "dram__bytes_read.sum");
    const char *verdict = "unverified";
    char evidence[160] = "no DRAM counters";
    if (record_is(record, "counters.source", "cupti") && expected < 1e6) {
        snprintf(evidence, sizeof evidence, "compulsory reads of %.0f bytes are too few to tell", expected);
    } else if (record_is(record, "counters.source", "cupti") && counted > 0) {
        double share = counted / expected;
        snprintf(evidence, sizeof evidence, "DRAM reads counted %.4g bytes, compulsory %.4g, ratio %.3f", counted, expected,
                 share);
        if (runner->modes.hot_mask)
            verdict = "unverified";
        else if (runner->modes.cache == CACHE_COLD)
            verdict = share >= 0.9 ? "verified" : "contradicted";
        else if (expected <= 0.5 * (double)runner->info->device.l2_bytes)
            verdict = share <= 0.1 ? "verified" : "contradicted";
    }
    const int64_t flushed = runner->info->flush_bytes, cache = runner->info->device.l2_bytes;
    if (flushed > 0 && flushed < cache && runner->modes.cache == CACHE_COLD)
        snprintf(evidence, sizeof evidence, "a flush of %.4g bytes leaves part of a last-level cache of %.4g as it was",
                 (double)flushed, (double)cache);
    record_set_string(record, "mode.cache.verified", verdict);
    record_set_string(record, "mode.cache.evidence", evidence);
}

static void verify_power(json_t *record, const struct runner *runner)
{
    const json_t *throttle = record_get(record, "clock.throttle");
    double power = record_number(record, "clock.power_w");
    bool capped = false;
    for (size_t i = 0; i < json_array_size(throttle); i++)
        capped = capped || strstr(json_string_value(json_array_get(throttle, i)), "power") != NULL;
    char evidence[160] = "no telemetry";
    const char *verdict = "unverified";
    if (power > 0) {
        snprintf(evidence, sizeof evidence, "%.0f W of %.0f W, %s", power, runner->info->power_limit_w,
                 capped ? "power cap active" : "no power cap");
        verdict = capped == (runner->modes.power == POWER_STEADY) ? "verified" : "unverified";
    }
    record_set_string(record, "mode.power.verified", verdict);
    record_set_string(record, "mode.power.evidence", evidence);
}

void record_verify(json_t *record, const struct runner *runner)
{
    verify_cache(record, runner);
    verify_power(record, runner);
}
