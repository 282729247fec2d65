/* SPDX-License-Identifier: Apache-2.0 */
/* One shape of one family on a device: guarded buffers, inputs, and the reference all its variants share. */
#ifndef RIDGE_PROBLEM_H
#define RIDGE_PROBLEM_H

#include "bench/device.h"

enum { PROBLEM_LARGEST_OFFSET = 4096 }; /* of a variant's offset_bytes: the slack around every buffer */

struct problem {
    const struct device_ops *ops;
    const struct ridge_device *device;
    const struct ridge_family *family;
    int64_t dim[RIDGE_MAX_AXES];
    enum fill_mode fill;
    int hard;
    uint64_t seed;
    int64_t count[RIDGE_MAX_BUFFERS]; /* elements */
    size_t bytes[RIDGE_MAX_BUFFERS];
    void *buffer[RIDGE_MAX_BUFFERS];   /* where variants see them */
    void *original[RIDGE_MAX_BUFFERS]; /* of INOUT buffers */
    void *block[RIDGE_MAX_BUFFERS];    /* allocations: guard, slack for offsets, buffer, guard */
    size_t block_bytes[RIDGE_MAX_BUFFERS];
    float *ref[RIDGE_MAX_BUFFERS], *mag[RIDGE_MAX_BUFFERS]; /* on the device, by output; NULL before the reference */
    int outputs;
    uint64_t input_sum; /* of the inputs as filled */
    bool spoiled;       /* a variant wrote into them */
    const char *against; /* "c-reference" or "gpu-reference" */
};

struct check_result {
    bool ok;
    double max_error; /* units of the tolerance */
    double max_abs;
    double rmse[RIDGE_MAX_BUFFERS], ref_rms[RIDGE_MAX_BUFFERS]; /* by buffer: root mean squares of error and reference */
    int64_t tiles;
    bool repeatable;
    const char *against;
    char text[256]; /* what is wrong, "" if nothing */
};

/* Validates the shape, asks for the memory (RIDGE_INVALID naming the bytes when there is too little, before anything
 * is allocated), allocates and fills. `hard`: 0 random, i + 1 the family's i-th hard case. */
int problem_open(struct problem *problem, const struct device_ops *ops, const struct ridge_device *device,
                 const struct ridge_family *family, const int64_t *dim, enum fill_mode fill, int hard, uint64_t seed,
                 struct ridge_error *err);
void problem_close(struct problem *problem);

/* Puts the buffers at the variant's offsets with whole guards, and fills the inputs again where they moved or
 * a variant wrote into them. */
int problem_place(struct problem *problem, const struct ridge_variant *variant, struct ridge_error *err);

/* Sum over all outputs, or over all inputs. */
int problem_checksum(const struct problem *problem, bool outputs, uint64_t *sum, struct ridge_error *err);

/* Computes the reference unless it is there: on the GPU when `gpu` is not NULL, else the family's C reference. */
int problem_reference(struct problem *problem, ridge_reference_fn gpu, struct ridge_error *err);

/* Poisons outputs and restores INOUT buffers. */
int problem_reset(struct problem *problem, struct ridge_error *err);

/* Launches once from a reset state and checks every element of every output and all guards; launches again and
 * compares the bits. Returns a status only if the machinery fails; a wrong result is in *result. */
int problem_check(struct problem *problem, const struct device_task *task, struct check_result *result,
                  struct ridge_error *err);

/* Largest difference between the GPU reference and the C reference, in units of the tolerance. */
int problem_compare_references(struct problem *problem, ridge_reference_fn gpu, double *worst, struct ridge_error *err);

#endif
