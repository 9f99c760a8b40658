// Emitted by cutune for NVIDIA H200.
#include <stdio.h>

// CUTUNE=verbose: one line per new decision.
static inline void cutune_print_decision(const char *kernel, const char *extents,
                                         const cutune_request &asked, dim3 chosen)
{
    if (!cutune_is_verbose()) return;
    fprintf(stderr, "cutune: %s, %lld x %lld x %lld %s: block %ux%ux%u -> %ux%ux%u\n", kernel,
            asked.extent[0], asked.extent[1], asked.extent[2], extents, asked.block.x,
            asked.block.y, asked.block.z, chosen.x, chosen.y, chosen.z);
}


static const float cutune_add_class_of_n[32] = {
    0, 5, 4, 6, 3, 7, 4, 7, 2, 8, 4, 6, 3, 7, 4, 7, 1, 8, 4, 8, 3, 9, 4, 7, 2, 8, 4, 8, 3, 9, 4, 10
};
static const unsigned char cutune_add_of_block_x[52] = {
    0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5,
    5, 5, 5, 5, 6, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 9, 9, 10, 10
};
static const unsigned char cutune_add_of_block_y[52] = {
    5, 6, 7, 8, 9, 10, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 7, 8, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 0, 1,
    2, 3, 4, 5, 0, 1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2, 0, 1, 0, 0
};
static const unsigned char cutune_add_of_footprint_x[52] = {
    0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5,
    5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5
};
static const unsigned char cutune_add_of_footprint_y[52] = {
    5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
};
static const double cutune_add_doublings[11] = {5, 6, 7, 8, 9, 10, 4, 3, 2, 1, 0};
static const unsigned char cutune_add_doublings_shape[52] = {
    0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 7, 6, 0, 1, 2, 3, 8, 7, 6, 0, 1, 2, 9, 8, 7, 6, 0, 1, 10, 9,
    8, 7, 6, 0, 10, 9, 8, 7, 6, 10, 9, 8, 7, 10, 9, 8, 10, 9, 10, 10
};
static const unsigned char cutune_add_missed_4_row[11] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const double cutune_add_missed_4[8] = {1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 2, 4};
static const unsigned char cutune_add_missed_4_shape[52] = {
    0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 7, 6,
    0, 1, 2, 3, 7, 6, 0, 1, 2, 7, 6, 0, 1, 7, 6, 0, 7, 6, 7, 7
};
static const unsigned char cutune_add_missed_5_row[11] = {0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3};
static const double cutune_add_missed_5[44] = {
    64, 32, 16, 8, 8, 8, 8, 8, 8, 8, 8, 64, 32, 16, 12, 10, 9, 8.5, 8.25, 8.125, 8.0625, 8.03125,
    64, 32, 20, 14, 11, 9.5, 8.75, 8.375, 8.1875, 8.09375, 8.046875, 64, 36, 22, 15, 11.5, 9.75,
    8.875, 8.4375, 8.21875, 8.109375, 8.0546875
};
static const double cutune_add_load_0[121] = {
    33, 17, 17, 9, 9, 9, 5, 5, 5, 3, 2, 17, 9, 9, 5, 5, 5, 3, 3, 3, 2, 2, 12.1999998f, 6.5999999f,
    6.5999999f, 3.79999995f, 3.79999995f, 3.79999995f, 2.4000001f, 2.4000001f, 2.4000001f, 3, 2,
    12.1999998f, 6.5999999f, 6.5999999f, 3.79999995f, 3.79999995f, 3.79999995f, 3, 3, 3, 3, 2,
    12.1999998f, 6.5999999f, 6.5999999f, 3.9749999f, 3.9749999f, 3.9749999f, 5, 5, 5, 3, 2,
    12.1999998f, 6.7750001f, 6.7750001f, 5, 5, 5, 5, 5, 5, 3, 2, 12.1999998f, 6.7750001f,
    6.7750001f, 4.0625, 4.0625, 4.0625, 4, 4, 4, 3, 2, 12.1999998f, 6.7750001f, 6.7750001f, 4.0625,
    4.0625, 4.0625, 3.0250001f, 3, 3.0250001f, 3, 2, 12.1999998f, 6.5999999f, 6.7750001f,
    3.9749999f, 4.0625, 4.0625, 3, 3, 3, 3, 2, 12.1999998f, 6.7750001f, 6.7750001f, 4.1624999f,
    4.2874999f, 4.1624999f, 3.01250005f, 3, 3, 3, 2, 12.1999998f, 6.5999999f, 6.7750001f, 5, 5, 5,
    5, 5, 5, 3, 2
};
static const unsigned char cutune_add_load_0_shape[52] = {
    0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 4, 5, 5, 5, 5, 6, 7, 8, 6, 6, 6, 9, 9, 9, 9, 9, 9, 10,
    10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10
};
static const unsigned char cutune_add_store_2_row[11] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const double cutune_add_store_2[160] = {
    52.7999992f, 28, 28, 16, 16, 16, 6.5999999f, 6.5999999f, 6.5999999f, 6.5999999f, 4, 4, 4, 4, 4,
    4, 52.7999992f, 28, 28, 16, 16, 16, 6.5999999f, 6.5999999f, 6.5999999f, 6.5999999f, 4.94999981f,
    4.4749999f, 4.4749999f, 4.4749999f, 4.4749999f, 4, 52.7999992f, 28, 28, 16, 16, 16, 7.75, 7.75,
    7.75, 7.75, 6.25, 7, 6.25, 6.25, 6.25, 5.5, 52.7999992f, 28, 28, 16.75, 16.75, 16.75, 10.75,
    9.625, 9.625, 9.625, 7.375, 7.375, 8.5, 7.375, 7.375, 6.25, 52.7999992f, 28.75, 28.75, 17.125,
    17.125, 17.125, 10.5625, 11.875, 10.5625, 10.5625, 7.9375, 7.9375, 7.9375, 9.25, 7.9375, 6.625,
    52.7999992f, 28.75, 28.75, 17.125, 17.125, 17.125, 10.5625, 10.75, 10.5625, 10.5625, 7.9375,
    7.9375, 7.9375, 8.5, 7.9375, 6.625, 52.7999992f, 28.75, 28.75, 17.125, 17.125, 17.125, 10.5625,
    10.375, 10.5625, 10.5625, 7.9375, 7.9375, 7.9375, 8.125, 7.9375, 6.625, 52.7999992f, 28, 28.75,
    16.75, 17.125, 17.125, 10.5625, 10.375, 10.5625, 10.5625, 7.9375, 7.9375, 7.9375, 7.75, 7.9375,
    6.625, 52.7999992f, 28.75, 28.75, 17.125, 17.875, 17.125, 10.5625, 10.75, 10, 10.5625, 7.9375,
    7.9375, 7.9375, 7.375, 7.9375, 6.625, 52.7999992f, 28, 28.75, 18.25, 16, 17.125, 10.5625,
    11.875, 9.25, 10.5625, 7.9375, 7.9375, 7.9375, 6.625, 7.9375, 6.625
};
static const unsigned char cutune_add_store_2_shape[52] = {
    0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 4, 5, 5, 5, 5, 6, 7, 8, 9, 9, 9, 10, 11, 12, 13, 14, 14,
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
};
static const double cutune_add_turnover[5] = {0.03125, 0.0625, 0.125, 0.25, 0.5};
static const unsigned char cutune_add_turnover_shape[52] = {
    0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4, 0, 0,
    1, 2, 3, 4, 0, 1, 2, 3, 4, 1, 2, 3, 4, 2, 3, 4, 3, 4, 4, 4
};
static const double cutune_add_share[2] = {0.03125, 0.015625};
static const unsigned char cutune_add_share_shape[52] = {
    0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
};
static const double cutune_add_each_block_x[12] = {
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024
};
static const double cutune_add_each_footprint_x[6] = {1, 2, 4, 8, 16, 32};
static const double cutune_add_warps[52] = {
    1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16,
    32, 1, 2, 4, 8, 16, 32, 2, 4, 8, 16, 32, 4, 8, 16, 32, 8, 16, 32, 16, 32, 32, 32
};
static const double cutune_add_wave[52] = {
    4224, 4224, 2112, 1056, 528, 264, 4224, 4224, 2112, 1056, 528, 264, 4224, 4224, 2112, 1056, 528,
    264, 4224, 4224, 2112, 1056, 528, 264, 4224, 4224, 2112, 1056, 528, 264, 4224, 4224, 2112, 1056,
    528, 264, 4224, 2112, 1056, 528, 264, 2112, 1056, 528, 264, 1056, 528, 264, 528, 264, 264, 264
};
static inline void cutune_model_add(
    long long cutune_whole_size_n,
    long long cutune_whole_size_m,
    long long cutune_whole_extent_x,
    long long cutune_whole_extent_y,
    long long cutune_whole_extent_z,
    double *cutune_time, double *cutune_time_with_floor)
{
    const double cutune_size_n = (double)cutune_whole_size_n;
    const double cutune_size_m = (double)cutune_whole_size_m;
    const double cutune_extent_x = (double)cutune_whole_extent_x;
    const double cutune_extent_y = (double)cutune_whole_extent_y;
    (void)cutune_whole_extent_z;
    // threads that work
    const double cutune_working = cutune_maximum(1.0, ((1.0 * cutune_size_m) * cutune_size_n));
    // executions of group 0 per thread that works
    const double cutune_trips_0 = (cutune_maximum(0.0, ((1.0 * cutune_size_m) * cutune_size_n)) / cutune_working);
    // dependent load steps per thread
    const double cutune_steps = (cutune_maximum(0.0, ((1.0 * cutune_size_m) * cutune_size_n)) / cutune_working);
    // bytes between the ends of array 0
    const double cutune_array_bytes_0 = cutune_maximum(0.0, (4.0 * cutune_size_n));
    // 1 where array 0 is served from below L1
    const double cutune_far_0 = cutune_less(32768.0, cutune_array_bytes_0);
    // bytes between the ends of array 1
    const double cutune_array_bytes_1 = cutune_maximum(0.0, ((4.0 * cutune_size_m) * cutune_size_n));
    // 1 where array 1 is served from below L1
    const double cutune_far_1 = cutune_less(32768.0, cutune_array_bytes_1);
    // alignment class of the sizes: which rows of the tables hold
    const double cutune_alignment_class = ((0.0 * 11.0) + (double)cutune_add_class_of_n[(int)cutune_remainder(cutune_size_n, 32.0)]);
    // bytes that miss L1, with a typical block
    const double cutune_missed_bytes = cutune_maximum(1.0, (cutune_working * ((0.0 + (4.0 * cutune_trips_0)) + (8.21875 * cutune_trips_0))));
    // bytes between the ends of all arrays
    const double cutune_extent_bytes = cutune_maximum(1.0, ((0.0 + cutune_array_bytes_0) + cutune_array_bytes_1));
    // bytes that are touched at all
    const double cutune_footprint_bytes = cutune_minimum(cutune_extent_bytes, cutune_missed_bytes);
    // bytes that are read and written once each
    const double cutune_traffic_bytes = ((((0.0 + (1.0 * cutune_array_bytes_0)) + (2.0 * cutune_array_bytes_1)) * cutune_footprint_bytes) / cutune_extent_bytes);
    // share of the traffic that goes to DRAM
    const double cutune_dram_share = cutune_minimum(1.0, cutune_maximum(0.0, (((cutune_footprint_bytes / 62914560.0) - 0.3441) / 0.1496)));
    // microseconds of DRAM
    const double cutune_dram_us = ((cutune_dram_share * cutune_traffic_bytes) / (4814000.0 * 0.9319));
    // share of the misses of L1 that go to DRAM
    const double cutune_dram_misses = (cutune_dram_share * cutune_minimum(1.0, (cutune_traffic_bytes / cutune_missed_bytes)));
    // what a unit of column 0 counts, per warp
    const double cutune_weight_0 = (1.015 * cutune_trips_0);
    // cycles of loads that are the same for any block
    const double cutune_load_fixed = (0.0 + ((0.2282 * 3.0) * cutune_trips_0));
    // what a unit of column 2 counts, per warp
    const double cutune_weight_2 = (1.915 * cutune_trips_0);
    const double cutune_store_fixed = 0.0;  // cycles of stores that are the same for any block
    // what a unit of column 4 counts, per warp
    const double cutune_weight_4 = (1.0 * cutune_trips_0);
    // sectors of array 0 that miss L1 with any block, per warp
    const double cutune_missed_0_fixed = 0.0;
    // sectors of array 0 per warp if each SM reads it once
    const double cutune_once_0 = cutune_choice(cutune_less_equal(cutune_array_bytes_0, 262144.0), (cutune_array_bytes_0 / cutune_working), 1000000000000.0);
    // cycles per sector of array 0 that misses L1
    const double cutune_far_cycles_0 = (0.6826 * cutune_far_0);
    // what a unit of column 5 counts, per warp
    const double cutune_weight_5 = (1.0 * cutune_trips_0);
    // sectors of array 1 that miss L1 with any block, per warp
    const double cutune_missed_1_fixed = 0.0;
    // sectors of array 1 per warp if each SM reads it once
    const double cutune_once_1 = cutune_choice(cutune_less_equal(cutune_array_bytes_1, 262144.0), (cutune_array_bytes_1 / cutune_working), 1000000000000.0);
    // cycles per sector of array 1 that misses L1
    const double cutune_far_cycles_1 = (0.6826 * cutune_far_1);
    // issue slots per thread
    const double cutune_slots = (cutune_maximum(0.0, ((16.0 * cutune_size_m) * cutune_size_n)) / cutune_working);
    // barriers per thread
    const double cutune_barriers = (cutune_maximum(0.0, 0.0) / cutune_working);
    // cycles of issue and arithmetic units per warp of a full block
    const double cutune_issue_cycles = cutune_norm_3(cutune_maximum(0.001, (cutune_slots / 3.358)), cutune_maximum(0.001, ((0.532 * (cutune_maximum(0.0, 0.0) / cutune_working)) + (2.128 * (cutune_maximum(0.0, 0.0) / cutune_working)))));
    // cycles of issue and arithmetic units per warp
    const double cutune_warp_issue_cycles = (cutune_issue_cycles * 1.0);
    // cycles of a warp alone: start, instructions, barriers
    const double cutune_latency_fixed = (396.2 + ((3.742 * cutune_slots) + (21.17 * cutune_barriers)));
    // cycles of a miss of L1
    const double cutune_miss_latency = (277.8 + (384.8 * cutune_dram_misses));
    // cycles of a warp alone: load steps
    const double cutune_steps_latency = (57.77 * cutune_steps);
    // loss where a block ends and the next one begins
    const double cutune_turnover_loss = (0.336 + (cutune_dram_share * 0.9125));
    const double *const cutune_row_0 = cutune_add_missed_4 + 8 * cutune_add_missed_4_row[(int)cutune_alignment_class];
    const double *const cutune_row_1 = cutune_add_missed_5 + 11 * cutune_add_missed_5_row[(int)cutune_alignment_class];
    const double *const cutune_row_2 = cutune_add_load_0 + 11 * (int)cutune_alignment_class;
    const double *const cutune_row_3 = cutune_add_store_2 + 16 * cutune_add_store_2_row[(int)cutune_alignment_class];
    double cutune_part_0[12];
    for (int k = 0; k < 12; k += CUTUNE_LANES) {
        const cutune_lanes cutune_block_x = cutune_load(cutune_add_each_block_x + k);
        cutune_store(cutune_part_0 + k, (1.0 * cutune_ceiling((cutune_extent_x / cutune_block_x))));
    }
    double cutune_part_1[12];
    for (int k = 0; k < 12; k += CUTUNE_LANES) {
        const cutune_lanes cutune_block_y = cutune_load(cutune_add_each_block_x + k);
        cutune_store(cutune_part_1 + k, cutune_ceiling((cutune_extent_y / cutune_block_y)));
    }
    double cutune_part_2[6];
    for (int k = 0; k < 6; k += CUTUNE_LANES) {
        const cutune_lanes cutune_footprint_x = cutune_load(cutune_add_each_footprint_x + k);
        cutune_store(cutune_part_2 + k, (1.0 * cutune_ceiling((cutune_extent_x / cutune_footprint_x))));
    }
    double cutune_part_3[6];
    for (int k = 0; k < 6; k += CUTUNE_LANES) {
        const cutune_lanes cutune_footprint_y = cutune_load(cutune_add_each_footprint_x + k);
        cutune_store(cutune_part_3 + k, cutune_ceiling((cutune_extent_y / cutune_footprint_y)));
    }
    for (int cutune_index = 0; cutune_index < 52; cutune_index += CUTUNE_LANES) {
        const cutune_lanes cutune_warps = cutune_load(cutune_add_warps + cutune_index);
        const cutune_lanes cutune_wave = cutune_load(cutune_add_wave + cutune_index);
        // blocks that have work
        const cutune_lanes cutune_blocks = (cutune_pick(cutune_part_0, cutune_add_of_block_x + cutune_index) * cutune_pick(cutune_part_1, cutune_add_of_block_y + cutune_index));
        // warps that have work
        const cutune_lanes cutune_active_warps = (cutune_pick(cutune_part_2, cutune_add_of_footprint_x + cutune_index) * cutune_pick(cutune_part_3, cutune_add_of_footprint_y + cutune_index));
        // factor on the cost of memory for blocks of several rows
        const cutune_lanes cutune_rows_factor = (1.0 + (0.02874 * cutune_pick(cutune_add_doublings, cutune_add_doublings_shape + cutune_index)));
        // SMs that have a block
        const cutune_lanes cutune_sms = cutune_minimum(cutune_blocks, cutune_all(132.0));
        // sectors of array 0 that miss L1 per warp of a block that is alone
        const cutune_lanes cutune_alone_0 = (cutune_missed_0_fixed + (0.0 + (cutune_weight_4 * cutune_pick(cutune_row_0, cutune_add_missed_4_shape + cutune_index))));
        // sectors of array 0 that miss L1 per warp
        const cutune_lanes cutune_still_0 = cutune_minimum(cutune_alone_0, (cutune_once_0 * cutune_sms));
        // sectors of array 1 that miss L1 per warp of a block that is alone
        const cutune_lanes cutune_alone_1 = (cutune_missed_1_fixed + (0.0 + (cutune_weight_5 * cutune_pick(cutune_row_1, cutune_add_of_block_x + cutune_index))));
        // sectors of array 1 that miss L1 per warp
        const cutune_lanes cutune_still_1 = cutune_minimum(cutune_alone_1, (cutune_once_1 * cutune_sms));
        // share of these misses that other blocks do not save
        const cutune_lanes cutune_still_missing = (((0.0 + cutune_still_0) + cutune_still_1) / cutune_maximum(cutune_all(0.001), ((0.0 + cutune_alone_0) + cutune_alone_1)));
        // cycles of the load/store unit per warp
        const cutune_lanes cutune_load_cycles = cutune_maximum(cutune_all(0.001), (cutune_load_fixed + (0.0 + (cutune_weight_0 * cutune_pick(cutune_row_2, cutune_add_load_0_shape + cutune_index)))));
        // cycles of the traffic below L1 per warp
        const cutune_lanes cutune_store_cycles = cutune_maximum(cutune_all(0.001), (((cutune_store_fixed + (0.0 + (cutune_weight_2 * cutune_pick(cutune_row_3, cutune_add_store_2_shape + cutune_index)))) + 0.0) + ((0.0 + (cutune_far_cycles_0 * cutune_still_0)) + (cutune_far_cycles_1 * cutune_still_1))));
        // cycles of its SM per warp: memory and issue side by side
        const cutune_lanes cutune_cycles_per_warp = cutune_norm_3((cutune_norm_3(cutune_load_cycles, cutune_store_cycles) * cutune_rows_factor), cutune_all(cutune_warp_issue_cycles));
        const cutune_lanes cutune_blocks_per_sm = (cutune_blocks / 132.0);  // blocks per SM
        // warps that are launched
        const cutune_lanes cutune_launched_warps = (cutune_blocks * cutune_warps);
        // of them, those that have work
        const cutune_lanes cutune_working_warps = cutune_minimum(cutune_active_warps, cutune_launched_warps);
        // warps that an SM works off, idle ones for less
        const cutune_lanes cutune_warps_on_sm = (((cutune_choice(cutune_less_equal(cutune_blocks, cutune_wave), cutune_ceiling(cutune_blocks_per_sm), (cutune_blocks_per_sm + 0.5)) * cutune_warps) * cutune_working_warps) / ((0.73 * cutune_launched_warps) + (0.27 * cutune_working_warps)));
        // cycles of a warp alone, with its misses
        const cutune_lanes cutune_latency_cycles = (cutune_latency_fixed + (cutune_steps_latency + ((cutune_miss_latency * cutune_rows_factor) * cutune_minimum(cutune_all(cutune_steps), ((0.0 + (cutune_trips_0 * 1.0)) * cutune_still_missing)))));
        // factor on waiting, with the blocks that an SM holds
        const cutune_lanes cutune_turnover_factor = (1.0 + (cutune_turnover_loss * cutune_pick(cutune_add_turnover, cutune_add_turnover_shape + cutune_index)));
        // cycles of an SM that is never idle
        const cutune_lanes cutune_throughput_cycles = (cutune_cycles_per_warp * cutune_warps_on_sm);
        // cycles of an SM that waits for its warps
        const cutune_lanes cutune_waiting_cycles = (((cutune_latency_cycles + cutune_cycles_per_warp) * cutune_maximum(cutune_all(1.0), (cutune_warps_on_sm * cutune_pick(cutune_add_share, cutune_add_share_shape + cutune_index)))) * cutune_turnover_factor);
        // microseconds of the SMs
        const cutune_lanes cutune_busy_us = (cutune_norm_3(cutune_throughput_cycles, cutune_waiting_cycles) * 0.000505050505050505);
        // microseconds of the dispatcher
        const cutune_lanes cutune_dispatch_us = (0.000611 * cutune_blocks);
        // microseconds of the launch
        const cutune_lanes cutune_time_us = (2.99 + cutune_norm_8(cutune_norm_3(cutune_busy_us, cutune_all(cutune_dram_us)), cutune_dispatch_us));
        // microseconds of the launch as the host sees them
        const cutune_lanes cutune_time_with_floor_us = cutune_norm_8(cutune_time_us, cutune_all(4.2));
        cutune_store(cutune_time + cutune_index, cutune_time_us);
        cutune_store(cutune_time_with_floor + cutune_index, cutune_time_with_floor_us);
    }
}
static const unsigned short cutune_add_blocks[153] = {
    1, 32, 1, 1, 64, 1, 1, 128, 1, 1, 256, 1, 1, 512, 1, 1, 1024, 1, 2, 16, 1, 2, 32, 1, 2, 64, 1,
    2, 128, 1, 2, 256, 1, 2, 512, 1, 4, 8, 1, 4, 16, 1, 4, 32, 1, 4, 64, 1, 4, 128, 1, 4, 256, 1, 8,
    4, 1, 8, 8, 1, 8, 16, 1, 8, 32, 1, 8, 64, 1, 8, 128, 1, 16, 2, 1, 16, 4, 1, 16, 8, 1, 16, 16, 1,
    16, 32, 1, 16, 64, 1, 32, 1, 1, 32, 2, 1, 32, 4, 1, 32, 8, 1, 32, 16, 1, 32, 32, 1, 64, 1, 1,
    64, 2, 1, 64, 4, 1, 64, 8, 1, 64, 16, 1, 128, 1, 1, 128, 2, 1, 128, 4, 1, 128, 8, 1, 256, 1, 1,
    256, 2, 1, 256, 4, 1, 512, 1, 1, 512, 2, 1, 1024, 1, 1
};
static const unsigned short cutune_add_bound_ranks[51] = {
    26, 20, 13, 6, 13, 20, 25, 19, 12, 5, 12, 19, 24, 18, 11, 4, 11, 18, 23, 17, 10, 3, 10, 17, 22,
    16, 9, 2, 9, 16, 21, 15, 8, 1, 8, 15, 14, 7, 0, 7, 14, 8, 1, 8, 15, 2, 9, 16, 10, 17, 18
};
static const unsigned short cutune_add_ranks[51] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
};
static inline int cutune_choose_add(const double *cutune_time,
    const double *cutune_time_with_floor, const unsigned char *cutune_valid,
    int cutune_own)
{
    double cutune_best = 1e300;
    for (int c = 0; c < 51; ++c) {
        const double cutune_here = cutune_valid[c] ? cutune_time_with_floor[c] : 1e300;
        cutune_best = cutune_here < cutune_best ? cutune_here : cutune_best;
    }
    if (cutune_own >= 0 && cutune_valid[cutune_own]) {
        const double cutune_own_band = 1.02;
        const double cutune_enough = cutune_best * cutune_own_band;
        if (cutune_time_with_floor[cutune_own] <= cutune_enough) return cutune_own;
    }
    const bool cutune_bound = cutune_best < 5.46;
    const double cutune_limit = cutune_best * (cutune_bound ? 1.01 : 1.005);
    const unsigned short *cutune_rank = cutune_bound ? cutune_add_bound_ranks : cutune_add_ranks;
    int cutune_chosen = -1;
    for (int c = 0; c < 51; ++c) {
        if (!cutune_valid[c] || !(cutune_time_with_floor[c] <= cutune_limit)) continue;
        if (cutune_chosen < 0 || cutune_rank[c] < cutune_rank[cutune_chosen] || (cutune_rank[c] == cutune_rank[cutune_chosen] && cutune_time[c] < cutune_time[cutune_chosen])) {
            cutune_chosen = c;
        }
    }
    return cutune_chosen;
}
static const unsigned short cutune_add_width_x[11] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const unsigned short cutune_add_width_z[1] = {1};
static inline cutune_configuration cutune_decide_add(
    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)
{
    cutune_configuration cutune_answer = {cutune_asked->grid, cutune_asked->block};
    if (~cutune_asked->integers & 3ull) return cutune_answer;
    if (cutune_asked->extent[2] != 1) return cutune_answer;
    if (cutune_asked->smem != 0u) return cutune_answer;
    const long long cutune_key[7] = {
        cutune_asked->guarded,
        (cutune_asked->block.x << 20) + (cutune_asked->block.y << 8) + cutune_asked->block.z,
        cutune_asked->extent[0], cutune_asked->extent[1], cutune_asked->extent[2],
        cutune_asked->arguments[0],
        cutune_asked->arguments[1],
    };
    if (cutune_list != nullptr) {
        cutune_list->key = cutune_hash("add", cutune_key, 7);
    }
    for (int i = 2; i < 7; ++i) {
        if (cutune_key[i] < 1 || cutune_key[i] > 2147483648ll) return cutune_answer;
    }
    unsigned char cutune_fits_x[11];
    int cutune_own_x = -1;
    for (int w = 0; w < 11; ++w) {
        const unsigned cutune_width = cutune_add_width_x[w];
        cutune_fits_x[w] = cutune_width == cutune_asked->block.x ? 1 : 0;
        if (cutune_width == cutune_asked->block.x) cutune_own_x = w;
        else if ((cutune_asked->guarded >> 0 & 1u) != 0 ||
                 static_cast<unsigned>(cutune_asked->extent[0]) % cutune_width == 0)
            cutune_fits_x[w] = cutune_asked->extent[0] <=
                2147483647ll * cutune_width ? 1 : 0;
    }
    unsigned char cutune_fits_y[11];
    int cutune_own_y = -1;
    for (int w = 0; w < 11; ++w) {
        const unsigned cutune_width = cutune_add_width_x[w];
        cutune_fits_y[w] = cutune_width == cutune_asked->block.y ? 1 : 0;
        if (cutune_width == cutune_asked->block.y) cutune_own_y = w;
        else if ((cutune_asked->guarded >> 1 & 1u) != 0 ||
                 static_cast<unsigned>(cutune_asked->extent[1]) % cutune_width == 0)
            cutune_fits_y[w] = cutune_asked->extent[1] <=
                65535ll * cutune_width ? 1 : 0;
    }
    unsigned char cutune_fits_z[1];
    int cutune_own_z = -1;
    for (int w = 0; w < 1; ++w) {
        const unsigned cutune_width = cutune_add_width_z[w];
        cutune_fits_z[w] = cutune_width == cutune_asked->block.z ? 1 : 0;
        if (cutune_width == cutune_asked->block.z) cutune_own_z = w;
    }
    unsigned char cutune_valid[51];
    int cutune_own = -1;
    for (int c = 0; c < 51; ++c) {
        const int cutune_x = cutune_add_of_block_x[c];
        const int cutune_y = cutune_add_of_block_y[c];
        const int cutune_z = 0;
        cutune_valid[c] = (cutune_fits_x[cutune_x] & cutune_fits_y[cutune_y] & cutune_fits_z[cutune_z]) != 0 ? 1 : 0;
        if (cutune_x == cutune_own_x && cutune_y == cutune_own_y && cutune_z == cutune_own_z) cutune_own = c;
    }
    if (cutune_needs_warps(*cutune_asked->site, *cutune_asked)) {
        for (int c = 0; c < 51; ++c)
            if (c != cutune_own && !cutune_keeps_warps(cutune_asked->block,
                                    cutune_block_at(cutune_add_blocks, c)))
                cutune_valid[c] = 0;
    }
    double cutune_time[52], cutune_time_with_floor[52];
    cutune_model_add(cutune_key[5], cutune_key[6], cutune_asked->extent[0], cutune_asked->extent[1], cutune_asked->extent[2], cutune_time, cutune_time_with_floor);
    const int cutune_chosen = cutune_choose_add(
        cutune_time, cutune_time_with_floor, cutune_valid, cutune_own);
    if (cutune_chosen >= 0) {
        cutune_answer.block = cutune_block_at(cutune_add_blocks, cutune_chosen);
    }
    if (cutune_list != nullptr) {
        cutune_list_blocks(cutune_list, cutune_time_with_floor, cutune_valid,
                           cutune_add_blocks, 51, cutune_chosen, cutune_own,
                           5.46);
        return cutune_answer;
    }
    cutune_print_decision("add", "threads", *cutune_asked, cutune_answer.block);
    return cutune_answer;
}
enum : unsigned long long { cutune_select_add_arguments = 3ull };
static inline cutune_configuration cutune_select_add(
    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)
{
    const cutune_device cutune_gpu = cutune_current_device();
    if (cutune_gpu.multiprocessors == 132 &&
        cutune_gpu.major == 9 && cutune_gpu.minor == 0)
        return cutune_decide_add(cutune_asked, cutune_list);
    const cutune_configuration cutune_own = {cutune_asked->grid, cutune_asked->block};
    return cutune_own;
}

