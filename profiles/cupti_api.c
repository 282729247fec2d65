/* SPDX-License-Identifier: Apache-2.0 */
#ifdef RIDGE_WITH_CUDA
#define _GNU_SOURCE /* dlinfo */
#include "profiles/cupti_api.h"

#include <cuda_runtime_api.h>
#include <cupti_result.h>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cupti_api *injected;

struct entry {
    const char *name;
    size_t offset;
};

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(struct cupti_api, name)                                                                        \
    }
#define ENTRY_COMMA(name) ENTRY(name),
static const struct entry activity_entry[] = {
    ENTRY(cuptiGetResultString),
    ENTRY(cuptiActivityRegisterCallbacks),
    ENTRY(cuptiActivityEnable),
    ENTRY(cuptiActivityDisable),
    ENTRY(cuptiActivityFlushAll),
    ENTRY(cuptiActivityGetNextRecord),
    ENTRY(cuptiActivityGetNumDroppedRecords),
    ENTRY(cuptiActivityPushExternalCorrelationId),
    ENTRY(cuptiActivityPopExternalCorrelationId),
};
static const struct entry counter_entry[] = {CUPTI_COUNTER_CALLS(ENTRY_COMMA)};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int current_context(void **ctx, size_t *device)
{
    int (*get_current)(void **) = NULL;
    enum cudaDriverEntryPointQueryResult found;
    int ordinal = 0;
    int result = cudaGetDevice(&ordinal);
    if (result == cudaSuccess)
        result = cudaFree(NULL); /* makes the primary context current */
    if (result == cudaSuccess)
        result =
            cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void **)&get_current, 4000, cudaEnableDefault, &found);
    if (result == cudaSuccess)
        result = get_current ? get_current(ctx) : cudaErrorSymbolNotFound;
    *device = (size_t)ordinal;
    return result;
}

static int synchronize(void)
{
    return cudaDeviceSynchronize();
}

static void *open_first(const char *const *name)
{
    void *library = NULL;
    for (; *name && !library; name++)
        library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static void *open_any(void)
{
    static const char *const on_path[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL};
    static const char *const pattern[] = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
                                          "/usr/local/cuda/lib64/libcupti.so*", "/usr/local/cuda*/lib/libcupti.so*",
                                          "/usr/local/cuda*/lib64/libcupti.so*",
                                          "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*"};
    void *library = open_first(on_path);
    for (size_t i = 0; i < COUNT(pattern) && !library; i++) {
        glob_t found;
        if (glob(pattern[i], 0, NULL, &found) == 0) {
            library = open_first((const char *const *)found.gl_pathv);
            globfree(&found);
        }
    }
    return library;
}

/* CUPTI opens these two by name; where only CUPTI itself was found by path, the loader would not find them. */
static void open_companions(void *library)
{
    static const char *const name[] = {"libnvperf_host.so", "libnvperf_target.so"};
    char folder[4096], path[4096 + 32];
    if (dlinfo(library, RTLD_DI_ORIGIN, folder) != 0)
        return;
    for (size_t i = 0; i < COUNT(name); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
}

static void load_entries(void *library, const struct entry *entry, size_t count, struct cupti_api *api)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, entry[i].name);
        memcpy((char *)api + entry[i].offset, &function, sizeof function);
    }
}

static const char *first_missing(const struct entry *entry, size_t count, const struct cupti_api *api)
{
    for (size_t i = 0; i < count; i++) {
        void *function;
        memcpy(&function, (const char *)api + entry[i].offset, sizeof function);
        if (!function)
            return entry[i].name;
    }
    return NULL;
}

int cupti_api_load(const char *path, struct cupti_api *api, struct ridge_error *err)
{
    if (!path)
        path = getenv("RIDGE_CUPTI");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : open_any();
    if (!library && path)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "CUPTI library missing: %s", dlerror());
    if (!library)
        return ridge_fail(err, RIDGE_ENVIRONMENT,
                          "CUPTI library missing: no libcupti.so on the loader's path nor under /usr/local/cuda*; "
                          "install the toolkit's CUPTI package or name the file in RIDGE_CUPTI");
    open_companions(library);
    load_entries(library, activity_entry, COUNT(activity_entry), api);
    load_entries(library, counter_entry, COUNT(counter_entry), api);
    api->current_context = current_context;
    api->synchronize = synchronize;
    const char *missing = first_missing(activity_entry, COUNT(activity_entry), api);
    if (missing)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "CUPTI library unusable: %s is not CUPTI, it lacks %s",
                          path ? path : "libcupti.so", missing);
    return RIDGE_OK;
}

const struct cupti_api *cupti_api_get(struct ridge_error *err)
{
    static struct cupti_api loaded;
    static bool done;
    if (injected)
        return injected;
    if (!done && cupti_api_load(NULL, &loaded, err) != RIDGE_OK)
        return NULL;
    done = true;
    return &loaded;
}

void cupti_api_inject(const struct cupti_api *api)
{
    injected = api;
}

int cupti_api_has_counters(const struct cupti_api *api, struct ridge_error *err)
{
    const char *missing = first_missing(counter_entry, COUNT(counter_entry), api);
    if (!missing)
        return RIDGE_OK;
    return ridge_fail(err, RIDGE_ENVIRONMENT,
                      "CUPTI library too old: it lacks %s; the range profiler came with CUDA 12.6", missing);
}

#define HELD                                                                                                           \
    "stop DCGM, Nsight Compute, Nsight Systems or whatever else reads counters on this GPU; "                          \
    "`dcgmi profile --pause` pauses DCGM"

static const struct {
    int result;
    const char *reason;
} reasons[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "counters denied: the driver lets only administrators read them; load the nvidia module with "
     "NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN (in a container --cap-add=SYS_ADMIN)"},
    {CUPTI_ERROR_HARDWARE_BUSY, "profiler held by another tool: " HELD},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "another CUPTI tool is attached to this process; run without Nsight Systems, Nsight Compute or a tracing library"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "no counters on this MIG instance: count on a GPU with MIG off"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
     "no counters on this virtual GPU: profiling is not supported by its vGPU type"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     "counters denied on this virtual GPU: enable profiling for the VM in the vGPU manager (enable_profiling=1)"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "no counters while confidential computing is on"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "no counters on CMP devices"},
    {CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, "no counters on devices in SLI"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "no counters under this version of WSL"},
    {CUPTI_ERROR_NOT_SUPPORTED, "no counters: CUPTI does not support this system or configuration"},
    {CUPTI_ERROR_INVALID_CHIP_NAME, "chip not known to this CUPTI: take the CUPTI of a newer toolkit"},
    {CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI found no memory for its buffers; free memory on the device or the host"},
};

int cupti_fail(struct ridge_error *err, const struct cupti_api *api, int result, const char *call)
{
    const char *text = NULL;
    if (api->cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text)
        text = "unknown result";
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].result == result)
            return ridge_fail(err, RIDGE_ENVIRONMENT, "%s (%s: %s)", reasons[i].reason, call, text);
    if (result == CUPTI_ERROR_UNKNOWN && strncmp(call, "cuptiRangeProfiler", 18) == 0)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s; the profiler may be held by another tool: %s", call, text,
                          HELD);
    return ridge_fail(err, RIDGE_ENVIRONMENT, "%s: %s (%d)", call, text, result);
}
#endif
