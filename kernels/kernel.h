/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel contract.
 *
 * A family owns a problem: axes, buffers, inputs, reference, tolerance, work.
 * A variant owns one way to solve it. Families live in kernels/<family>/<family>.c as
 * `ridge_family_<family>`; variants in kernels/<family>/<family>_<label>.{c,cu} as
 * `ridge_variant_<family>_<label>`; both are found by their file names and entered in a
 * generated, sorted table. Adding a variant is adding one file.
 *
 * The header is C17 and C++20 (nvcc), has no dependencies, and is the plugin ABI.
 */
#ifndef RIDGE_KERNEL_H
#define RIDGE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below changes; a plugin with another number is refused. */
#define RIDGE_ABI_VERSION 2

enum {
    RIDGE_MAX_AXES = 8,
    RIDGE_MAX_BUFFERS = 8,
    RIDGE_PLAN_BYTES = 64,
};

enum ridge_dtype {
    RIDGE_F32,
    RIDGE_F64,
    RIDGE_F16,
    RIDGE_BF16,
    RIDGE_E4M3,
    RIDGE_I32,
    RIDGE_U32,
    RIDGE_U8,
};

/* Everything a launch can demand of the machine, counted per launch. One FMA is 2 FLOP.
 * Conversions and exponentials are counted in elements. bytes_hbm_* are the compulsory bytes
 * (each operand once); bytes_l2 and bytes_smem are the bytes a level must deliver. */
#define RIDGE_WORK_KEYS(X)                                                                     \
    X(flop_bf16)     /* tensor-core BF16 or FP16, FP32 accumulation */                         \
    X(flop_fp8)      /* tensor-core FP8, FP32 accumulation */                                  \
    X(flop_fp32)     /* FP32 outside the tensor cores (host: any FP32) */                      \
    X(exp)           /* MUFU operations: ex2, lg2, rcp, rsqrt, sin, cos */                     \
    X(cvt_e4m3_f16)  /* e4m3 -> f16, elements */                                               \
    X(cvt_f16_f32)   /* f16 -> f32, elements */                                                \
    X(cvt_f32_bf16)  /* f32 -> bf16, elements */                                               \
    X(mul_bf16)      /* bf16x2 multiplies, elements */                                         \
    X(bytes_hbm_read)                                                                          \
    X(bytes_hbm_write)                                                                         \
    X(bytes_l2)                                                                                \
    X(bytes_smem)                                                                              \
    X(bytes_dsmem)                                                                             \
    X(launches)      /* dependent kernel launches */                                           \
    X(tiles)         /* equal pieces of work handed to SMs whole; 0 where work is divided evenly */

struct ridge_work {
#define RIDGE_WORK_FIELD(key) double key;
    RIDGE_WORK_KEYS(RIDGE_WORK_FIELD)
#undef RIDGE_WORK_FIELD
};

/* The device a launch runs on, and the plan for it. Host variants see kind RIDGE_HOST and sms = usable cores. */
enum ridge_kind { RIDGE_HOST, RIDGE_CUDA };

struct ridge_device {
    enum ridge_kind kind;
    int sms;
    int cc; /* 10 * major + minor; 0 on the host */
    int64_t l2_bytes;
    int64_t smem_optin_bytes; /* largest dynamic shared memory of one block */
    int64_t memory_bytes;
    const char *plan; /* for variants with `plans`: what to run; NULL: what the variant takes to be best */
};

/* One launch. Pointers are device pointers for CUDA variants, host pointers otherwise; every
 * buffer is at least 256-byte aligned plus the variant's offset. The harness owns all of it. */
struct ridge_call {
    const int64_t *dim;      /* family axes, in order */
    void *const *buffer;     /* family buffers, in order */
    const size_t *buffer_bytes; /* their sizes; NULL: not known, at least what the family's counts say */
    void *workspace;         /* variant.workspace_bytes() bytes, contents undefined */
    void *stream;            /* cudaStream_t; NULL for host variants */
    const struct ridge_device *device;
    void *state;             /* what setup stored; NULL otherwise */
    char *error;             /* message of a failed call, error_bytes long */
    size_t error_bytes;
};

/* Shape axes and presets. A shape is one int64_t per axis. */
struct ridge_axis {
    const char *name; /* m n k groups | b s_q s_k h page_size | topk s_kv | tokens heads dim | bytes */
    int64_t min, max; /* inclusive */
    int64_t multiple; /* value % multiple == 0; 1 for none */
    const char *meaning;
};

enum ridge_level { RIDGE_QUICK, RIDGE_STANDARD, RIDGE_FULL }; /* each level contains the ones before */

struct ridge_shape {
    const char *name; /* unique in the family; shapes of the command line are named by their values */
    enum ridge_level level;
    enum ridge_kind kind; /* host shapes are small enough for a CPU, CUDA shapes fill the chip */
    int64_t dim[RIDGE_MAX_AXES];
};

enum ridge_role {
    RIDGE_INPUT,
    RIDGE_OUTPUT, /* poisoned before each check, every element compared */
    RIDGE_INOUT,  /* restored before each check, every element compared */
};

enum ridge_fill {
    RIDGE_FILL_NORMAL,  /* sum of eight uniforms, mean 0, standard deviation `scale` */
    RIDGE_FILL_UNIFORM, /* floats: [-scale, scale); integers: [0, scale) */
    RIDGE_FILL_BITS,    /* random bits */
    RIDGE_FILL_CUSTOM,  /* family.fill writes it on the host */
};

struct ridge_buffer {
    const char *name;
    enum ridge_dtype dtype;
    enum ridge_role role;
    enum ridge_fill fill;
    double scale;
    double (*count)(const int64_t *dim); /* elements; double, so that absurd shapes do not overflow */
};

/* An element passes when |out - ref| <= rel * |ref| + mag_rel * mag, where mag is what the reference
 * returns beside ref (for sums of products: the sum of absolute products). Exact: both 0. */
struct ridge_tolerance {
    double rel, mag_rel;
    const char *source;
};

struct ridge_family {
    const char *problem; /* one line, with layouts */
    int axes;
    struct ridge_axis axis[RIDGE_MAX_AXES];
    int buffers;
    struct ridge_buffer buffer[RIDGE_MAX_BUFFERS];
    const struct ridge_shape *shape; /* `shapes` presets */
    int shapes;
    const int64_t (*check_dim)[RIDGE_MAX_AXES]; /* small shapes, odd sizes included, for the C reference */
    int check_dims;
    const char *const *cases; /* names of hard inputs beside "random"; NULL-terminated or NULL */
    struct ridge_tolerance tolerance;

    /* Further rules on a shape: NULL or a message naming axis, value and rule. May be NULL. */
    const char *(*shape_error)(const int64_t *dim);
    /* Fills the CUSTOM buffers, in host memory. `hard` is 0 for random inputs: then it looks at no other buffer,
     * which may be NULL; and i + 1 for cases[i]: then the other buffers are filled, and it may rewrite any input.
     * May be NULL. */
    void (*fill)(const int64_t *dim, int hard, uint64_t seed, void *const *buffer);
    /* C17 reference in double precision. For the i-th OUTPUT or INOUT buffer (in buffer order) writes
     * count elements to ref[i] and mag[i]. Inputs are host memory; INOUT holds the original values. */
    void (*reference)(const int64_t *dim, void *const *buffer, double *const *ref, double *const *mag);
    /* Useful work of one launch; *work arrives zeroed. */
    void (*work)(const int64_t *dim, struct ridge_work *work);
    /* Columns of an output's rows, for maximum errors per 128 x 128 tile; 0 or NULL: 16384 elements a tile. */
    int64_t (*output_columns)(const int64_t *dim);
};

/* The family's reference for large shapes, on the GPU: FP32 products, compensated FP32 sums, checked itself
 * against the C reference. Device pointers; found as kernels/<family>/<family>_reference.cu, which defines
 * `ridge_reference_<family>`. For 32-bit integer outputs ref[i] holds the integer's bits, and the comparison is exact.
 * Returns like launch. */
typedef int (*ridge_reference_fn)(const struct ridge_call *call, float *const *ref, float *const *mag);

struct ridge_variant {
    const char *idea;    /* one line */
    const char *source;  /* paper, file, equation; "" if elementary */
    const char *changes; /* against the variant before; "" for the first */
    enum ridge_kind kind;
    int min_cc;          /* CUDA: 80, 90 (90 is compiled for sm_90a only) */
    bool may_differ;     /* results may differ bitwise between launches (atomics) */
    bool ladder_break;   /* not a step of the ladder: no speed-up over the one before is reported */
    size_t offset_bytes[RIDGE_MAX_BUFFERS]; /* added to a buffer's 256-byte aligned address */

    /* NULL or the reason why this shape or device is not supported (a skip, not an error). May be NULL. */
    const char *(*unsupported)(const int64_t *dim, const struct ridge_device *device);
    /* Issued work where it differs from useful work; *work arrives holding the useful work. May be NULL. */
    void (*issued)(const int64_t *dim, const struct ridge_device *device, struct ridge_work *work);
    size_t (*workspace_bytes)(const int64_t *dim, const struct ridge_device *device); /* may be NULL */
    /* Untimed, once per shape: attributes, handles, heuristics; stores *state. Same return as launch. May be NULL. */
    int (*setup)(struct ridge_call *call, void **state);
    void (*teardown)(void *state);
    /* What setup chose, for the record ("algorithm 7 of 16, 128x256"); may be NULL or return "". */
    const char *(*describe)(void *state);
    /* The timed work: enqueue on call->stream (CUDA), capturable in a graph, or compute (host).
     * Returns 0, or nonzero with call->error naming argument, value and rule; nothing was launched then. */
    int (*launch)(const struct ridge_call *call);
    /* Plans worth timing for a shape (tile, cluster, stages and so on, in one word), complete and different; each is
     * good as device->plan, which setup obeys or refuses, and `issued` and workspace_bytes follow. Writes at most `max`,
     * the first of them what the variant takes without a plan, and returns how many. NULL: nothing to choose. */
    int (*plans)(const int64_t *dim, const struct ridge_device *device, char (*plan)[RIDGE_PLAN_BYTES], int max);
    /* The main kernel, for registers, shared memory and local memory in the record; CUDA only, may be NULL. */
    const void *kernel;
};

/* One row of the generated table and of a plugin's. Strings are the file-name parts. */
struct ridge_entry {
    const char *family; /* "gemm_f32" */
    const char *label;  /* "04_async_copy" */
    const char *file;
    const struct ridge_family *problem;
    const struct ridge_variant *variant;
    ridge_reference_fn reference; /* GPU reference of the family, or NULL */
};

/* A plugin exports `const struct ridge_plugin ridge_plugin`. */
struct ridge_plugin {
    int abi_version; /* first in the struct in every version */
    int entries;
    const struct ridge_entry *entry;
};

#ifdef __cplusplus
}
#endif

#endif
