/* SPDX-License-Identifier: Apache-2.0 */
/* The split of requests' key blocks over parts: everything once, partial results in places of their own, and the
 * combine's view of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/mla_decode/mla_decode_share.h"
#include "kernels/support/fill.h"

enum { MAX_REQUESTS = 40, MAX_PARTS = 140, MAX_BLOCKS = 70 };

struct batch {
    int requests, parts, total, share;
    int blocks[MAX_REQUESTS], start[MAX_REQUESTS];
};

static struct batch batch_of(int requests, int parts, const int *blocks)
{
    struct batch batch = {requests, parts, 0, 0, {0}, {0}};
    for (int i = 0; i < requests; i++) {
        batch.blocks[i] = blocks[i];
        batch.start[i] = batch.total;
        batch.total += blocks[i] + MLA_OVERHEAD;
    }
    batch.share = mla_share(batch.total, requests, parts);
    return batch;
}

static struct mla_bounds bounds_of(const struct batch *batch, int part, int request)
{
    const int begin = part * batch->share, end = begin + batch->share;
    return mla_bounds_of(begin, end < batch->total ? end : batch->total, batch->start[request], batch->blocks[request],
                         part);
}

/* Every block, and every empty request, belongs to one part; a cut request's slots are those that the combine reads. */
static void check(const struct batch *batch)
{
    static unsigned char slot_used[2 * MAX_PARTS];
    memset(slot_used, 0, sizeof slot_used);
    assert_true((int64_t)batch->share * batch->parts >= batch->total);
    for (int r = 0; r < batch->requests; r++) {
        unsigned char seen[MAX_BLOCKS] = {0};
        int owners = 0;
        const struct mla_parts parts = mla_parts_of(batch->start[r], batch->blocks[r], batch->share);
        for (int p = 0; p < batch->parts; p++) {
            const struct mla_bounds bounds = bounds_of(batch, p, r);
            if (!bounds.mine)
                continue;
            owners++;
            for (int i = bounds.first; i < bounds.last; i++)
                seen[i]++;
            if (batch->blocks[r] > 0)
                assert_in_range(p, parts.first, parts.last);
            if (bounds.whole)
                continue;
            assert_int_equal(bounds.slot, mla_slot(p, parts.first));
            assert_in_range(bounds.slot, 0, 2 * batch->parts - 1);
            assert_int_equal(slot_used[bounds.slot]++, 0);
        }
        for (int i = 0; i < batch->blocks[r]; i++)
            assert_int_equal(seen[i], 1);
        assert_int_equal(owners, parts.last - parts.first + 1);
    }
}

static void random_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        int blocks[MAX_REQUESTS];
        const int requests = 1 + (int)(fill_hash(seed, 1) % MAX_REQUESTS);
        const int parts = 1 + (int)(fill_hash(seed, 2) % MAX_PARTS);
        for (int i = 0; i < requests; i++) {
            const uint64_t kind = fill_hash(seed, 10 + (uint64_t)i) % 4;
            blocks[i] = kind == 0 ? 0 : (int)(fill_hash(seed, 100 + (uint64_t)i) % (kind == 1 ? 3 : MAX_BLOCKS));
        }
        const struct batch batch = batch_of(requests, parts, blocks);
        check(&batch);
    }
}

static void even_batches_are_not_cut_for_little(void **state)
{
    (void)state;
    int blocks[MAX_REQUESTS];
    for (int i = 0; i < MAX_REQUESTS; i++)
        blocks[i] = 64;
    const struct batch batch = batch_of(32, 33, blocks); /* 67 units a part on average; a request has 69 */
    check(&batch);
    assert_int_equal(batch.share, 64 + MLA_OVERHEAD);
    for (int r = 0; r < 32; r++)
        assert_true(bounds_of(&batch, r, r).whole);
}

static void one_long_request_is_shared_evenly(void **state)
{
    (void)state;
    const int blocks[1] = {66};
    const struct batch batch = batch_of(1, 12, blocks);
    check(&batch);
    assert_int_equal(batch.share, 6); /* 71 units */
    assert_int_equal(bounds_of(&batch, 0, 0).last, 1);
    assert_int_equal(bounds_of(&batch, 11, 0).last, 66);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_batches),
        cmocka_unit_test(even_batches_are_not_cut_for_little),
        cmocka_unit_test(one_long_request_is_shared_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
