/* SPDX-License-Identifier: Apache-2.0 */
/* Timed tasks on a CUDA device: cache preparation, the blocking kernel, both clocks, clock stamps, graphs. */
#ifdef RIDGE_WITH_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "bench/device_cuda.h"
#include "profiles/activity.h"

enum { BLOCK_TIMEOUT_NS = 1000000000 };
static const double STEADY_WARM_NS = 1.5e9, STEADY_GAP_NS = 10e6;
/* Burst: the chip rests nine times as long as it worked, so that the power limiter, which looks at an average, leaves
 * the clock alone; launches longer than a tenth of the longest rest draw too little power to need all of it. */
static const double BURST_REST = 9, BURST_LONGEST_NS = 50e6, BURST_FIRST_NS = 50e6;

static struct {
    const struct device_task *task;
    cudaGraphExec_t graph;
    bool traced;           /* activity records are being collected */
    uint64_t first, drawn; /* span ids of this task: first .. first + drawn - 1 */
    double launch_ns;      /* last event time, to size the load of steady mode */
} current;

static int enqueue(const struct device_task *task, struct ridge_error *err)
{
    if (current.graph) {
        CUDA_TRY(cudaGraphLaunch(current.graph, cuda_state.stream), err);
        return RIDGE_OK;
    }
    if (task->entry->variant->launch(task->call))
        return ridge_fail(err, RIDGE_REGRESSION, "launch failed: %s", task->call->error);
    return RIDGE_OK;
}

int cuda_launch(const struct device_task *task, struct ridge_error *err)
{
    return enqueue(task, err);
}

int cuda_prepare(const struct device_task *task, struct ridge_error *err)
{
    const struct cuda_state *s = &cuda_state;
    if (task->modes->cache == CACHE_HOT)
        return RIDGE_OK;
    if (task->modes->cold_method == COLD_DIRTY)
        CUDA_TRY(cudaMemsetAsync(s->flush, 0x5a, s->flush_bytes, s->stream), err);
    else
        CUDA_TRY(support_read(s->flush, s->flush_bytes, s->sink, s->stream), err);
    for (int i = 0; i < task->entry->problem->buffers; i++)
        if (task->modes->hot_mask >> i & 1)
            CUDA_TRY(support_read(task->call->buffer[i], task->buffer_bytes[i] & ~(size_t)15, s->sink, s->stream), err);
    return RIDGE_OK;
}

static int capture(const struct device_task *task, struct ridge_error *err)
{
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(cuda_state.stream, cudaStreamCaptureModeThreadLocal), err);
    int status = enqueue(task, err);
    cudaError_t ended = cudaStreamEndCapture(cuda_state.stream, &graph);
    if (status)
        return status;
    CUDA_TRY(ended, err);
    CUDA_TRY(cudaGraphInstantiate(&current.graph, graph, 0), err);
    CUDA_TRY(cudaGraphDestroy(graph), err);
    CUDA_TRY(cudaGraphUpload(current.graph, cuda_state.stream), err);
    return RIDGE_OK;
}

/* Launches back to back for `ns`, in batches short enough to stop in time. */
static int load(const struct device_task *task, double ns, struct ridge_error *err)
{
    double end = time_now_ns() + ns;
    int batch = (int)fmin(64, fmax(1, 2e6 / fmax(current.launch_ns, 1e3)));
    while (time_now_ns() < end) {
        for (int i = 0; i < batch; i++) {
            int status = enqueue(task, err);
            if (status)
                return status;
        }
        CUDA_TRY(cudaStreamSynchronize(cuda_state.stream), err);
    }
    return RIDGE_OK;
}

int cuda_begin(const struct device_task *task, struct ridge_error *err)
{
    uint64_t next = current.first + current.drawn;
    memset(&current, 0, sizeof current);
    current.task = task;
    current.first = next;
    int status = enqueue(task, err); /* modules load lazily: not while the stream is blocked */
    if (status)
        return status;
    CUDA_TRY(cudaStreamSynchronize(cuda_state.stream), err);
    if (task->modes->launch == LAUNCH_GRAPH && (status = capture(task, err)))
        return status;
    if (task->modes->power == POWER_STEADY && (status = load(task, STEADY_WARM_NS, err)))
        return status;
    current.traced = activity_start(NULL) == RIDGE_OK;
    return RIDGE_OK;
}

static void rest(double ns)
{
    struct timespec pause = {0, (long)ns};
    nanosleep(&pause, NULL);
}

/* The SM clock between the two stamps; NaN when they ran on different SMs. */
static double stamped_hz(const struct support_stamp *stamp)
{
    if (stamp[0].sm != stamp[1].sm || stamp[1].global_ns <= stamp[0].global_ns)
        return NAN;
    return (double)(stamp[1].sm_cycles - stamp[0].sm_cycles) / (double)(stamp[1].global_ns - stamp[0].global_ns) * 1e9;
}

int cuda_draw(struct sample *out, struct ridge_error *err)
{
    struct cuda_state *s = &cuda_state;
    double began = time_now_ns();
    int status = RIDGE_OK;
    if (current.task->modes->power == POWER_STEADY)
        status = load(current.task, STEADY_GAP_NS, err);
    else
        rest(current.drawn ? fmin(BURST_REST * current.launch_ns, BURST_LONGEST_NS) : BURST_FIRST_NS);
    if (status == RIDGE_OK)
        status = cuda_prepare(current.task, err);
    if (status)
        return status;
    *s->release = 0;
    CUDA_TRY(support_block(s->release, BLOCK_TIMEOUT_NS, s->stream), err);
    CUDA_TRY(support_stamp(&s->stamp[0], s->stream), err);
    CUDA_TRY(cudaEventRecord(s->start, s->stream), err);
    if (current.traced)
        activity_push(current.first + current.drawn);
    status = enqueue(current.task, err);
    if (current.traced)
        activity_pop();
    current.drawn++;
    cudaError_t recorded = cudaEventRecord(s->stop, s->stream);
    cudaError_t stamped = (cudaError_t)support_stamp(&s->stamp[1], s->stream);
    *s->release = 1;
    CUDA_TRY(cudaStreamSynchronize(s->stream), err);
    if (status)
        return status;
    CUDA_TRY(recorded, err);
    CUDA_TRY(stamped, err);
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, s->start, s->stop), err);
    current.launch_ns = ms * 1e6;
    *out = (struct sample){
        .event_ns = ms * 1e6,
        .kernel_ns = NAN,
        .sm_hz = stamped_hz(s->stamp),
        .wall_ns = time_now_ns() - began,
    };
    return RIDGE_OK;
}

/* Spans come ordered by id; the samples kept are the last `count` drawn. */
static int assign_spans(struct sample *sample, size_t count, struct ridge_error *err)
{
    struct activity_span *span = calloc(current.drawn + 1, sizeof *span);
    size_t spans = 0;
    if (!span)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory");
    int status = activity_collect(span, current.drawn + 1, &spans, err);
    uint64_t first_kept = current.first + current.drawn - count;
    for (size_t i = 0; status == RIDGE_OK && i < spans && i <= current.drawn; i++)
        if (span[i].id >= first_kept && span[i].id - first_kept < count && span[i].kernels)
            sample[span[i].id - first_kept].kernel_ns = (double)(span[i].end_ns - span[i].start_ns);
    free(span);
    return status;
}

int cuda_end(struct sample *sample, size_t count, struct ridge_error *err)
{
    int status = RIDGE_OK;
    cudaStreamSynchronize(cuda_state.stream);
    if (current.traced) {
        status = assign_spans(sample, count, err);
        activity_stop();
    }
    if (current.graph)
        cudaGraphExecDestroy(current.graph);
    current.graph = NULL;
    return status;
}

/* An empty kernel as a task of its own, for the floors of both clocks. */
static int launch_empty(const struct ridge_call *call)
{
    return support_empty(call->stream);
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure_floor(struct timer_quality *timer, struct ridge_error *err)
{
    enum { SAMPLES = 51 };
    static const struct ridge_family family = {.problem = "nothing"};
    static const struct ridge_variant variant = {.idea = "empty kernel", .kind = RIDGE_CUDA, .launch = launch_empty};
    static const struct ridge_entry entry = {"timer", "empty", "", &family, &variant, NULL};
    static const struct modes modes = {.cache = CACHE_HOT};
    struct ridge_call call = {.stream = cuda_state.stream};
    struct device_task task = {&entry, &call, NULL, &modes};
    struct sample sample[SAMPLES];
    double event[SAMPLES], kernel[SAMPLES];
    int status = cuda_begin(&task, err);
    for (int i = 0; i < SAMPLES && status == RIDGE_OK; i++)
        status = cuda_draw(&sample[i], err);
    if (status == RIDGE_OK)
        status = cuda_end(sample, SAMPLES, err);
    if (status)
        return status;
    bool traced = true;
    for (int i = 0; i < SAMPLES; i++) {
        event[i] = sample[i].event_ns;
        kernel[i] = sample[i].kernel_ns;
        traced = traced && !isnan(kernel[i]);
    }
    qsort(event, SAMPLES, sizeof *event, compare_double);
    timer->event_floor_ns = event[SAMPLES / 2];
    timer->event_quantum_ns = NAN;
    for (int i = 1; i < SAMPLES; i++)
        if (event[i] - event[i - 1] > 0.5) /* floats of milliseconds: less is rounding */
            timer->event_quantum_ns = fmin(timer->event_quantum_ns, event[i] - event[i - 1]);
    qsort(kernel, SAMPLES, sizeof *kernel, compare_double);
    timer->kernel_floor_ns = traced ? kernel[SAMPLES / 2] : NAN;
    return RIDGE_OK;
}

int cuda_timer_quality(struct timer_quality *timer, struct ridge_error *err)
{
    struct cuda_state *s = &cuda_state;
    int status = measure_floor(timer, err);
    if (status)
        return status;
    *s->release = 0;
    double began = time_now_ns();
    CUDA_TRY(cudaEventRecord(s->start, s->stream), err);
    CUDA_TRY(support_block(s->release, 10000000, s->stream), err);
    CUDA_TRY(cudaEventRecord(s->stop, s->stream), err);
    CUDA_TRY(cudaStreamSynchronize(s->stream), err);
    double host_ns = time_now_ns() - began;
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, s->start, s->stop), err);
    timer->clock_agreement = ms * 1e6 / host_ns;
    return RIDGE_OK;
}

#endif
