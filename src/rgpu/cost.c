/* Area and power of R-GPU. Area is linear in lanes and in entries of FIFOs; power is energy per
 * event times events. */
#include "rgpu/cost.h"

/* Names of the constants, in the order of the table. */
enum {
  CHIP_AREA,
  CHIP_SMS,
  DATA_FIFOS,
  ADDRESS_FIFOS,
  LANES,
  SLOTS,
  WORD_BITS,
  DATA_FIFO_AREA,
  DATA_ENTRY_AREA,
  ADDRESS_FIFO_AREA,
  ADDRESS_ENTRY_AREA,
  WIRES_AREA,
  MUXES_AREA,
  WIRE_ENERGY,
  WIRE_LENGTH,
  GPU_POWER,
  REGISTER_FILE_POWER,
  DECODE_SHARE,
  DATA_FIFO_ENERGY,
  DATA_ENTRY_ENERGY,
  ADDRESS_FIFO_ENERGY,
  ADDRESS_ENTRY_ENERGY,
};

const bf_rgpu_constant bf_rgpu_constants[] = {
    [CHIP_AREA] = {"area of a GTX 480", 529, "mm2", "published", "braak15, 7.5.5"},
    [CHIP_SMS] = {"SMs on the die", 16, "", "published",
                  "NVIDIA, Fermi whitepaper 2009; the GTX 480 uses 15 of them"},
    [DATA_FIFOS] = {"data FIFOs of an SM", 112, "", "published", "braak15, 7.5.5: 3 x 32 + 16"},
    [ADDRESS_FIFOS] = {"address FIFOs of an SM", 16, "", "published", "braak15, 7.5.5"},
    [LANES] = {"lanes", 6, "", "published", "braak15, 7.2"},
    [SLOTS] = {"slots of a lane", 32, "", "published", "braak15, Fig. 7.2: one per core"},
    [WORD_BITS] = {"bits of a word", 32, "bit", "published", "braak15, 7.5.5"},
    [DATA_FIFO_AREA] = {"data FIFO of 8 entries", 0.0015, "mm2", "published",
                        "braak15, 7.5.5 (CACTI 6.5, 45 nm)"},
    [DATA_ENTRY_AREA] = {"8 entries more", 0.000257, "mm2", "derived",
                         "braak15, 7.5.4: 8 to 16 entries add 2% of 23 mm2, in 112 x 16 FIFOs"},
    [ADDRESS_FIFO_AREA] = {"address FIFO of 256 entries", 0.031, "mm2", "published",
                           "braak15, 7.5.5 (CACTI 6.5, 45 nm, two read ports)"},
    [ADDRESS_ENTRY_AREA] =
        {"256 entries more", 0.00898, "mm2", "derived",
         "braak15, 7.5.4: 256 to 512 entries add 10% of 23 mm2, in 16 x 16 FIFOs"},
    [WIRES_AREA] = {"wires of six lanes, all SMs", 9.2, "mm2", "derived",
                    "braak15, 7.5.5: 40% of 23 mm2"},
    [MUXES_AREA] = {"muxes and FIFO logic, all SMs", 3.18, "mm2", "derived",
                    "braak15, 7.5.5: what is left of 23 mm2"},
    [WIRE_ENERGY] = {"energy of a wire", 60, "pJ/m/bit", "published", "braak15, 7.5.5"},
    [WIRE_LENGTH] = {"length of a lane", 8, "mm", "published", "braak15, 7.5.5"},
    [GPU_POWER] = {"power of the GPU", 153, "W", "published", "braak15, 7.5.5 (GPUWattch)"},
    [REGISTER_FILE_POWER] = {"register file", 13, "W", "published", "braak15, 7.5.5 (GPUWattch)"},
    [DECODE_SHARE] = {"instruction fetch and decode", 0.0565, "of power", "published",
                      "braak15, 7.5.5 (GPUSimPow, another GPU)"},
    [DATA_FIFO_ENERGY] =
        {"a word through a data FIFO of 8 entries", 0.753, "pJ", "fitted",
         "3.2 W of MRIQ (braak15, 7.5.5) less wires, 8 parts of 34 (braak15, 7.5.4)"},
    [DATA_ENTRY_ENERGY] = {"8 entries more", 0.316, "pJ", "derived",
                           "braak15, 7.5.4: 8 to 16 entries add 8% to the power of R-GPU; MRIQ"},
    [ADDRESS_FIFO_ENERGY] =
        {"an access to an address FIFO of 256 entries", 4.69, "pJ", "fitted",
         "3.2 W of MRIQ (braak15, 7.5.5) less wires, 26 parts of 34 (braak15, 7.5.4)"},
    [ADDRESS_ENTRY_ENERGY] =
        {"256 entries more", 1.97, "pJ", "derived",
         "braak15, 7.5.4: 256 to 512 entries add 26% to the power of R-GPU; MRIQ"},
    {0},
};

static double constant(unsigned which) { return bf_rgpu_constants[which].value; }

/* ---- Area ---- */

bf_rgpu_area bf_rgpu_area_of(unsigned lanes, unsigned data_fifo, unsigned address_fifo) {
  double data = constant(DATA_FIFO_AREA) + constant(DATA_ENTRY_AREA) * ((double)data_fifo / 8 - 1);
  double address =
      constant(ADDRESS_FIFO_AREA) + constant(ADDRESS_ENTRY_AREA) * ((double)address_fifo / 256 - 1);
  double by_lane = lanes / constant(LANES), sms = constant(CHIP_SMS);
  bf_rgpu_area area = {.data_fifos = data * constant(DATA_FIFOS) * sms,
                       .address_fifos = address * constant(ADDRESS_FIFOS) * sms,
                       .wires = constant(WIRES_AREA) * by_lane,
                       .muxes = constant(MUXES_AREA) * by_lane};
  area.total = area.data_fifos + area.address_fifos + area.wires + area.muxes;
  area.share = area.total / constant(CHIP_AREA);
  return area;
}

/* ---- Power ---- */

/* Slots that the result of a node passes, summed over copies; 0 where it takes no lane. */
static double slots_of(const bf_rgpu_mapping *mapping, unsigned node) {
  double sum = 0;
  for (unsigned copy = 0; copy < mapping->copies; copy++) {
    const bf_rgpu_placed *at = &mapping->placed[node + mapping->graph->nodes * copy];
    unsigned cores = mapping->ring.cores;
    if (at->lane >= 0)
      sum += (at->last + cores - at->first) % cores + 1;
  }
  return sum;
}

bf_rgpu_events bf_rgpu_events_of(const bf_rgpu_mapping *mapping, const bf_rgpu_sim_result *result) {
  const bf_rgpu_graph *graph = mapping->graph;
  bf_rgpu_events events = {0};
  for (unsigned i = 0; i < graph->nodes; i++) {
    const bf_rgpu_node *node = &graph->node[i];
    const bf_rgpu_node_count *count = &result->node[i];
    bool is_memory = bf_rgpu_is_memory(node);
    events.lane_slots += (double)count->fired / mapping->copies * slots_of(mapping, i);
    for (unsigned j = 0; j <= BF_RGPU_OPERANDS; j++)
      *(is_memory && j == 0 ? &events.address_words : &events.data_words) +=
          (double)count->fifo[j].written;
    if (node->op == BF_RGPU_LD && !node->is_shared)
      events.scanned_words += (double)count->fifo[0].written;
  }
  return events;
}

bf_rgpu_power bf_rgpu_power_of(const bf_rgpu_events *events, double seconds, unsigned data_fifo,
                               unsigned address_fifo) {
  const double PICO = 1e-12, MILLI = 1e-3;
  double data =
      constant(DATA_FIFO_ENERGY) + constant(DATA_ENTRY_ENERGY) * ((double)data_fifo / 8 - 1);
  double address = constant(ADDRESS_FIFO_ENERGY) +
                   constant(ADDRESS_ENTRY_ENERGY) * ((double)address_fifo / 256 - 1);
  double slot =
      constant(WIRE_ENERGY) * constant(WORD_BITS) * constant(WIRE_LENGTH) * MILLI / constant(SLOTS);
  bf_rgpu_power power = {.data_fifos = data * events->data_words * PICO / seconds,
                         .address_fifos = address *
                                          (2 * events->address_words + events->scanned_words) *
                                          PICO / seconds,
                         .wires = slot * events->lane_slots * PICO / seconds,
                         .saved = constant(REGISTER_FILE_POWER),
                         .saved_decode = constant(DECODE_SHARE) * constant(GPU_POWER),
                         .before = constant(GPU_POWER)};
  power.added = power.data_fifos + power.address_fifos + power.wires;
  power.change = (power.added - power.saved) / power.before;
  return power;
}

double bf_rgpu_energy_ratio(const bf_rgpu_power *power, double speedup) {
  return (1 + power->change) / speedup;
}
