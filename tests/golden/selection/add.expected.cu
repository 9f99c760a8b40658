// Emitted by cutune for NVIDIA H200.
static const char cutune_t_class_of_n[] = "#(')&*'*%+')&*'*$+'+&,'*%+'+&,'-";
static const char cutune_of_block_x[] = "######$$$$$$%%%%%%&&&&&&''''''(((((()))))****+++,,--";
static const char cutune_of_block_y[] = "()*+,-'()*+,&'()*+%&'()*$%&'()#$%&'(#$%&'#$%&#$%#$##";
static const char cutune_of_footprint_x[] = "######$$$$$$%%%%%%&&&&&&''''''((((((((((((((((((((((";
static const char cutune_of_footprint_y[] = "((((((''''''&&&&&&%%%%%%$$$$$$######################";
static const char cutune_bound_ranks[] = "=70)07<6/(/6;5.'.5:4-&-493,%,382+$+21*#*1+$+2%,3-45";
static const char cutune_ranks[] = "###################################################";
static const unsigned short cutune_width_x[11] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const unsigned short cutune_width_z[1] = {1};
static const double cutune_values[88] = {
    .015625, 2, 4, 3, 5, 7.9375, 16, .03125, 1, 8, .5, .25, 32, 6.6f, 10.5625, .125, 17.125, .0625,
    4224, 264, 6.775f, 28, 28.75, 52.8f, 528, 12.2f, 1056, 4.0625, 9, 2112, 0, 6.625, 3.8f, 6, 6.25,
    7, 7.375, 7.75, 64, 3.975f, 4.475f, 16.75, 2.4f, 8.5, 9.625, 10, 10.75, 17, 3.025f, 4.1625f,
    8.125, 9.25, 10.375, 11.875, 1024, 3.0125f, 4.2875f, 4.95f, 5.5, 8.03125, 8.046875, 8.0546875,
    8.0625, 8.09375, 8.109375, 8.1875, 8.21875, 8.25, 8.375, 8.4375, 8.75, 8.875, 9.5, 9.75, 11,
    11.5, 12, 14, 15, 17.875, 18.25, 20, 22, 33, 36, 128, 256, 512
};
namespace {
    struct cutune_all_tables {
        cutune_table<1, 52> cutune_doublings{cutune_values,
            "'DF,?P%'DF,?&%'DF,$&%'DF+$&%'DA+$&%'A+$&%A+$&A+$A+AA"};
        cutune_table<1, 52> cutune_missed_4{cutune_values,
            "+-.24*+-.24*+-.24*+-.24*$+-.24%$+-.2%$+-.%$+-%$+%$%%", "###########"};
        cutune_table<4, 52> cutune_missed_5{cutune_values,
            "I/),,,,,,,,I/)k'P?NfUa^I/k,k(k%k#igdb_Ik/k-k)k&k$jhec`", "###$%&&&&&&", "######$$$$$$%%%%%%&&&&&&''''''(((((()))))****+++,,--"};
        cutune_table<11, 52> cutune_load_0{cutune_values,
            "k.RR?\?\?'''&$R?\?'''&&&$$<00CCCMMM&$<00CCC&&&&$<00JJJ'''&$<77''''''&$<77>>>%%%&$<77>>>S&S&$<07J>>&&&&$<77T[TZ&&&$<07''''''&$", nullptr, "######$%%%%%&'(((()*+))),,,,,,----------------------"};
        cutune_table<10, 52> cutune_store_2{cutune_values,
            ":88)))0000%%%%%%:88)))0000\\KKKK%:88)))HHHHEFEEE]:88LLLQOOOGGNGGE:993331X11(((V(B:993331Q11(((N(B:993331W11(((U(B:89L331W11(((H(B:993k*31QP1(((G(B:89k+)31XV1(((B(B", "##$%&'()*+,", "######$%%%%%&'(((()*+,,,-./0112222222222222222222222"};
        cutune_table<1, 52> cutune_turnover{cutune_values,
            "**42.-**42.-**42.-**42.-**42.-**42.-*42.-42.-2.-.---"};
        cutune_table<1, 52> cutune_share{cutune_values,
            "*#####*#####*#####*#####*#####*#####################"};
        cutune_table<1, 12> cutune_each_block_x{cutune_values,
            "+$%,)/Ik0k1k2YY"};
        cutune_table<1, 6> cutune_each_footprint_x{cutune_values,
            "+$%,)/"};
        cutune_table<1, 52> cutune_warps{cutune_values,
            "+$%,)/+$%,)/+$%,)/+$%,)/+$%,)/+$%,)/$%,)/%,)/,)/)///"};
        cutune_table<1, 52> cutune_wave{cutune_values,
            "55@=;655@=;655@=;655@=;655@=;655@=;65@=;6@=;6=;6;666"};
    };
}
static inline const cutune_all_tables &cutune_read_tables() {
    static const cutune_all_tables tables{};
    return tables;
}
static inline void cutune_model_add(
    double cutune_size_n,
    double cutune_size_m,
    double cutune_extent_x,
    double cutune_extent_y,
    double,
    double *cutune_time, double *cutune_time_with_floor)
{
    const cutune_all_tables &cutune_tables = cutune_read_tables();
    // threads that work
    const double cutune_working = cutune_maximum(1., cutune_size_m * cutune_size_n);
    // executions of group 0 per thread that works
    const double cutune_trips_0 = cutune_maximum(0., cutune_size_m * cutune_size_n) / cutune_working;
    // dependent load steps per thread
    const double cutune_steps = cutune_maximum(0., cutune_size_m * cutune_size_n) / cutune_working;
    // bytes between the ends of array 0
    const double cutune_array_bytes_0 = cutune_maximum(0., 4. * cutune_size_n);
    // 1 where array 0 is served from below L1
    const double cutune_far_0 = cutune_less(32768., cutune_array_bytes_0);
    // bytes between the ends of array 1
    const double cutune_array_bytes_1 = cutune_maximum(0., 4. * cutune_size_m * cutune_size_n);
    // 1 where array 1 is served from below L1
    const double cutune_far_1 = cutune_less(32768., cutune_array_bytes_1);
    // alignment class of the sizes: which rows of the tables hold
    const double cutune_alignment_class = cutune_at(cutune_t_class_of_n, cutune_remainder(cutune_size_n, 32.));
    // bytes that miss L1, with a typical block
    const double cutune_missed_bytes = cutune_maximum(1., cutune_working * (4. * cutune_trips_0 + 8.21875 * cutune_trips_0));
    // bytes between the ends of all arrays
    const double cutune_extent_bytes = cutune_maximum(1., cutune_array_bytes_0 + cutune_array_bytes_1);
    // bytes that are touched at all
    const double cutune_footprint_bytes = cutune_minimum(cutune_extent_bytes, cutune_missed_bytes);
    // bytes that are read and written once each
    const double cutune_traffic_bytes = (cutune_array_bytes_0 + 2. * cutune_array_bytes_1) * cutune_footprint_bytes / cutune_extent_bytes;
    // share of the traffic that goes to DRAM
    const double cutune_dram_share = cutune_minimum(1., cutune_maximum(0., (cutune_footprint_bytes / 62914560. - .3441) / .1496));
    // microseconds of DRAM
    const double cutune_dram_us = cutune_dram_share * cutune_traffic_bytes / 4486166.6;
    // share of the misses of L1 that go to DRAM
    const double cutune_dram_misses = cutune_dram_share * cutune_minimum(1., cutune_traffic_bytes / cutune_missed_bytes);
    // what a unit of column 0 counts, per warp
    const double cutune_weight_0 = 1.015 * cutune_trips_0;
    // cycles of loads that are the same for any block
    const double cutune_load_fixed = .6846 * cutune_trips_0;
    // what a unit of column 2 counts, per warp
    const double cutune_weight_2 = 1.915 * cutune_trips_0;
    const double cutune_weight_4 = cutune_trips_0;  // what a unit of column 4 counts, per warp
    // sectors of array 0 per warp if each SM reads it once
    const double cutune_once_0 = cutune_choice(cutune_less_equal(cutune_array_bytes_0, 262144.), cutune_array_bytes_0 / cutune_working, 1000000000000.);
    // cycles per sector of array 0 that misses L1
    const double cutune_far_cycles_0 = .6826 * cutune_far_0;
    const double cutune_weight_5 = cutune_trips_0;  // what a unit of column 5 counts, per warp
    // sectors of array 1 per warp if each SM reads it once
    const double cutune_once_1 = cutune_choice(cutune_less_equal(cutune_array_bytes_1, 262144.), cutune_array_bytes_1 / cutune_working, 1000000000000.);
    // cycles per sector of array 1 that misses L1
    const double cutune_far_cycles_1 = .6826 * cutune_far_1;
    // issue slots per thread
    const double cutune_slots = cutune_maximum(0., 16. * cutune_size_m * cutune_size_n) / cutune_working;
    const double cutune_barriers = cutune_maximum(0., 0.) / cutune_working;  // barriers per thread
    // cycles of issue and arithmetic units per warp of a full block
    const double cutune_issue_cycles = cutune_norm_3(cutune_maximum(.001, cutune_slots / 3.358), cutune_maximum(.001, .532 * (cutune_maximum(0., 0.) / cutune_working) + 2.128 * (cutune_maximum(0., 0.) / cutune_working)));
    // cycles of issue and arithmetic units per warp
    const double cutune_warp_issue_cycles = cutune_issue_cycles;
    // cycles of a warp alone: start, instructions, barriers
    const double cutune_latency_fixed = 396.2 + (3.742 * cutune_slots + 21.17 * cutune_barriers);
    // cycles of a miss of L1
    const double cutune_miss_latency = 277.8 + 384.8 * cutune_dram_misses;
    const double cutune_steps_latency = 57.77 * cutune_steps;  // cycles of a warp alone: load steps
    // loss where a block ends and the next one begins
    const double cutune_turnover_loss = .336 + cutune_dram_share * .9125;
    const double *const cutune_row_0 = cutune_tables.cutune_missed_4[cutune_alignment_class];
    const double *const cutune_row_1 = cutune_tables.cutune_missed_5[cutune_alignment_class];
    const double *const cutune_row_2 = cutune_tables.cutune_load_0[cutune_alignment_class];
    const double *const cutune_row_3 = cutune_tables.cutune_store_2[cutune_alignment_class];
    double cutune_part_0[12];
    for (int k = 0; k < 12; k += CUTUNE_LANES) {
        const cutune_lanes cutune_block_x = cutune_load(cutune_tables.cutune_each_block_x[0] + k);
        cutune_store(cutune_part_0 + k, cutune_ceiling(cutune_extent_x / cutune_block_x));
    }
    double cutune_part_1[12];
    for (int k = 0; k < 12; k += CUTUNE_LANES) {
        const cutune_lanes cutune_block_y = cutune_load(cutune_tables.cutune_each_block_x[0] + k);
        cutune_store(cutune_part_1 + k, cutune_ceiling(cutune_extent_y / cutune_block_y));
    }
    double cutune_part_2[6];
    for (int k = 0; k < 6; k += CUTUNE_LANES) {
        const cutune_lanes cutune_footprint_x = cutune_load(cutune_tables.cutune_each_footprint_x[0] + k);
        cutune_store(cutune_part_2 + k, cutune_ceiling(cutune_extent_x / cutune_footprint_x));
    }
    double cutune_part_3[6];
    for (int k = 0; k < 6; k += CUTUNE_LANES) {
        const cutune_lanes cutune_footprint_y = cutune_load(cutune_tables.cutune_each_footprint_x[0] + k);
        cutune_store(cutune_part_3 + k, cutune_ceiling(cutune_extent_y / cutune_footprint_y));
    }
    for (int cutune_c = 0; cutune_c < 52; cutune_c += CUTUNE_LANES) {
        const cutune_lanes cutune_warps = cutune_load(cutune_tables.cutune_warps[0] + cutune_c);
        const cutune_lanes cutune_wave = cutune_load(cutune_tables.cutune_wave[0] + cutune_c);
        // blocks that have work
        const cutune_lanes cutune_blocks = cutune_pick(cutune_part_0, cutune_of_block_x + cutune_c) * cutune_pick(cutune_part_1, cutune_of_block_y + cutune_c);
        // warps that have work
        const cutune_lanes cutune_active_warps = cutune_pick(cutune_part_2, cutune_of_footprint_x + cutune_c) * cutune_pick(cutune_part_3, cutune_of_footprint_y + cutune_c);
        // factor on the cost of memory for blocks of several rows
        const cutune_lanes cutune_rows_factor = 1. + .02874 * cutune_load(cutune_tables.cutune_doublings[0] + cutune_c);
        // SMs that have a block
        const cutune_lanes cutune_sms = cutune_minimum(cutune_blocks, cutune_all(132.));
        // sectors of array 0 that miss L1 per warp of a block that is alone
        const cutune_lanes cutune_alone_0 = cutune_weight_4 * cutune_load(cutune_row_0 + cutune_c);
        // sectors of array 0 that miss L1 per warp
        const cutune_lanes cutune_still_0 = cutune_minimum(cutune_alone_0, cutune_once_0 * cutune_sms);
        // sectors of array 1 that miss L1 per warp of a block that is alone
        const cutune_lanes cutune_alone_1 = cutune_weight_5 * cutune_load(cutune_row_1 + cutune_c);
        // sectors of array 1 that miss L1 per warp
        const cutune_lanes cutune_still_1 = cutune_minimum(cutune_alone_1, cutune_once_1 * cutune_sms);
        // share of these misses that other blocks do not save
        const cutune_lanes cutune_still_missing = (0. + cutune_still_0 + cutune_still_1) / cutune_maximum(cutune_all(.001), cutune_alone_0 + cutune_alone_1);
        // cycles of the load/store unit per warp
        const cutune_lanes cutune_load_cycles = cutune_maximum(cutune_all(.001), cutune_load_fixed + cutune_weight_0 * cutune_load(cutune_row_2 + cutune_c));
        // cycles of the traffic below L1 per warp
        const cutune_lanes cutune_store_cycles = cutune_maximum(cutune_all(.001), cutune_weight_2 * cutune_load(cutune_row_3 + cutune_c) + (0. + cutune_far_cycles_0 * cutune_still_0 + cutune_far_cycles_1 * cutune_still_1));
        // cycles of its SM per warp: memory and issue side by side
        const cutune_lanes cutune_cycles_per_warp = cutune_norm_3(cutune_norm_3(cutune_load_cycles, cutune_store_cycles) * cutune_rows_factor, cutune_all(cutune_warp_issue_cycles));
        const cutune_lanes cutune_blocks_per_sm = cutune_blocks / 132.;  // blocks per SM
        // warps that are launched
        const cutune_lanes cutune_launched_warps = cutune_blocks * cutune_warps;
        // of them, those that have work
        const cutune_lanes cutune_working_warps = cutune_minimum(cutune_active_warps, cutune_launched_warps);
        // warps that an SM works off, idle ones for less
        const cutune_lanes cutune_warps_on_sm = cutune_choice(cutune_less_equal(cutune_blocks, cutune_wave), cutune_ceiling(cutune_blocks_per_sm), cutune_blocks_per_sm + .5) * cutune_warps * cutune_working_warps / (.73 * cutune_launched_warps + .27 * cutune_working_warps);
        // cycles of a warp alone, with its misses
        const cutune_lanes cutune_latency_cycles = cutune_latency_fixed + (cutune_steps_latency + cutune_miss_latency * cutune_rows_factor * cutune_minimum(cutune_all(cutune_steps), cutune_trips_0 * cutune_still_missing));
        // factor on waiting, with the blocks that an SM holds
        const cutune_lanes cutune_turnover_factor = 1. + cutune_turnover_loss * cutune_load(cutune_tables.cutune_turnover[0] + cutune_c);
        // cycles of an SM that is never idle
        const cutune_lanes cutune_throughput_cycles = cutune_cycles_per_warp * cutune_warps_on_sm;
        // cycles of an SM that waits for its warps
        const cutune_lanes cutune_waiting_cycles = (cutune_latency_cycles + cutune_cycles_per_warp) * cutune_maximum(cutune_all(1.), cutune_warps_on_sm * cutune_load(cutune_tables.cutune_share[0] + cutune_c)) * cutune_turnover_factor;
        // microseconds of the SMs
        const cutune_lanes cutune_busy_us = cutune_norm_3(cutune_throughput_cycles, cutune_waiting_cycles) * .000505050505050505;
        // microseconds of the dispatcher
        const cutune_lanes cutune_dispatch_us = .000611 * cutune_blocks;
        // microseconds of the launch
        const cutune_lanes cutune_time_us = 2.99 + cutune_norm_8(cutune_norm_3(cutune_busy_us, cutune_all(cutune_dram_us)), cutune_dispatch_us);
        // microseconds of the launch as the host sees them
        const cutune_lanes cutune_time_with_floor_us = cutune_norm_8(cutune_time_us, cutune_all(4.2));
        cutune_store(cutune_time + cutune_c, cutune_time_us);
        cutune_store(cutune_time_with_floor + cutune_c, cutune_time_with_floor_us);
    }
}
static inline cutune_configuration cutune_decide_add(
    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)
{
    static const cutune_candidates<char> cutune_all = {
        "add", "threads", {cutune_width_x, cutune_width_x, cutune_width_z},
        {11, 11, 1}, {cutune_of_block_x, cutune_of_block_y, nullptr},
        cutune_bound_ranks, cutune_ranks, 3u, 0u, 5.46, 1.01, 1.005, 1.02, 1.02};
    if ((~cutune_asked->integers & 3ull) != 0 || cutune_asked->extent[2] != 1 || cutune_asked->smem != 0u)
        return cutune_own_configuration(*cutune_asked);
    const long long cutune_sizes[] = {cutune_asked->arguments[0], cutune_asked->arguments[1]};
    if (!cutune_may_ask<2>(cutune_all.kernel, *cutune_asked,
                           cutune_sizes, cutune_list)) return cutune_own_configuration(*cutune_asked);
    double cutune_time[52], cutune_time_with_floor[52];
    cutune_model_add(static_cast<double>(cutune_sizes[0]), static_cast<double>(cutune_sizes[1]), static_cast<double>(cutune_asked->extent[0]), static_cast<double>(cutune_asked->extent[1]), static_cast<double>(cutune_asked->extent[2]), cutune_time, cutune_time_with_floor);
    return cutune_answer<51>(cutune_all, *cutune_asked, cutune_time,
                           cutune_time_with_floor, cutune_list);
}
enum : unsigned long long { cutune_select_add_arguments = 3ull };
static inline cutune_configuration cutune_select_add(
    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)
{
    if (cutune_is_current(132, 9, 0))
        return cutune_decide_add(cutune_asked, cutune_list);
    return cutune_own_configuration(*cutune_asked);
}

