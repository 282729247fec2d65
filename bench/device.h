/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine under test behind a table of functions: the host, a CUDA device, or a test's fake that injects
 * failures. One device is open at a time; calls come from one thread.
 */
#ifndef RIDGE_DEVICE_H
#define RIDGE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bench/modes.h"
#include "bench/sampler.h"
#include "kernels/kernel.h"

/* Identity and limits, for records. Empty strings and zeros where there is nothing to say. */
struct device_info {
    struct ridge_device device; /* what launches see */
    char name[256];             /* "NVIDIA H200", "AMD EPYC ..." */
    char uuid[64];
    char profile[32];           /* device file it matches: "h200-sxm"; "host"; "" if none */
    char driver[32];            /* "580.159.04"; host: kernel release */
    char cuda[16];              /* "13.0" runtime; host: "" */
    double power_limit_w;       /* NaN if unknown */
    double max_sm_hz;           /* NaN if unknown */
    int idle_sms;               /* that --emulate leaves out of device.sms */
    int64_t flush_bytes;        /* what makes the cache cold, where that can be less than it takes; 0 elsewhere */
};

/* Smallest distances the timer can tell; measured when the device is opened. */
struct timer_quality {
    double event_quantum_ns;  /* smallest nonzero difference seen between two event readings */
    double event_floor_ns;    /* median event time of an empty kernel */
    double kernel_floor_ns;   /* median activity time of an empty kernel; NaN without CUPTI */
    double clock_agreement;   /* event / host clock over a 10 ms kernel, 1 is perfect */
};

/* One repeatable launch: everything a sample needs. */
struct device_task {
    const struct ridge_entry *entry;
    const struct ridge_call *call;
    const size_t *buffer_bytes; /* family->buffers of them */
    const struct modes *modes;
};

struct compare_result {
    double max_error; /* max over elements of |out - ref| / (rel |ref| + mag_rel mag); passes if <= 1. NaN
                         anywhere, or a difference under an exact tolerance, gives +inf */
    double max_abs;   /* largest |out - ref| */
    double error_squares, ref_squares; /* sums of |out - ref|^2 and of ref^2; equal infinities count as 0 */
    int64_t at;       /* element of max_error */
    int64_t tiles;    /* tiles looked at */
    double worst_tile_rms, median_tile_rms; /* RMS error per tile in units of the tolerance */
};

struct device_ops {
    const char *kind; /* "cuda" or "host" */

    /* RIDGE_ENVIRONMENT with the reason: no driver, driver too old, no device. */
    int (*open)(struct device_info *info, struct timer_quality *timer, struct ridge_error *err);
    void (*close)(void);
    void *(*stream)(void); /* what launches enqueue on; NULL on the host */

    int (*memory_free)(double *bytes, struct ridge_error *err);
    int (*alloc)(void **ptr, size_t bytes, struct ridge_error *err); /* 256-byte aligned */
    void (*free)(void *ptr);
    int (*upload)(void *dst, const void *src, size_t bytes, struct ridge_error *err);
    int (*download)(void *dst, const void *src, size_t bytes, struct ridge_error *err);
    int (*copy)(void *dst, const void *src, size_t bytes, struct ridge_error *err); /* within the device */
    int (*set)(void *dst, int byte, size_t bytes, struct ridge_error *err);
    int (*sync)(struct ridge_error *err); /* also reports errors of earlier launches */

    /* Element i of a buffer depends on seed and i alone, and is the same on every device. */
    int (*fill)(void *dst, const struct ridge_buffer *spec, int64_t count, enum fill_mode mode, uint64_t seed,
                struct ridge_error *err);
    /* Counts bytes that differ from `byte`. */
    int (*count_not)(const void *src, int byte, size_t bytes, uint64_t *differing, struct ridge_error *err);
    /* A 64-bit checksum of content and position: equal bits give equal sums. */
    int (*checksum)(const void *src, size_t bytes, uint64_t *sum, struct ridge_error *err);
    /* Largest error in units of the tolerance, and the tile it is in. See bench/check.h. */
    int (*compare)(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t count,
                   int64_t columns, const struct ridge_tolerance *tolerance, struct compare_result *result,
                   struct ridge_error *err);

    /* Prepares a task (captures the graph, sizes the flush buffer, starts activity tracing). */
    int (*begin)(const struct device_task *task, struct ridge_error *err);
    /* Prepares the cache as the modes ask, then launches once under both clocks. */
    int (*draw)(struct sample *out, struct ridge_error *err);
    /* Ends a task; fills kernel_ns of the samples drawn since begin, in order (NaN where not known). */
    int (*end)(struct sample *sample, size_t count, struct ridge_error *err);

    /* Cache preparation and one untimed launch, separately: the two halves a counter pass needs. */
    int (*prepare)(const struct device_task *task, struct ridge_error *err);
    /* launch, and what else launches: RIDGE_REGRESSION when the variant reports that it could not. */
    int (*launch)(const struct device_task *task, struct ridge_error *err);

    /* Registers, shared and local memory of the variant's kernel; zeros if it names none. */
    int (*attributes)(const struct ridge_variant *variant, int *registers, int *spill_bytes, int *smem_bytes);
};

/* Model of the host's processor. */
void host_processor(char *name, size_t bytes);

extern const struct device_ops device_host;
extern const struct device_ops device_cuda; /* on a build without CUDA, open() says so */

#endif
