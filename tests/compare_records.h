/* SPDX-License-Identifier: Apache-2.0 */
/* Records for tests of the comparison: one GPU, one shape, samples evenly spread around a median. */
#ifndef COMPARE_RECORDS_H
#define COMPARE_RECORDS_H

#include <stdio.h>

#include "bench/record.h"

enum { SAMPLES = 40 };

/* Deterministic samples around `median`: evenly spread over +-spread. */
static json_t *samples(double median, double spread, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_real(median * (1.0 + spread * (2.0 * ((i * 7) % n) / (n - 1.0) - 1.0))));
    return array;
}

static json_t *record_with(const char *label, double median_ns, double spread, int n)
{
    json_t *r = json_pack("{s:s, s:{s:s, s:b, s:s}, s:{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:{s:f}}, s:s}", "schema",
                          RIDGE_RECORD_SCHEMA, "run", "git", "aaaa", "dirty", 0, "version", "0.1.0", "device", "kind",
                          "cuda", "name", "NVIDIA H200", "profile", "h200-sxm", "uuid", "GPU-1", "sms", 132, "cc", 90,
                          "driver", "580.95.05", "timer", "event_quantum_ns", 32.0, "status", "ok");
    char name[64];
    snprintf(name, sizeof name, "gemm_f32_%s", label);
    record_set_string(r, "variant.family", "gemm_f32");
    record_set_string(r, "variant.label", label);
    record_set_string(r, "variant.name", name);
    record_set_string(r, "variant.build.cubin_xxh64", "1111111111111111");
    record_set_number(r, "variant.build.registers", 64);
    record_set_string(r, "shape.name", "64x64x64");
    record_set(r, "shape.params", json_pack("{s:i, s:i, s:i}", "m", 64, "n", 64, "k", 64));
    static const char *const axes[] = {"cache", "launch", "power", "fill", "emulate"};
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "mode.%s.requested", axes[i]);
        record_set_string(r, name, i == 4 ? "none" : "default");
    }
    record_set(r, "work.issued", json_pack("{s:f}", "flop_fp32", 524288.0));
    record_set_string(r, "time.clock", "event");
    record_set_number(r, "time.median_ns", median_ns);
    record_set(r, "time.samples_ns", samples(median_ns, spread, n));
    record_set_number(r, "clock.sm_mhz.median", 1800);
    return r;
}

static json_t *record_of(const char *label, double median_ns, double spread)
{
    return record_with(label, median_ns, spread, SAMPLES);
}

static json_t *with_code(json_t *record, const char *hash)
{
    record_set_string(record, "variant.build.cubin_xxh64", hash);
    return record;
}

/* One comparison of up to 32 records a side; the records are taken over. */

#endif
