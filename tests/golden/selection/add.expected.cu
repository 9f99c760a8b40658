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
        const double *all_ = cutune_values;
        cutune_table<1, 52> doublings_{all_,
            "'DF,?P%'DF,?&%'DF,$&%'DF+$&%'DA+$&%'A+$&%A+$&A+$A+AA"};
        cutune_table<1, 52> missed_5_{all_,
            "+-.24*+-.24*+-.24*+-.24*$+-.24%$+-.2%$+-.%$+-%$+%$%%", "###########"};
        cutune_table<4, 52> missed_6_{all_,
            "I/),,,,,,,,I/)k'P?NfUa^I/k,k(k%k#igdb_Ik/k-k)k&k$jhec`", "###$%&&&&&&", "######$$$$$$%%%%%%&&&&&&''''''(((((()))))****+++,,--"};
        cutune_table<11, 52> load_0_{all_,
            "k.RR?\?\?'''&$R?\?'''&&&$$<00CCCMMM&$<00CCC&&&&$<00JJJ'''&$<77''''''&$<77>>>%%%&$<77>>>S&S&$<07J>>&&&&$<77T[TZ&&&$<07''''''&$", nullptr, "######$%%%%%&'(((()*+))),,,,,,----------------------"};
        cutune_table<10, 52> store_2_{all_,
            ":88)))0000%%%%%%:88)))0000\\KKKK%:88)))HHHHEFEEE]:88LLLQOOOGGNGGE:993331X11(((V(B:993331Q11(((N(B:993331W11(((U(B:89L331W11(((H(B:993k*31QP1(((G(B:89k+)31XV1(((B(B", "##$%&'()*+,", "######$%%%%%&'(((()*+,,,-./0112222222222222222222222"};
        cutune_table<1, 52> turnover_{all_,
            "**42.-**42.-**42.-**42.-**42.-**42.-*42.-42.-2.-.---"};
        cutune_table<1, 52> share_{all_,
            "*#####*#####*#####*#####*#####*#####################"};
        cutune_table<1, 52> warps_{all_,
            "+$%,)/+$%,)/+$%,)/+$%,)/+$%,)/+$%,)/$%,)/%,)/,)/)///"};
        cutune_table<1, 52> wave_{all_,
            "55@=;655@=;655@=;655@=;655@=;655@=;65@=;6@=;6=;6;666"};
        cutune_table<1, 12> each_block_x_{all_,
            "+$%,)/Ik0k1k2YY"};
        cutune_table<1, 6> each_footprint_x_{all_,
            "+$%,)/"};
    };
}
static inline const cutune_all_tables &cutune_read_tables() {
    static const cutune_all_tables tables{};
    return tables;
}
static inline void cutune_model_add(
    double size_n_,
    double size_m_,
    double extent_x_,
    double extent_y_,
    double,
    double *time_, double *floored_)
{
    const cutune_all_tables &tables_ = cutune_read_tables();
    const double working_ = cutune_max(1., size_m_ * size_n_);  // threads that work
    // executions of group 0 per thread that works
    const double trips_0_ = cutune_max(0., size_m_ * size_n_) / working_;
    // dependent load steps per thread
    const double steps_ = cutune_max(0., size_m_ * size_n_) / working_;
    // bytes between the ends of array 0
    const double array_bytes_0_ = cutune_max(0., 4. * size_n_);
    // 1 where array 0 is served from below L1
    const double far_0_ = cutune_less(32768., array_bytes_0_);
    // bytes between the ends of array 1
    const double array_bytes_1_ = cutune_max(0., 4. * size_m_ * size_n_);
    // 1 where array 1 is served from below L1
    const double far_1_ = cutune_less(32768., array_bytes_1_);
    // alignment class of the sizes: which rows of the tables hold
    const double alignment_class_ = cutune_at(cutune_t_class_of_n, cutune_remainder(size_n_, 32.));
    // bytes that miss L1, with a typical block
    const double missed_bytes_ = cutune_max(1., working_ * (4. * trips_0_ + 8.21875 * trips_0_));
    // bytes between the ends of all arrays
    const double extent_bytes_ = cutune_max(1., array_bytes_0_ + array_bytes_1_);
    // bytes that are touched at all
    const double footprint_bytes_ = cutune_min(extent_bytes_, missed_bytes_);
    // bytes that are read and written once each
    const double traffic_bytes_ = (array_bytes_0_ + 2. * array_bytes_1_) * footprint_bytes_ / extent_bytes_;
    // share of the traffic that goes to DRAM
    const double dram_share_ = cutune_min(1., cutune_max(0., (footprint_bytes_ / 62914560. - .3438) / .1485));
    const double dram_us_ = dram_share_ * traffic_bytes_ / 4488092.2;  // microseconds of DRAM
    // share of the misses of L1 that go to DRAM
    const double dram_misses_ = dram_share_ * cutune_min(1., traffic_bytes_ / missed_bytes_);
    const double weight_0_ = .9866 * trips_0_;  // what a unit of column 0 counts, per warp
    // cycles of loads that are the same for any block
    const double load_fixed_ = 1.0209 * trips_0_;
    const double weight_2_ = 1.926 * trips_0_;  // what a unit of column 2 counts, per warp
    // sectors of array 0 per warp if each SM reads it once
    const double once_0_ = cutune_choice(cutune_less_equal(array_bytes_0_, 262144.), array_bytes_0_ / working_, 1000000000000.);
    const double far_cycles_0_ = .6713 * far_0_;  // cycles per sector of array 0 that misses L1
    // sectors of array 1 per warp if each SM reads it once
    const double once_1_ = cutune_choice(cutune_less_equal(array_bytes_1_, 262144.), array_bytes_1_ / working_, 1000000000000.);
    const double far_cycles_1_ = .6713 * far_1_;  // cycles per sector of array 1 that misses L1
    // issue slots per thread that follow each other
    const double chain_ = cutune_max(0., 15. * size_m_ * size_n_) / working_;
    // issue slots per thread
    const double slots_ = cutune_max(0., 16. * size_m_ * size_n_) / working_;
    // cycles of issue and arithmetic units per warp of a full block
    const double issue_cycles_ = cutune_max(.001, slots_ / 3.342);
    // cycles of issue and arithmetic units per warp
    const double warp_issue_cycles_ = issue_cycles_;
    // cycles of a warp alone: start, instructions, barriers
    const double latency_fixed_ = 432.6 + 3.701 * chain_;
    const double miss_latency_ = 273.7 + 377. * dram_misses_;  // cycles of a miss of L1
    const double steps_latency_ = 59.78 * steps_;  // cycles of a warp alone: load steps
    // loss where a block ends and the next one begins
    const double turnover_loss_ = .2643 + dram_share_ * .9592;
    const double *row_0_ = tables_.missed_5_[alignment_class_];
    const double *row_1_ = tables_.missed_6_[alignment_class_];
    const double *row_2_ = tables_.load_0_[alignment_class_];
    const double *row_3_ = tables_.store_2_[alignment_class_];
    double part_0_[12];
    CUTUNE_EACH(k_, 12) {
        const cutune_lanes block_x_ = cutune_load(tables_.each_block_x_[0] + k_);
        cutune_store(part_0_ + k_, cutune_ceiling(extent_x_ / block_x_));
    }
    double part_1_[12];
    CUTUNE_EACH(k_, 12) {
        const cutune_lanes block_y_ = cutune_load(tables_.each_block_x_[0] + k_);
        cutune_store(part_1_ + k_, cutune_ceiling(extent_y_ / block_y_));
    }
    double part_2_[6];
    CUTUNE_EACH(k_, 6) {
        const cutune_lanes footprint_x_ = cutune_load(tables_.each_footprint_x_[0] + k_);
        cutune_store(part_2_ + k_, cutune_ceiling(extent_x_ / footprint_x_));
    }
    double part_3_[6];
    CUTUNE_EACH(k_, 6) {
        const cutune_lanes footprint_y_ = cutune_load(tables_.each_footprint_x_[0] + k_);
        cutune_store(part_3_ + k_, cutune_ceiling(extent_y_ / footprint_y_));
    }
    double each_[10][52];
    CUTUNE_EACH(c_, 52) {
        // blocks that have work
        const cutune_lanes blocks_ = cutune_pick(part_0_, cutune_of_block_x + c_) * cutune_pick(part_1_, cutune_of_block_y + c_);
        // warps that have work
        const cutune_lanes active_warps_ = cutune_pick(part_2_, cutune_of_footprint_x + c_) * cutune_pick(part_3_, cutune_of_footprint_y + c_);
        // factor on the cost of memory for blocks of several rows
        const cutune_lanes rows_factor_ = 1. + .02228 * cutune_load(tables_.doublings_[0] + c_);
        const cutune_lanes sms_ = cutune_min(blocks_, cutune_all(132.));  // SMs that have a block
        // sectors of array 0 that miss L1 per warp of a block that is alone
        const cutune_lanes alone_0_ = trips_0_ * cutune_load(row_0_ + c_);
        // sectors of array 0 that miss L1 per warp
        const cutune_lanes still_0_ = cutune_min(alone_0_, once_0_ * sms_);
        // sectors of array 1 that miss L1 per warp of a block that is alone
        const cutune_lanes alone_1_ = trips_0_ * cutune_load(row_1_ + c_);
        // sectors of array 1 that miss L1 per warp
        const cutune_lanes still_1_ = cutune_min(alone_1_, once_1_ * sms_);
        // share of these misses that other blocks do not save
        const cutune_lanes still_missing_ = (0. + still_0_ + still_1_) / cutune_max(cutune_all(.001), alone_0_ + alone_1_);
        // cycles of the load/store unit per warp
        const cutune_lanes load_cycles_ = cutune_max(cutune_all(.001), load_fixed_ + weight_0_ * cutune_load(row_2_ + c_));
        // cycles of the traffic below L1 per warp
        const cutune_lanes store_cycles_ = cutune_max(cutune_all(.001), weight_2_ * cutune_load(row_3_ + c_) + (0. + far_cycles_0_ * still_0_ + far_cycles_1_ * still_1_));
        cutune_store(each_[0] + c_, blocks_);
        cutune_store(each_[1] + c_, active_warps_);
        cutune_store(each_[2] + c_, rows_factor_);
        cutune_store(each_[3] + c_, still_missing_);
        cutune_store(each_[4] + c_, load_cycles_);
        cutune_store(each_[5] + c_, store_cycles_);
    }
    CUTUNE_EACH(c_, 52) {
        const cutune_lanes warps_ = cutune_load(tables_.warps_[0] + c_);
        const cutune_lanes wave_ = cutune_load(tables_.wave_[0] + c_);
        const cutune_lanes blocks_ = cutune_load(each_[0] + c_);
        const cutune_lanes active_warps_ = cutune_load(each_[1] + c_);
        const cutune_lanes rows_factor_ = cutune_load(each_[2] + c_);
        const cutune_lanes still_missing_ = cutune_load(each_[3] + c_);
        const cutune_lanes load_cycles_ = cutune_load(each_[4] + c_);
        const cutune_lanes store_cycles_ = cutune_load(each_[5] + c_);
        // cycles of its SM per warp: memory and issue side by side
        const cutune_lanes cycles_per_warp_ = cutune_norm_3(cutune_norm_3(load_cycles_, store_cycles_) * rows_factor_, cutune_all(warp_issue_cycles_));
        const cutune_lanes blocks_per_sm_ = blocks_ / 132.;  // blocks per SM
        // warps that an SM works off, idle ones as well
        const cutune_lanes held_ = cutune_choice(cutune_less_equal(blocks_, wave_), cutune_ceiling(blocks_per_sm_), blocks_per_sm_ + .5) * warps_;
        const cutune_lanes launched_ = blocks_ * warps_;  // warps that are launched
        // of them, those that have work
        const cutune_lanes working_warps_ = cutune_min(active_warps_, launched_);
        // warps that an SM works off, idle ones for less
        const cutune_lanes warps_on_sm_ = held_ * working_warps_ / (.73 * launched_ + .27 * working_warps_);
        // cycles of a warp alone, with its misses
        const cutune_lanes latency_cycles_ = latency_fixed_ + (steps_latency_ + miss_latency_ * rows_factor_ * cutune_min(cutune_all(steps_), trips_0_ * still_missing_));
        // factor on waiting, with the blocks that an SM holds
        const cutune_lanes turnover_factor_ = 1. + turnover_loss_ * cutune_load(tables_.turnover_[0] + c_);
        // cycles of an SM that is never idle
        const cutune_lanes throughput_cycles_ = cycles_per_warp_ * warps_on_sm_;
        // cycles of an SM that waits for its warps
        const cutune_lanes waiting_cycles_ = (latency_cycles_ + cycles_per_warp_) * cutune_max(cutune_all(1.), cutune_max(warps_on_sm_, .73 * held_) * cutune_load(tables_.share_[0] + c_)) * turnover_factor_;
        cutune_store(each_[6] + c_, throughput_cycles_);
        cutune_store(each_[7] + c_, waiting_cycles_);
    }
    CUTUNE_EACH(c_, 52) {
        const cutune_lanes throughput_cycles_ = cutune_load(each_[6] + c_);
        const cutune_lanes waiting_cycles_ = cutune_load(each_[7] + c_);
        // microseconds of the SMs
        const cutune_lanes busy_us_ = cutune_norm_3(throughput_cycles_, waiting_cycles_) * .000505050505050505;
        cutune_store(each_[8] + c_, busy_us_);
    }
    CUTUNE_EACH(c_, 52) {
        const cutune_lanes blocks_ = cutune_load(each_[0] + c_);
        const cutune_lanes busy_us_ = cutune_load(each_[8] + c_);
        const cutune_lanes dispatch_us_ = .0006104 * blocks_;  // microseconds of the dispatcher
        // microseconds of the launch
        const cutune_lanes time_us_ = 2.992 / cutune_less_equal(15.984, slots_) / cutune_less_equal(2.997, 3. * trips_0_) + cutune_norm_8(cutune_norm_3(busy_us_, cutune_all(dram_us_)), dispatch_us_);
        cutune_store(each_[9] + c_, time_us_);
    }
    CUTUNE_EACH(c_, 52) {
        const cutune_lanes time_us_ = cutune_load(each_[9] + c_);
        // microseconds of the launch as the host sees them
        const cutune_lanes time_with_floor_us_ = cutune_norm_8(time_us_, cutune_all(4.2));
        cutune_store(time_ + c_, time_us_);
        cutune_store(floored_ + c_, time_with_floor_us_);
    }
}
static inline cutune_chosen cutune_decide_add(
    const cutune_request *asked_, cutune_shortlist *list_)
{
    static const cutune_candidates<char> cutune_all = {
        "add", "threads", {cutune_width_x, cutune_width_x, cutune_width_z},
        {11, 11, 1}, {cutune_of_block_x, cutune_of_block_y, nullptr},
        cutune_bound_ranks, cutune_ranks, 3u, 0u, 5.46, 1.01, 1.005, 1.03, 1.03};
    const long long sizes_[] = {asked_->arguments[0], asked_->arguments[1]};
    if ((~asked_->integers & 3ull) != 0 || asked_->extent[2] != 1 || asked_->smem != 0u || !cutune_may_ask<2>(cutune_all.kernel, *asked_, sizes_, list_))
        return cutune_only_block(asked_->block);
    double time_[52], floored_[52];
    cutune_model_add(static_cast<double>(sizes_[0]), static_cast<double>(sizes_[1]), static_cast<double>(asked_->extent[0]), static_cast<double>(asked_->extent[1]), static_cast<double>(asked_->extent[2]), time_, floored_);
    return cutune_answer<51>(cutune_all, *asked_, time_,
                           floored_, list_, true);
}
enum : unsigned long long { cutune_select_add_arguments = 3ull };
static inline cutune_chosen cutune_select_add(
    const cutune_request *asked_, cutune_shortlist *list_)
{
    if (cutune_is_current(132, 9, 0))
        return cutune_decide_add(asked_, list_);
    return cutune_only_block(asked_->block);
}

