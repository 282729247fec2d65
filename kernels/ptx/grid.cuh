/* SPDX-License-Identifier: Apache-2.0 */
/* Grids that overlap with the one before: programmatic dependent launch. Sections of PTX ISA 9.0. Without the launch
 * attribute cudaLaunchAttributeProgrammaticStreamSerialization both do nothing. */
#ifndef RIDGE_PTX_GRID_CUH
#define RIDGE_PTX_GRID_CUH

/* 9.7.13.13 (griddepcontrol): the next grid of the stream may start once all CTAs have said so or ended. */
static __device__ __forceinline__ void grid_launch_dependents()
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* 9.7.13.13: until the grid before has ended and its writes are visible to this grid. */
static __device__ __forceinline__ void grid_wait()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

#endif
