/* braak15, Tables 3.3 to 3.7 and Fig. 3.11: what is claimed of histograms, with reasons. */
#include "reproduce/voting/histogram_work.h"

/* "8800 GT 2.3 and 9.1 ms": the best configuration of each GPU with what is assumed halved and
 * doubled, over that as usual. */
static void list_changed(const histogram_work *work, bf_voting_method method, bf_text *text) {
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const double *own = work->changed[method][gpu];
    bf_text_addf(text, "%s%s %.2f and %.2f", gpu ? ", " : "", bf_voting_gpus[gpu].title,
                 own[0] / own[1], own[2] / own[1]);
  }
}

/* How much longer the published configurations take than the best ones here, in a table's words. */
static void list_published(const histogram_work *work, bf_voting_method method, bf_text *text) {
  bf_text_puts(text, "as configured there the GPUs take, times ours: ");
  for (unsigned gpu = 0, listed = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const bf_voting_ours *ours = &work->ours[method][gpu];
    if (bf_voting_histogram_tables[method].best[gpu].milliseconds <= 0)
      continue;
    bf_text_addf(text, "%s%s ", listed++ ? ", " : "", bf_voting_gpus[gpu].title);
    if (ours->at_published > 0)
      bf_text_addf(text, "%.2f", ours->at_published / ours->best.milliseconds);
    else
      bf_text_puts(text, "- (our kernel has no room for its own words beside them)");
  }
  bf_text_puts(text, ".");
}

static const char *text_of(const bf_text *text) { return text->failed ? "" : text->data; }

/* ---- Claims ---- */

/* Published times of the 8800 GT with 1, 32 and 512 copies: 100, 22 and 5.88 ms. */
static void claim_global_copies(bf_reproduce_run *run, const histogram_work *work) {
  char why[300];
  snprintf(
      why, sizeof why,
      "in the model additions to one word take the time of its slice, and no more: with one copy "
      "a picture of a single value takes %.1f ms, the most that there is, one of random values "
      "%.1f ms. The published 100 ms are beyond both: additions to one word must wait much "
      "longer for each other there.",
      work->one_value, work->random);
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, 0, BF_VOTING_GLOBAL);
  double one = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 1)->milliseconds;
  double warp = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 32)->milliseconds;
  double most = bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 512)->milliseconds;
  const double published[] = {100, 22, 5.88}, ours[] = {one, warp, most};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, 1, 32 and 512 copies",
                                 .published_list = published,
                                 .ours_list = ours,
                                 .count = 3,
                                 .unit = " ms",
                                 .why = why});
}

/* Section 3.7: GPUs against 0.24 ms of the CPU, by global atomics and in their best way. */
static void claim_cpu(bf_reproduce_run *run, const histogram_work *work) {
  enum { TITAN = 2 };
  unsigned right = 0, best_right = 0;
  double best[BF_VOTING_GPUS];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    best[gpu] = work->ours[0][gpu].best.milliseconds;
    for (unsigned method = 1; method < BF_VOTING_METHODS; method++)
      if (bf_voting_can_count(gpu, method) && work->ours[method][gpu].best.milliseconds < best[gpu])
        best[gpu] = work->ours[method][gpu].best.milliseconds;
    right += (work->ours[BF_VOTING_GLOBAL][gpu].best.milliseconds < 0.24) == (gpu == TITAN);
    best_right += (best[gpu] < 0.24) == (gpu > 0);
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "global atomics against 0.24 ms of a Core i7-4770",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "only the GTX Titan is faster",
                            .published = BF_VOTING_GPUS,
                            .ours = right,
                            .why = "see Table 3.3."},
      "so on %u of %u", right, BF_VOTING_GPUS);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "the best way against 0.24 ms of a Core i7-4770",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all but the 8800 GT are faster",
                            .published = BF_VOTING_GPUS,
                            .ours = best_right,
                            .why = "see Table 3.7."},
      "%.3g, %.3g, %.3g and %.3g ms", best[0], best[1], best[2], best[3]);
}

/* Table 3.2: as many configurations as the limits of Table 2.2 allow, of 32 to as many threads as a
 * block may have and one to eight blocks. */
static void claim_tried(bf_reproduce_run *run) {
  static const unsigned copies[] = {1, 64, 128, 256, 512, 1024};
  static const unsigned threads_of_sm[BF_VOTING_GPUS] = {768, 1536, 2048, 2048};
  static const double published[BF_VOTING_GPUS][6] = {{53, 46, 32, 15, 1, 0},
                                                      {113, 105, 89, 59, 27, 1},
                                                      {140, 132, 116, 84, 41, 2},
                                                      {140, 132, 116, 84, 41, 2}};
  double list[2][BF_VOTING_GPUS * 6];
  unsigned count = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    for (unsigned i = 0; i < 6; i++) {
      unsigned found = 0;
      for (unsigned threads = 32; threads <= bf_voting_gpus[gpu].most_threads; threads += 32)
        for (unsigned blocks = 1; blocks <= 8 && threads >= copies[i]; blocks++)
          found += threads * blocks <= threads_of_sm[gpu];
      list[0][count] = published[gpu][i];
      list[1][count++] = found;
    }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.2, numbers of configurations",
                            .published_list = list[0],
                            .ours_list = list[1],
                            .count = count,
                            .published_text = "24 numbers",
                            .derived = "they follow from the published limits; the 8800 GT has 53 "
                                       "and 46 there, 56 and 48 by its limits, and as published "
                                       "with at most seven blocks."},
      "%.0f and %.0f on the 8800 GT, the others the same", list[1][0], list[1][1]);
}

/* Which layout is best with how many copies in global memory. */
static void claim_layouts_by_copies(bf_reproduce_run *run, const histogram_work *work) {
  enum { NEW = 3 };
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, NEW, BF_VOTING_GLOBAL);
  static const unsigned copies[] = {4, 16, 32, 256};
  unsigned right = 0;
  bf_text found = {0};
  for (unsigned i = 0; i < 4; i++) {
    bf_voting_layout layout =
        bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, copies[i])->choice.layout;
    right += (layout == BF_VOTING_BIN_MAJOR) == (copies[i] >= 16);
    bf_text_addf(&found, "%s%u: %s", i ? ", " : "", copies[i], bf_voting_layout_titles[layout]);
  }
  bf_text why = {0};
  double bin = bf_voting_fastest(&sweeps[BF_VOTING_BIN_MAJOR], 1, 4)->milliseconds;
  double copy = bf_voting_fastest(&sweeps[BF_VOTING_COPY_MAJOR], 1, 4)->milliseconds;
  bf_text_addf(&why, "with four copies %.3f ms bin by bin, %.3f ms copy by copy.", bin, copy);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "GTX 750 Ti, global atomics, best layout by copies",
                                 .rule = BF_CLAIM_ALL,
                                 .published_text = "copy by copy up to 8, bin-major from 16 on",
                                 .published = 4,
                                 .ours = right,
                                 .ours_text = text_of(&found),
                                 .why = text_of(&why)});
  bf_text_free(&found);
  bf_text_free(&why);
}

/* Tables 3.3 to 3.6: what was best there is nearly the best here. */
static void claim_configurations(bf_reproduce_run *run, const histogram_work *work) {
  unsigned all = 0, near = 0;
  bf_text why = {0};
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
      const bf_voting_ours *ours = &work->ours[method][gpu];
      if (!bf_voting_can_count(gpu, method))
        continue;
      bool is_near = ours->at_published > 0 && ours->at_published <= 1.15 * ours->best.milliseconds;
      all++;
      near += is_near;
      if (!is_near)
        bf_text_addf(&why, "%s%s, %s: ", why.size ? "; " : "", bf_voting_gpus[gpu].title,
                     bf_voting_method_titles[method]);
      if (!is_near && ours->at_published > 0)
        bf_text_addf(&why, "%.2f times our best", ours->at_published / ours->best.milliseconds);
      else if (!is_near)
        bf_text_puts(&why, "our kernel does not fit so");
    }
  bf_text_puts(&why, ".");
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Tables 3.3 to 3.6, configurations that are within 15% of the "
                                    "best",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "all are best",
                            .published = all,
                            .ours = near,
                            .why = text_of(&why)},
      "%u of %u", near, all);
  bf_text_free(&why);
}

/* Section 3.9: global atomics of the GPUs, and how far configurations are apart (Fig. 3.11). */
static void claim_spread(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_ours *global = work->ours[BF_VOTING_GLOBAL];
  double spread[BF_VOTING_METHODS][BF_VOTING_GPUS];
  unsigned narrower = 0;
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
      spread[method][gpu] =
          bf_voting_spread(bf_voting_count_sweeps(work, gpu, method), BF_VOTING_LAYOUTS);
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++)
    narrower += spread[method][3] < spread[method][0];
  narrower += spread[BF_VOTING_SHARED][3] < spread[BF_VOTING_SHARED][1];
  char why[300];
  snprintf(
      why, sizeof why,
      "worst over best configuration, of the 8800 GT, or the GTX 470 where that has no atomics, "
      "and of the GTX 750 Ti: global atomics %.1f and %.1f, per thread %.1f and %.1f, per warp "
      "%.1f and %.1f, shared atomics %.1f and %.1f.",
      spread[0][0], spread[0][3], spread[1][0], spread[1][3], spread[2][0], spread[2][3],
      spread[3][1], spread[3][3]);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "global atomics, GTX Titan against 8800 GT",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 45,
                                 .ours = global[0].best.milliseconds / global[2].best.milliseconds,
                                 .unit = " times",
                                 .why = "the times of Table 3.3 that it is made of differ."});
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, worst over best configuration",
                                 .published = 18,
                                 .ours = spread[BF_VOTING_GLOBAL][0],
                                 .unit = " times",
                                 .why = "copies gain little in the model: see the row about 1, 32 "
                                        "and 512 of them, whose published times are 17 times "
                                        "apart."});
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "GTX 750 Ti, global atomics, worst over best configuration",
                            .published = 3,
                            .ours = spread[BF_VOTING_GLOBAL][3],
                            .unit = " times",
                            .why = "the slowest has 32 threads on a multiprocessor, as there."});
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 3.11, times are nearer to each other on newer GPUs",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "for all ways",
                            .published = BF_VOTING_METHODS,
                            .ours = narrower,
                            .why = why},
      "for %u of %d", narrower, BF_VOTING_METHODS);
}

/* Blocks of the fewest threads, as many as fit. */
static void claim_thread(bf_reproduce_run *run, const histogram_work *work) {
  unsigned small = 0, full = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++) {
    const bf_voting_choice *choice = &work->ours[BF_VOTING_THREAD][gpu].best.choice;
    const bf_voting_sweep *sweep = bf_voting_count_sweeps(work, gpu, BF_VOTING_THREAD);
    unsigned most = 0;
    for (unsigned i = 0; i < sweep->count; i++)
      if (sweep->tried[i].choice.threads == choice->threads &&
          sweep->tried[i].choice.blocks_per_sm > most)
        most = sweep->tried[i].choice.blocks_per_sm;
    small += choice->threads == 32;
    full += choice->blocks_per_sm == most;
  }
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "Table 3.4, threads of a block",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "32 on all GPUs",
                                                .published = BF_VOTING_GPUS,
                                                .ours = small,
                                                .must_hold = true},
                          "32 on %u of %u", small, BF_VOTING_GPUS);
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "Table 3.4, blocks",
                                                .rule = BF_CLAIM_ALL,
                                                .published_text = "as many as fit, on all GPUs",
                                                .published = BF_VOTING_GPUS,
                                                .ours = full,
                                                .must_hold = true},
                          "as many as fit on %u of %u", full, BF_VOTING_GPUS);
}

/* Layouts at the published number of copies on the GTX 470, and what holds memory. */
static void claim_shared(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_sweep *sweeps = bf_voting_count_sweeps(work, 1, BF_VOTING_SHARED);
  double bin = bf_voting_fastest(&sweeps[BF_VOTING_BIN_MAJOR], 1, 32)->milliseconds;
  double padded = bf_voting_fastest(&sweeps[BF_VOTING_PADDED], 1, 32)->milliseconds;
  double copy = bf_voting_fastest(&sweeps[BF_VOTING_COPY_MAJOR], 1, 32)->milliseconds;
  const double ranks[] = {1, 2, 3}, found[] = {bin, padded, copy};
  bf_reproduce_claim_addf(run,
                          &(bf_reproduce_claim){.name = "GTX 470, 32 copies in shared memory",
                                                .rule = BF_CLAIM_ORDER,
                                                .published_text =
                                                    "bin-major faster than padded, padded than "
                                                    "copy-major",
                                                .published_list = ranks,
                                                .ours_list = found,
                                                .count = 3,
                                                .must_hold = true},
                          "%.3g, %.3g, %.3g ms", bin, padded, copy);
  double least[2], most[2];
  for (unsigned i = 0; i < 2; i++) {
    least[i] = work->ours[BF_VOTING_SHARED][1 + i].best.milliseconds;
    most[i] = work->held[1 + i];
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){
          .name = "GTX 470 and Titan, shared atomics, memory free or held between the steps of a "
                  "loop",
          .rule = BF_CLAIM_WORDS,
          .published_text = "0.12 and 0.08 ms in between",
          .is_so = least[0] < 0.12 && 0.12 < most[0] && least[1] < 0.08 && 0.08 < most[1],
          .must_hold = true,
          .fitted = "the ends are fourteen times apart: a range so wide was made to hold the "
                    "published times and says little about them."},
      "%.3g to %.3g and %.3g to %.3g ms", least[0], most[0], least[1], most[1]);
}

/* How often way a is faster than way b, on the GPUs that can do both. */
static unsigned count_faster(const histogram_work *work, bf_voting_method a, bf_voting_method b) {
  unsigned count = 0;
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    count += bf_voting_can_count(gpu, a) && bf_voting_can_count(gpu, b) &&
             work->ours[a][gpu].best.milliseconds < work->ours[b][gpu].best.milliseconds;
  return count;
}

/* The factor between global and shared atomics. */
static double gain(const histogram_work *work, unsigned gpu) {
  return work->ours[BF_VOTING_GLOBAL][gpu].best.milliseconds /
         work->ours[BF_VOTING_SHARED][gpu].best.milliseconds;
}

void bf_voting_claim_ways(bf_reproduce_run *run, const histogram_work *work) {
  unsigned fastest = BF_VOTING_GPUS;
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++) {
    unsigned count = count_faster(work, BF_VOTING_SHARED, method);
    fastest = count < fastest ? count : fastest;
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.7, shared atomics",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "fastest on the 3 GPUs that have them",
                            .published = 3,
                            .ours = fastest,
                            .must_hold = true},
      "fastest on %u", fastest);
  if (work->is_quick)
    return;
  const double published[] = {12, 1.6, 11};
  const double gains[] = {gain(work, 1), gain(work, 2), gain(work, 3)};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){
               .name = "Table 3.7, shared against global atomics, GTX 470, Titan, 750 Ti",
               .rule = BF_CLAIM_GAIN,
               .published_list = published,
               .ours_list = gains,
               .count = 3,
               .unit = " times",
               .why = "the order is the published one, but both times of the Titan differ from the "
                      "published: global atomics are slower and shared ones faster here."});
  unsigned private = count_faster(work, BF_VOTING_THREAD, BF_VOTING_WARP);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Table 3.7, per thread (64 bins) against per warp (256)",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "faster on all GPUs",
                            .published = BF_VOTING_GPUS,
                            .ours = private,
                            .why = "see the times of Tables 3.4 and 3.5, and what latencies make "
                                   "of them."},
      "faster on %u of %u", private, BF_VOTING_GPUS);
  double best = work->ours[BF_VOTING_SHARED][3].best.milliseconds;
  bf_reproduce_claim_add(run, &(bf_reproduce_claim){.name = "GTX 750 Ti against 0.24 ms of a Core "
                                                            "i7-4770",
                                                    .rule = BF_CLAIM_GAIN,
                                                    .published = 5,
                                                    .ours = 0.24 / best,
                                                    .unit = " times",
                                                    .must_hold = true});
}

/* Reasons, with what was measured for them. */
typedef struct histogram_reasons {
  bf_text atomics, latency[BF_VOTING_SHARED], configured[BF_VOTING_METHODS];
} histogram_reasons;

static void write_reasons(const histogram_work *work, histogram_reasons *reasons) {
  bf_text_puts(
      &reasons->atomics,
      "how long a slice of the second-level cache takes for an operation is a guess on all "
      "four GPUs: halved and doubled, times take, times those as usual: ");
  list_changed(work, BF_VOTING_GLOBAL, &reasons->atomics);
  bf_text_puts(&reasons->atomics, ".");
  for (unsigned method = BF_VOTING_THREAD; method <= BF_VOTING_WARP; method++) {
    bf_text_puts(&reasons->latency[method],
                 "few warps fit, and they wait for their own results: with the latency of shared "
                 "memory halved and doubled times take, times those as usual: ");
    list_changed(work, (bf_voting_method)method, &reasons->latency[method]);
    bf_text_puts(&reasons->latency[method], ". And ");
    list_published(work, (bf_voting_method)method, &reasons->latency[method]);
  }
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    list_published(work, (bf_voting_method)method, &reasons->configured[method]);
}

static void free_reasons(histogram_reasons *reasons) {
  bf_text_free(&reasons->atomics);
  for (unsigned method = 0; method < BF_VOTING_SHARED; method++)
    bf_text_free(&reasons->latency[method]);
  for (unsigned method = 0; method < BF_VOTING_METHODS; method++)
    bf_text_free(&reasons->configured[method]);
}

void bf_voting_claim_histograms(bf_reproduce_run *run, const histogram_work *work) {
  const bf_voting_table *tables = bf_voting_histogram_tables;
  histogram_reasons reasons = {0};
  write_reasons(work, &reasons);
  claim_tried(run);
  bf_voting_claim_times(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                        text_of(&reasons.atomics));
  bf_voting_claim_order(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL], NULL);
  bf_voting_claim_layouts(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                          text_of(&reasons.configured[BF_VOTING_GLOBAL]));
  bf_voting_claim_copies(run, &tables[BF_VOTING_GLOBAL], work->ours[BF_VOTING_GLOBAL],
                         text_of(&reasons.configured[BF_VOTING_GLOBAL]));
  claim_global_copies(run, work);
  claim_layouts_by_copies(run, work);
  claim_spread(run, work);
  bf_voting_claim_times(run, &tables[BF_VOTING_THREAD], work->ours[BF_VOTING_THREAD],
                        text_of(&reasons.latency[BF_VOTING_THREAD]));
  claim_thread(run, work);
  bf_voting_claim_times(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                        text_of(&reasons.latency[BF_VOTING_WARP]));
  bf_voting_claim_layouts(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                          text_of(&reasons.configured[BF_VOTING_WARP]));
  bf_voting_claim_copies(run, &tables[BF_VOTING_WARP], work->ours[BF_VOTING_WARP],
                         text_of(&reasons.configured[BF_VOTING_WARP]));
  bf_voting_claim_times(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                        "in the model the load/store unit is free between the steps of an atomic's "
                        "loop; a claim below shows both ends.");
  bf_voting_claim_layouts(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED], NULL);
  bf_voting_claim_copies(run, &tables[BF_VOTING_SHARED], work->ours[BF_VOTING_SHARED],
                         text_of(&reasons.configured[BF_VOTING_SHARED]));
  claim_shared(run, work);
  bf_voting_claim_ways(run, work);
  claim_cpu(run, work);
  claim_configurations(run, work);
  bf_voting_claim_sweeps(run, work);
  free_reasons(&reasons);
}
