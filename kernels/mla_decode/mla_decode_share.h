/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work over parts: every part gets an equal share of all requests' key blocks. A request stands for its blocks and
 * MLA_OVERHEAD more, what it costs to begin and to end one; on this line of units part p has [p share, (p + 1) share).
 * C and CUDA, so that it can be tested anywhere.
 */
#ifndef RIDGE_MLA_DECODE_SHARE_H
#define RIDGE_MLA_DECODE_SHARE_H

#include <stdbool.h>

#ifdef __CUDACC__
#define MLA_SHARE_FUNCTION static __host__ __device__ __forceinline__
#else
#define MLA_SHARE_FUNCTION static inline
#endif

enum { MLA_BLOCK_KEYS = 64, MLA_OVERHEAD = 5 };

MLA_SHARE_FUNCTION int mla_blocks(int length)
{
    return (length + MLA_BLOCK_KEYS - 1) / MLA_BLOCK_KEYS;
}

/* Units a part: the average share, or what whole requests of average length need if that is at most a sixteenth more,
 * so that no request of an even batch is cut for little. */
MLA_SHARE_FUNCTION int mla_share(int total, int requests, int parts)
{
    const int share = (total + parts - 1) / parts, average = (total + requests - 1) / requests;
    const int whole = (share + average - 1) / average * average;
    return whole - share <= share / 16 ? whole : share;
}

/* Blocks [first, last) of a request that are a part's. slot: of its partial result, 2 p for a request that part p
 * continues, 2 p + 1 for one that it begins. */
struct mla_bounds {
    int first, last, slot;
    bool whole; /* the request is this part's alone */
    bool mine;  /* something is to be done, if only to say that an empty request is empty */
};

MLA_SHARE_FUNCTION int mla_clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* The part has the units [begin, end); the request of `blocks` blocks starts at unit `start`. */
MLA_SHARE_FUNCTION struct mla_bounds mla_bounds_of(int begin, int end, int start, int blocks, int part)
{
    const int origin = start + MLA_OVERHEAD; /* of block 0 */
    struct mla_bounds bounds;
    bounds.first = mla_clamp(begin - origin, 0, blocks);
    bounds.last = mla_clamp(end - origin, 0, blocks);
    bounds.slot = 2 * part + (bounds.first == 0);
    bounds.whole = bounds.first == 0 && bounds.last == blocks;
    bounds.mine = bounds.last > bounds.first || (blocks == 0 && start >= begin && start < end);
    return bounds;
}

/* The parts that have blocks of the request; more than one: it is cut. */
struct mla_parts {
    int first, last;
};

MLA_SHARE_FUNCTION struct mla_parts mla_parts_of(int start, int blocks, int share)
{
    const int origin = start + MLA_OVERHEAD;
    const struct mla_parts parts = {origin / share, (origin + (blocks > 0 ? blocks - 1 : 0)) / share};
    return parts;
}

/* Slot of the partial result that `part` leaves of a request that begins in part `first`. */
MLA_SHARE_FUNCTION int mla_slot(int part, int first)
{
    return 2 * part + (part == first);
}

#endif
