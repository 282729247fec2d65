/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel times and counters of a copy kernel on the real device, taken in turns in one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef RIDGE_WITH_CUDA
int main(void)
{
    puts("skip: built without the CUDA toolkit");
    return 77;
}
#else
#include <cuda_runtime_api.h>

#include "profiles/activity.h"
#include "profiles/counters.h"

enum { WORDS = 256 << 20, THREADS = 256, GRAPH_KERNELS = 3 }; /* 1 GiB read, 1 GiB written */

static const char ptx[] = ".version 7.0\n"
                          ".target sm_80\n"
                          ".address_size 64\n"
                          ".visible .entry copy(.param .u64 dst, .param .u64 src)\n"
                          "{\n"
                          "    .reg .u32 %r<4>;\n"
                          "    .reg .u64 %d<4>;\n"
                          "    mov.u32 %r0, %ctaid.x;\n"
                          "    mov.u32 %r1, %ntid.x;\n"
                          "    mov.u32 %r2, %tid.x;\n"
                          "    mad.lo.u32 %r0, %r0, %r1, %r2;\n"
                          "    mul.wide.u32 %d0, %r0, 4;\n"
                          "    ld.param.u64 %d1, [dst];\n"
                          "    ld.param.u64 %d2, [src];\n"
                          "    add.u64 %d1, %d1, %d0;\n"
                          "    add.u64 %d2, %d2, %d0;\n"
                          "    ld.global.u32 %r3, [%d2];\n"
                          "    st.global.u32 [%d1], %r3;\n"
                          "    ret;\n"
                          "}\n";

static struct {
    cudaLibrary_t library;
    cudaKernel_t copy;
    cudaStream_t stream;
    cudaGraphExec_t graph;
    void *src, *dst;
} gpu;

#define CUDA(call) assert_int_equal(call, cudaSuccess)

static int launch(void *ctx, struct ridge_error *err)
{
    void *argument[] = {&gpu.dst, &gpu.src};
    (void)ctx;
    int result = cudaLaunchKernel((void *)gpu.copy, (dim3){WORDS / THREADS, 1, 1}, (dim3){THREADS, 1, 1}, argument, 0,
                                  gpu.stream);
    return result == cudaSuccess ? RIDGE_OK : ridge_fail(err, RIDGE_ENVIRONMENT, "launch: CUDA error %d", result);
}

static int open_gpu(void **state)
{
    cudaGraph_t graph;
    (void)state;
    CUDA(cudaLibraryLoadData(&gpu.library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CUDA(cudaLibraryGetKernel(&gpu.copy, gpu.library, "copy"));
    CUDA(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&gpu.src, 4ull * WORDS));
    CUDA(cudaMalloc(&gpu.dst, 4ull * WORDS));
    CUDA(cudaMemset(gpu.src, 1, 4ull * WORDS));
    CUDA(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < GRAPH_KERNELS; i++)
        assert_int_equal(launch(NULL, NULL), RIDGE_OK);
    CUDA(cudaStreamEndCapture(gpu.stream, &graph));
    CUDA(cudaGraphInstantiate(&gpu.graph, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaDeviceSynchronize());
    return 0;
}

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

/* One span with a plain launch, one with a graph of three. */
static void trace_once(void)
{
    struct activity_span span[2];
    struct ridge_error err = {0};
    size_t count = 0;
    if (activity_start(&err) != RIDGE_OK)
        fail_msg("%s", err.text);
    activity_push(10);
    assert_int_equal(launch(NULL, NULL), RIDGE_OK);
    activity_pop();
    assert_int_equal(launch(NULL, NULL), RIDGE_OK);
    activity_push(20);
    CUDA(cudaGraphLaunch(gpu.graph, gpu.stream));
    activity_pop();
    CUDA(cudaDeviceSynchronize());
    if (activity_collect(span, 2, &count, &err) != RIDGE_OK)
        fail_msg("%s", err.text);
    activity_stop();
    assert_int_equal(count, 2);
    assert_int_equal(span[0].id, 10);
    assert_int_equal(span[1].id, 20);
    if (span[0].kernels != 1 || span[1].kernels != GRAPH_KERNELS)
        fail_msg("kernels: %u of 1, %u of %d", span[0].kernels, span[1].kernels, GRAPH_KERNELS);
    double one_us = 1e-3 * (double)(span[0].end_ns - span[0].start_ns);
    double graph_us = 1e-3 * (double)(span[1].end_ns - span[1].start_ns);
    printf("copy of 1 GiB: %.1f us; graph of %d: %.1f us\n", one_us, GRAPH_KERNELS, graph_us);
    if (!(one_us > 100 && one_us < 1e5 && graph_us > 2 * one_us && graph_us < 5 * one_us))
        fail_msg("the times do not fit each other");
}

static double value_of(const struct metric_group *group, const struct counters_result *result, const char *name)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->metric[i].name, name) == 0)
            return result->value[i];
    return NAN;
}

static void count_once(const struct metric_group *group)
{
    const struct counters_work work = {NULL, launch, NULL};
    struct counters_result result;
    struct ridge_error err = {0};
    double bytes = 4.0 * WORDS, start_ms = now_ms();
    if (counters_collect(group, &work, &result, &err) != RIDGE_OK)
        fail_msg("%s", err.text);
    printf("%zu passes in %.1f ms, spread %.3f:\n", result.passes, now_ms() - start_ms, result.spread);
    for (size_t i = 0; i < group->count; i++)
        printf("  %-70s %.6g %s\n", group->metric[i].name, result.value[i], group->metric[i].unit);
    double read = value_of(group, &result, "dram__bytes_read.sum");
    double written = value_of(group, &result, "dram__bytes_write.sum");
    double instructions = value_of(group, &result, "smsp__inst_executed.sum");
    double tensor = value_of(group, &result, "sm__ops_path_tensor_src_fp8_sparsity_off.sum");
    counters_result_free(&result);
    if (!(fabs(read / bytes - 1) < 0.05))
        fail_msg("%.4g bytes read, %.4g expected", read, bytes);
    if (!(written > 0.9 * bytes && written < 1.1 * bytes))
        fail_msg("%.4g bytes written, %.4g expected", written, bytes);
    /* At least a load and a store for each warp, and far fewer than 40 instructions. */
    if (!(instructions > WORDS / 32 * 2.0 && instructions < WORDS / 32 * 40.0))
        fail_msg("%.4g instructions", instructions);
    if (!(tensor == 0))
        fail_msg("%.4g tensor operations in a copy", tensor);
}

static void times_and_counters_take_turns(void **state)
{
    struct metric_group group;
    struct ridge_error err = {0};
    (void)state;
    trace_once();
    if (counters_open(NULL, &err) != RIDGE_OK) {
        printf("no counters: %s\n", err.text);
        trace_once();
        return;
    }
    assert_int_equal(metric_group_load("roofline", &group, NULL), RIDGE_OK);
    for (int round = 0; round < 4; round++) {
        count_once(&group);
        trace_once();
    }
    metric_group_free(&group);
    counters_close();
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        puts("skip: no CUDA device");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_and_counters_take_turns)};
    return cmocka_run_group_tests(tests, open_gpu, NULL);
}
#endif
