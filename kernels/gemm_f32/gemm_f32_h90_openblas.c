/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernel.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* From cblas.h, so that the build does not need it. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

static struct {
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                  const float *b, int ldb, float beta, float *d, int ldd);
    void (*set_num_threads)(int threads);
    char *(*get_corename)(void);
} openblas;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&openblas.sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&openblas.set_num_threads = dlsym(library, "openblas_set_num_threads");
    *(void **)&openblas.get_corename = dlsym(library, "openblas_get_corename");
    loaded = openblas.sgemm && openblas.set_num_threads && openblas.get_corename;
}

static const char *unsupported(const int64_t *dim, const struct ridge_device *device)
{
    (void)dim;
    (void)device;
    pthread_once(&once, load);
    return loaded ? NULL : "OpenBLAS is not installed (libopenblas.so.0; Debian package libopenblas0-pthread)";
}

static int setup(struct ridge_call *call, void **state)
{
    enum { BYTES = 160 };
    const char *core_type = getenv("OPENBLAS_CORETYPE");
    char *text = malloc(BYTES);
    if (!text) {
        snprintf(call->error, call->error_bytes, "out of memory");
        return 1;
    }
    pthread_once(&once, load);
    snprintf(text, BYTES, "OpenBLAS core %s, %d threads%s%s", openblas.get_corename(), omp_get_max_threads(),
             core_type ? ", OPENBLAS_CORETYPE=" : "", core_type ? core_type : "");
    openblas.set_num_threads(omp_get_max_threads());
    *state = text;
    return 0;
}

static const char *describe(void *state)
{
    return state;
}

static int launch(const struct ridge_call *call)
{
    const int m = (int)call->dim[0], n = (int)call->dim[1], k = (int)call->dim[2];
    openblas.sgemm(CBLAS_ROW_MAJOR, CBLAS_NO_TRANS, CBLAS_TRANS, m, n, k, 1, call->buffer[0], k, call->buffer[1], k, 0,
                   call->buffer[2], n);
    return 0;
}

const struct ridge_variant ridge_variant_gemm_f32_h90_openblas = {
    .idea = "OpenBLAS sgemm",
    .source = "OpenBLAS",
    .changes = "vendor library",
    .kind = RIDGE_HOST,
    .unsupported = unsupported,
    .setup = setup,
    .teardown = free,
    .describe = describe,
    .launch = launch,
};
