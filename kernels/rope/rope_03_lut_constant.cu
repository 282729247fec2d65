/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/rope/rope_lut.cuh"

enum { CONSTANT_BYTES = 65536 };

static __constant__ float2 constant_table[CONSTANT_BYTES / sizeof(float2)];

template <int pairs>
static __global__ void __launch_bounds__(ROPE_LUT_THREADS)
    rope_lut_constant(rope_piece<pairs> *x, const int *__restrict__ position, rope_shape shape)
{
    const auto row = [=](int at) { return constant_table + at * shape.pieces * pairs; };
    rope_lut_token<pairs>(x, position, row, shape);
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)device;
    const int64_t row_bytes = dim[ROPE_DIM] / 2 * (int64_t)sizeof(float2);
    return dim[ROPE_POSITIONS] > CONSTANT_BYTES / row_bytes
               ? "the table, positions * dim / 2 * 8 bytes, exceeds the 65536 bytes of constant memory"
               : NULL;
}

static int setup(struct ridge_call *call, void **state)
{
    (void)state;
    const size_t bytes = (size_t)(call->dim[ROPE_POSITIONS] * call->dim[ROPE_DIM] / 2) * sizeof(float2);
    RIDGE_CUDA(call, cudaMemcpyToSymbolAsync(constant_table, call->buffer[2], bytes, 0, cudaMemcpyDeviceToDevice,
                                             ridge_stream(call)));
    RIDGE_CUDA(call, cudaStreamSynchronize(ridge_stream(call)));
    return 0;
}

static int launch(const struct ridge_call *call)
{
    const rope_shape shape = rope_lut_shape(call->dim);
    const dim3 grid = rope_lut_grid(call->dim);
    const int *position = (const int *)call->buffer[1];
    if (rope_lut_pairs(call->dim) == 4)
        rope_lut_constant<4>
            <<<grid, ROPE_LUT_THREADS, 0, ridge_stream(call)>>>((rope_piece<4> *)call->buffer[0], position, shape);
    else
        rope_lut_constant<1>
            <<<grid, ROPE_LUT_THREADS, 0, ridge_stream(call)>>>((rope_piece<1> *)call->buffer[0], position, shape);
    return RIDGE_LAUNCHED(call);
}

extern "C" const struct ridge_variant ridge_variant_rope_03_lut_constant = {
    .idea = "the table in constant memory, 64 KB at most",
    .source = "CUDA C++ Programming Guide, constant memory",
    .changes = "against 02: the table sits in constant memory, which serves one address of a warp at a time",
    .kind = RIDGE_CUDA,
    .min_cc = 80,
    .unsupported = unsupported,
    .setup = setup,
    .launch = launch,
    .kernel = (const void *)rope_lut_constant<4>,
};
