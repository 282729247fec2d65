/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/tensor_map.h"
#include "kernels/support/launch.cuh"
#include "kernels/support/tensor_map_side_by_side.h"

static int encode_function(const struct ridge_call *call, decltype(&cuTensorMapEncodeTiled) *encode)
{
    cudaDriverEntryPointQueryResult found;
    RIDGE_CUDA(call, cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)encode, 12000,
                                                      cudaEnableDefault, &found));
    if (found == cudaDriverEntryPointSuccess)
        return 0;
    snprintf(call->error, call->error_bytes, "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12.0");
    return 1;
}

static CUtensorMapDataType element_type(enum ridge_dtype dtype)
{
    return dtype == RIDGE_BF16  ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
           : dtype == RIDGE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
           : dtype == RIDGE_F32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                : CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

static int element_bytes(enum ridge_dtype dtype)
{
    return dtype == RIDGE_BF16 || dtype == RIDGE_F16 ? 2 : dtype == RIDGE_F32 ? 4 : 1;
}

static CUtensorMapSwizzle swizzle_mode(int bytes)
{
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

struct tensor_box {
    int rank;
    cuuint64_t size[5], pitch_bytes[4];
    cuuint32_t box[5];
};

static const char *name_of(const struct tensor_map_matrix *matrix)
{
    return matrix->name ? matrix->name : "matrix";
}

static int misaligned(const struct ridge_call *call, const struct tensor_map_matrix *matrix)
{
    const long long bytes = (long long)matrix->pitch * element_bytes(matrix->dtype);
    if ((uintptr_t)matrix->address % 16) {
        snprintf(call->error, call->error_bytes,
                 "%s: address %p is %d bytes beyond a multiple of 16, and tensor copies need such a multiple",
                 name_of(matrix), matrix->address, (int)((uintptr_t)matrix->address % 16));
        return 1;
    }
    if (bytes % 16) {
        snprintf(call->error, call->error_bytes,
                 "%s: rows of %lld elements are %lld bytes apart, and tensor copies need a multiple of 16",
                 name_of(matrix), (long long)matrix->pitch, bytes);
        return 1;
    }
    return 0;
}

static int encode_box(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                      const struct tensor_box *tensor, CUtensorMap *map)
{
    const cuuint32_t step[5] = {1, 1, 1, 1, 1};
    decltype(&cuTensorMapEncodeTiled) encode;
    if (misaligned(call, matrix) || encode_function(call, &encode))
        return 1;
    const CUresult status = encode(map, element_type(matrix->dtype), (cuuint32_t)tensor->rank, (void *)matrix->address,
                                   tensor->size, tensor->pitch_bytes, tensor->box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                   swizzle_mode(matrix->swizzle_bytes),
                                   matrix->exact ? CU_TENSOR_MAP_L2_PROMOTION_NONE : CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status == CUDA_SUCCESS)
        return 0;
    snprintf(call->error, call->error_bytes,
             "%s: cuTensorMapEncodeTiled: error %d for %lld x %lld elements of %d bytes in boxes of %d x %d",
             name_of(matrix), (int)status, (long long)matrix->rows, (long long)matrix->columns,
             element_bytes(matrix->dtype), matrix->box_rows, matrix->box_columns);
    return 1;
}

extern "C" int tensor_map_encode(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                                 CUtensorMap *map)
{
    const struct tensor_box tensor = {
        2,
        {(cuuint64_t)matrix->columns, (cuuint64_t)matrix->rows},
        {(cuuint64_t)matrix->pitch * element_bytes(matrix->dtype)},
        {(cuuint32_t)matrix->box_columns, (cuuint32_t)matrix->box_rows},
    };
    return encode_box(call, matrix, &tensor, map);
}

extern "C" int tensor_map_encode_grouped(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                                         int group, CUtensorMap *map)
{
    const cuuint64_t row = (cuuint64_t)matrix->pitch * element_bytes(matrix->dtype), parts = group / 8;
    const struct tensor_box tensor = {
        5,
        {(cuuint64_t)matrix->columns, 2, 4, parts, (cuuint64_t)matrix->rows / group},
        {row, 2 * parts * row, 2 * row, group * row},
        {(cuuint32_t)matrix->box_columns, 2, 4, (cuuint32_t)parts, (cuuint32_t)(matrix->box_rows / group)},
    };
    return encode_box(call, matrix, &tensor, map);
}

extern "C" int tensor_map_encode_stack(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                                       int64_t count, CUtensorMap *map)
{
    const cuuint64_t row = (cuuint64_t)matrix->pitch * element_bytes(matrix->dtype);
    const struct tensor_box tensor = {
        3,
        {(cuuint64_t)matrix->columns, (cuuint64_t)matrix->rows, (cuuint64_t)count},
        {row, (cuuint64_t)matrix->rows * row},
        {(cuuint32_t)matrix->box_columns, (cuuint32_t)matrix->box_rows, 1},
    };
    return encode_box(call, matrix, &tensor, map);
}

extern "C" int tensor_map_encode_side_by_side(const struct ridge_call *call, const struct tensor_map_matrix *matrix,
                                              int boxes, CUtensorMap *map)
{
    const cuuint64_t element = element_bytes(matrix->dtype), width = (cuuint64_t)matrix->box_columns;
    const struct tensor_box tensor = {
        3,
        {width, (cuuint64_t)matrix->rows, (cuuint64_t)matrix->columns / width},
        {(cuuint64_t)matrix->pitch * element, width * element},
        {(cuuint32_t)width, (cuuint32_t)matrix->box_rows, (cuuint32_t)boxes},
    };
    return encode_box(call, matrix, &tensor, map);
}
