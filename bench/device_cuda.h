/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the CUDA device share: state (device_cuda.c) and timed tasks (device_cuda_task.c). */
#ifndef RIDGE_DEVICE_CUDA_H
#define RIDGE_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "bench/device.h"
#include "kernels/support/support.h"

struct cuda_state {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    void *flush;
    size_t flush_bytes;
    uint32_t *sink;             /* device */
    volatile uint32_t *release; /* host, mapped: lets the blocking kernel go */
    struct support_stamp *stamp; /* host, mapped: two */
    int64_t l2_bytes;
};
extern struct cuda_state cuda_state;

/* Returns from the calling function with file, line and expression when a CUDA call fails. */
#define CUDA_TRY(expression, err)                                                                                      \
    do {                                                                                                               \
        int cuda_status_ = (expression);                                                                               \
        if (cuda_status_)                                                                                              \
            return ridge_fail(err, RIDGE_ENVIRONMENT, "%s:%d: %s: %s", __FILE_NAME__, __LINE__, #expression,           \
                              cudaGetErrorString((cudaError_t)cuda_status_));                                          \
    } while (0)

int cuda_begin(const struct device_task *task, struct ridge_error *err);
int cuda_draw(struct sample *out, struct ridge_error *err);
int cuda_end(struct sample *sample, size_t count, struct ridge_error *err);
int cuda_prepare(const struct device_task *task, struct ridge_error *err);
int cuda_launch(const struct device_task *task, struct ridge_error *err);
int cuda_timer_quality(struct timer_quality *timer, struct ridge_error *err);

#endif
