/* braak15, chapter 4: what is claimed of Hough transforms, with reasons. */
#include "reproduce/voting/hough_work.h"

#include <math.h>
#include <string.h>

/* ---- Claims ---- */

/* How many times faster the best number of copies is than one. */
static double gain_of_copies(const hough_work *work, unsigned gpu, unsigned way) {
  const bf_voting_sweep *sweeps = bf_voting_vote_sweeps(work, gpu, way);
  return bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 1)->milliseconds /
         bf_voting_fastest(sweeps, BF_VOTING_LAYOUTS, 0)->milliseconds;
}

static void claim_copies(bf_reproduce_run *run, const hough_work *work) {
  double old = gain_of_copies(work, 0, GLOBAL);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "8800 GT, global atomics, gain by copies (1.5 to 0.32 s)",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 4.7,
                                 .ours = old,
                                 .unit = " times",
                                 .why = "in the model additions to one word take the time of its "
                                        "slice, and no more: histogram-tables measures it with "
                                        "pictures of one value and of random ones."});
  double fermi = gain_of_copies(work, 1, TWO_STEP), kepler = gain_of_copies(work, 2, TWO_STEP);
  double maxwell = gain_of_copies(work, 3, TWO_STEP);
  const double published[] = {2.3, 2.3, 1.1}, ours[] = {fermi, kepler, maxwell};
  char why[300];
  snprintf(why, sizeof why,
           "with the memory held through the loop of an atomic it is %.2f, %.2f and %.2f; with "
           "points that follow each other in lanes side by side, where a thread of ours takes four "
           "at a time, %.2f, %.2f and %.2f.",
           work->held_gain[1], work->held_gain[2], work->held_gain[3], work->adjacent_gain[1],
           work->adjacent_gain[2], work->adjacent_gain[3]);
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "GTX 470, Titan, 750 Ti, shared atomics, gain by copies",
                                 .rule = BF_CLAIM_GAIN,
                                 .published_list = published,
                                 .ours_list = ours,
                                 .count = 3,
                                 .unit = " times",
                                 .why = why});
}

/* Section 4.3: what GPUs gain with one copy, against the CPU, and where two steps are fastest. */
static void claim_gpus(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_ours *global = work->ours[GLOBAL], *steps = work->ours[TWO_STEP];
  double one[BF_VOTING_GPUS];
  for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
    one[gpu] = bf_voting_fastest(bf_voting_vote_sweeps(work, gpu, GLOBAL), BF_VOTING_LAYOUTS, 1)
                   ->milliseconds;
  const double published[] = {7, 8}, gains[] = {global[0].best.milliseconds / one[1],
                                                global[1].best.milliseconds / one[2]};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "one copy against the best of the GPU before it, GTX 470 "
                                         "and Titan",
                                 .rule = BF_CLAIM_GAIN,
                                 .published_list = published,
                                 .ours_list = gains,
                                 .count = 2,
                                 .unit = " times",
                                 .why = "the times of Table 4.1 that it is made of differ."});
  bf_reproduce_fact(
      run, "global atomics against 14 ms of a Core i7-4770",
      "the 8800 GT is slower, the GTX 470 within 15%, the others faster",
      global[0].best.milliseconds > 14 && fabs(global[1].best.milliseconds / 14 - 1) <= 0.15 &&
          global[2].best.milliseconds < 14 && global[3].best.milliseconds < 14,
      false, "see Table 4.1.", "%.3g, %.3g, %.3g and %.3g ms", global[0].best.milliseconds,
      global[1].best.milliseconds, global[2].best.milliseconds, global[3].best.milliseconds);
  char why[200];
  snprintf(why, sizeof why,
           "the GTX Titan is: with the memory held through the loop of an atomic its votes take "
           "%.1f times as long, those of the 750 Ti, which has no such loop, %.1f times.",
           work->held[2], work->held[3]);
  bf_reproduce_fact(run, "two steps, fastest GPU", "GTX 750 Ti",
                    steps[3].best.milliseconds < steps[1].best.milliseconds &&
                        steps[3].best.milliseconds < steps[2].best.milliseconds,
                    false, why, "%.3g, %.3g and %.3g ms", steps[1].best.milliseconds,
                    steps[2].best.milliseconds, steps[3].best.milliseconds);
}

/* The list of edges, made as the document describes it and by our kernel. */
static void claim_lists(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_listed *titan = &work->listed[2], *maxwell = &work->listed[3];
  const double published[] = {0.45, 0.47}, described[] = {titan->least, maxwell->least};
  const double ours[] = {work->collect_ms[2], work->collect_ms[3]};
  char why[400], why_described[400];
  snprintf(why, sizeof why,
           "a warp of the document tries places of its list until each lane has one; a block of "
           "ours finds them with one sum over its threads. By tries the same edges take %.3g and "
           "%.3g ms, %.1f and %.1f times as long.",
           described[0], described[1], described[0] / ours[0], described[1] / ours[1]);
  snprintf(why_described, sizeof why_described,
           "that is the fastest of nine sizes of blocks and pixels for each thread, which the "
           "document does not give; the slowest takes %.3g and %.3g ms. It is a chain of reads of "
           "what was just written: with shared memory that takes twice as long it is %.3g and "
           "%.3g ms.",
           titan->most, maxwell->most, titan->twice, maxwell->twice);
  bf_reproduce_claim claim = {.name = "list of edges, GTX Titan and 750 Ti",
                              .published_list = published,
                              .ours_list = ours,
                              .count = 2,
                              .unit = " ms",
                              .why = why};
  bf_reproduce_claim_add(run, &claim);
  claim.name = "list of edges as described (Listing 4.3), GTX Titan and 750 Ti";
  claim.ours_list = described;
  claim.why = why_described;
  bf_reproduce_claim_add(run, &claim);
}

/* The factor between global atomics and two steps. */
static double gain(const hough_work *work, unsigned gpu) {
  return work->ours[GLOBAL][gpu].best.milliseconds / work->ours[TWO_STEP][gpu].best.milliseconds;
}

void bf_voting_claim_steps(bf_reproduce_run *run, const hough_work *work) {
  const double published[] = {5.8, 2.8}, ours[] = {gain(work, 1), gain(work, 3)};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){
               .name = "Table 4.3, two steps against global atomics, GTX 470 and 750 Ti",
               .rule = BF_CLAIM_GAIN,
               .published_list = published,
               .ours_list = ours,
               .count = 2,
               .unit = " times",
               .why = "two steps are faster, as published, but by more: see the times of Tables "
                      "4.1 and 4.2, and the reasons there."});
  if (work->is_quick)
    return;
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "Table 4.3, the same on the GTX Titan",
                                 .rule = BF_CLAIM_GAIN,
                                 .published = 1.3 / 1.8,
                                 .ours = gain(work, 2),
                                 .unit = " times",
                                 .why = "the list takes less here, see its row, and global "
                                        "atomics take longer: see the reason of Table 4.1."});
}

/* Fig. 4.10: how far configurations are apart. */
static void claim_spread(bf_reproduce_run *run, const hough_work *work) {
  double old = bf_voting_spread(bf_voting_vote_sweeps(work, 0, GLOBAL), BF_VOTING_LAYOUTS);
  double new = bf_voting_spread(bf_voting_vote_sweeps(work, 3, GLOBAL), BF_VOTING_LAYOUTS);
  double locks = bf_voting_spread(bf_voting_vote_sweeps(work, 1, TWO_STEP), BF_VOTING_LAYOUTS);
  double unit = bf_voting_spread(bf_voting_vote_sweeps(work, 3, TWO_STEP), BF_VOTING_LAYOUTS);
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Fig. 4.10, times are nearer to each other on newer GPUs",
                            .rule = BF_CLAIM_ALL,
                            .published_text = "for both ways",
                            .published = WAYS,
                            .ours = (new < old) + (unit < locks),
                            .why = "worst over best configuration; copies of the 8800 GT gain "
                                   "little in the model."},
      "global %.2f on the 8800 GT, %.2f on the 750 Ti; shared %.2f on the 470, %.2f", old, new,
      locks, unit);
}

/* What eight copies in a layout gain over one, which is the same in all. */
static double by_copies(const bf_voting_sweep *sweeps, bf_voting_layout layout) {
  return bf_voting_fastest(&sweeps[BF_VOTING_BIN_MAJOR], 1, 1)->milliseconds /
         bf_voting_fastest(&sweeps[layout], 1, 8)->milliseconds;
}

/* Section 4.3: what is said of configurations other than the best. */
static void claim_configurations(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_sweep *old = bf_voting_vote_sweeps(work, 0, GLOBAL);
  const bf_voting_sweep *fermi = bf_voting_vote_sweeps(work, 1, GLOBAL);
  const bf_voting_sweep *kepler = bf_voting_vote_sweeps(work, 2, GLOBAL);
  double gain[2] = {by_copies(old, BF_VOTING_COPY_MAJOR), by_copies(fermi, BF_VOTING_COPY_MAJOR)};
  char why[200];
  snprintf(why, sizeof why,
           "additions to one word take the time of its slice in the model, and no more: bin by bin "
           "eight copies gain %.2f and %.2f times.",
           by_copies(old, BF_VOTING_BIN_MAJOR), by_copies(fermi, BF_VOTING_BIN_MAJOR));
  bf_reproduce_fact(run, "global atomics, copies line by line, GTX 470 and 8800 GT (4.3)",
                    "the GTX 470 hardly gains (less than 15%), the 8800 GT does",
                    gain[1] < 1.15 && gain[0] >= 1.15, false, why, "%.2f and %.2f times as fast",
                    gain[1], gain[0]);
  double bin = bf_voting_fastest(&kepler[BF_VOTING_BIN_MAJOR], 1, 0)->milliseconds;
  double line = bf_voting_fastest(&kepler[BF_VOTING_COPY_MAJOR], 1, 0)->milliseconds;
  bf_reproduce_fact(run, "global atomics, GTX Titan, lines one by one against bin-major (4.3)",
                    "worse", line > bin, false, why, "%.3g and %.3g ms", line, bin);
}

/* Section 4.5: a way whose time does not depend on the number of edges. It has not been written for
 * these GPUs; that of gpu/vote was measured on an H200 with 10, 21 and 50% of edges. */
void bf_voting_claim_constant(bf_reproduce_run *run) {
  double least = INFINITY, most = 0, list[2] = {INFINITY, 0};
  for (const char *line = bf_reproduce_data("hough"); line; line = strchr(line, '\n')) {
    double microseconds;
    char method[40];
    line += *line == '\n';
    if (sscanf(line, "Hough Cartesian,%*[^,],%*[^,],%*[^,],%39[^,],%*[^,],%lf", method,
               &microseconds) != 2)
      continue;
    if (strcmp(method, "constant time") == 0) {
      least = fmin(least, microseconds);
      most = fmax(most, microseconds);
    } else {
      list[0] = fmin(list[0], microseconds);
      list[1] = fmax(list[1], microseconds);
    }
  }
  bf_reproduce_claim_addf(
      run,
      &(bf_reproduce_claim){.name = "Section 4.5, the time does not depend on edges (on an H200)",
                            .published = 1,
                            .ours = most / least,
                            .published_text = "the same",
                            .why = "some lines vote pixel by pixel."},
      "%.1f to %.1f us for 10 to 50%% of edges; with a list %.1f to %.1f us", least, most, list[0],
      list[1]);
}

/* Reasons with what was measured for them. */
typedef struct hough_reasons {
  char atomics[400], held[300], configured[WAYS][300];
} hough_reasons;

static void write_reasons(const hough_work *work, hough_reasons *reasons) {
  const double *half = work->halved, *twice = work->doubled;
  snprintf(
      reasons->atomics, sizeof reasons->atomics,
      "how long a slice of the second-level cache, or a memory controller of the 8800 GT, takes "
      "for an operation is a guess on all four GPUs: halved and doubled, times take, times "
      "those as usual: 8800 GT %.2f and %.2f, GTX 470 %.2f and %.2f, Titan %.2f and %.2f, "
      "750 Ti %.2f and %.2f.",
      half[0], twice[0], half[1], twice[1], half[2], twice[2], half[3], twice[3]);
  snprintf(
      reasons->held, sizeof reasons->held,
      "in the model other warps use the memory between the steps of an atomic's loop: where it "
      "is held, votes of the GTX 470 take %.1f times as long, of the Titan %.1f times; and "
      "lists take less than there, see their row.",
      work->held[1], work->held[2]);
  for (unsigned way = 0; way < WAYS; way++) {
    bf_text text = {0};
    for (unsigned gpu = 0; gpu < BF_VOTING_GPUS; gpu++)
      if (bf_voting_can_vote(gpu, way))
        bf_text_addf(&text, "%s%s %.2f", text.size ? ", " : "", bf_voting_gpus[gpu].title,
                     work->ours[way][gpu].at_published / work->ours[way][gpu].best.milliseconds);
    snprintf(reasons->configured[way], sizeof reasons->configured[way],
             "as configured there the GPUs take, times ours: %s.", text.failed ? "" : text.data);
    bf_text_free(&text);
  }
}

void bf_voting_claim_houghs(bf_reproduce_run *run, const hough_work *work) {
  const bf_voting_table *tables = bf_voting_hough_tables;
  hough_reasons reasons;
  write_reasons(work, &reasons);
  bf_voting_claim_times(run, &tables[GLOBAL], work->ours[GLOBAL], reasons.atomics);
  bf_voting_claim_order(run, &tables[GLOBAL], work->ours[GLOBAL], NULL);
  bf_voting_claim_layouts(run, &tables[GLOBAL], work->ours[GLOBAL], NULL);
  bf_voting_claim_copies(run, &tables[GLOBAL], work->ours[GLOBAL], reasons.configured[GLOBAL]);
  bf_voting_claim_times(run, &tables[TWO_STEP], work->ours[TWO_STEP], reasons.held);
  bf_voting_claim_layouts(run, &tables[TWO_STEP], work->ours[TWO_STEP], NULL);
  bf_voting_claim_copies(run, &tables[TWO_STEP], work->ours[TWO_STEP],
                         reasons.configured[TWO_STEP]);
  claim_copies(run, work);
  claim_gpus(run, work);
  claim_lists(run, work);
  claim_spread(run, work);
  claim_configurations(run, work);
  double kepler = work->ours[TWO_STEP][2].best.milliseconds - work->collect_ms[2];
  double maxwell = work->ours[TWO_STEP][3].best.milliseconds - work->collect_ms[3];
  const double published[] = {1.4, 1.2}, votes[] = {kepler, maxwell};
  bf_reproduce_claim_add(
      run, &(bf_reproduce_claim){.name = "votes without the list, GTX Titan and 750 Ti",
                                 .published_list = published,
                                 .ours_list = votes,
                                 .count = 2,
                                 .unit = " ms",
                                 .why = reasons.held});
  bf_voting_claim_steps(run, work);
}
