/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges around the harness' phases; nothing without the NVTX headers or an attached tool. */
#ifndef RIDGE_NVTX_H
#define RIDGE_NVTX_H

#ifdef RIDGE_WITH_CUDA
#include <nvtx3/nvToolsExt.h>
static inline void range_push(const char *name) { nvtxRangePushA(name); }
static inline void range_pop(void) { nvtxRangePop(); }
#else
static inline void range_push(const char *name) { (void)name; }
static inline void range_pop(void) {}
#endif

#endif
