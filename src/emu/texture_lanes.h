/* Inside room emu: texture reads of all lanes of a warp at once, for textures without levels and
 * faces. Part of run_texture.c, whose functions for one lane define what comes out; what they do
 * otherwise than lane by lane is left to them. */
#ifndef BF_EMU_TEXTURE_LANES_H
#define BF_EMU_TEXTURE_LANES_H

/* Indices of a dimension, folded into the texture; false: some lie on the border. Lanes that take
 * no part may have any coordinate. */
static inline bool fold_lanes(const bf_emu_texture *texture, bf_emu_outside outside, int32_t size,
                              uint32_t mask, int32_t index[BF_EMU_LANES]) {
  uint32_t is_outside = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    is_outside |= (uint32_t)((uint32_t)index[lane] >= (uint32_t)size) << lane;
  if (is_outside == 0)
    return true;
  if (outside == BF_EMU_OUTSIDE_BORDER && (is_outside & mask))
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    if (is_outside >> lane & 1)
      index[lane] = outside == BF_EMU_OUTSIDE_BORDER
                        ? 0
                        : (int32_t)fold(outside, texture->is_normalised, index[lane], size);
  return true;
}

/* The channels of a texel for each lane, at offsets from the first texel. */
static inline void read_lanes(const bf_emu_texture *texture, const uint64_t offset[BF_EMU_LANES],
                              unsigned channel, uint32_t value[BF_EMU_LANES]) {
  const uint8_t *first =
      (const uint8_t *)(uintptr_t)texture->address + channel * texture->channel_bits / 8;
  if (texture->channel_bits == 32)
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(&value[lane], first + offset[lane], 4);
  else
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      value[lane] = read_channel(texture, first + offset[lane], channel);
}

/* Offsets of the texels at indices; false: some lie on the border. */
static inline bool offsets_of(const bf_emu_texture *texture, unsigned dimensions, bool is_integer,
                              uint32_t mask, int32_t index[3][BF_EMU_LANES],
                              const int64_t layer[BF_EMU_LANES], uint64_t offset[BF_EMU_LANES]) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  const uint64_t step[3] = {texel_bytes(texture), texture->pitch_bytes, texture->slice_bytes};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    offset[lane] = (uint64_t)layer[lane] * texture->slice_bytes;
  for (unsigned i = 0; i < dimensions; i++) {
    bf_emu_outside outside = texture->outside[i];
    if (is_integer) /* as fetch does: not normalised */
      outside = texture->is_linear                 ? BF_EMU_OUTSIDE_BORDER
                : outside == BF_EMU_OUTSIDE_BORDER ? outside
                                                   : BF_EMU_OUTSIDE_CLAMP;
    if (!fold_lanes(texture, outside, (int32_t)size[i], mask, index[i]))
      return false;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      offset[lane] += (uint64_t)(uint32_t)index[i][lane] * step[i];
  }
  return true;
}

/* What a nearest texel gives to each lane; false: the lanes must be read one by one. */
static inline bool nearest_lanes(const bf_emu_texture *texture, const sampling *what, uint32_t mask,
                                 int32_t index[3][BF_EMU_LANES], const int64_t layer[BF_EMU_LANES],
                                 uint32_t value[MOST_CHANNELS][BF_EMU_LANES]) {
  uint64_t offset[BF_EMU_LANES];
  if (!offsets_of(texture, what->dimensions, what->is_integer, mask, index, layer, offset))
    return false;
  for (unsigned i = 0; i < texture->channels && i < what->count; i++)
    read_lanes(texture, offset, i, value[i]);
  return true;
}

/* The means of the texels around, as sample_filtered has them. */
static inline bool filtered_lanes(const bf_emu_texture *texture, const sampling *what,
                                  uint32_t mask, int32_t low[3][BF_EMU_LANES],
                                  float weight[3][BF_EMU_LANES], const int64_t layer[BF_EMU_LANES],
                                  uint32_t value[MOST_CHANNELS][BF_EMU_LANES]) {
  float sum[MOST_CHANNELS][BF_EMU_LANES] = {{0}};
  for (unsigned corner = 0; corner < 1u << what->dimensions; corner++) {
    float part[BF_EMU_LANES];
    int32_t index[3][BF_EMU_LANES];
    uint64_t offset[BF_EMU_LANES];
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      part[lane] = 1;
    for (unsigned i = 0; i < what->dimensions; i++) {
      int32_t is_high = corner >> i & 1;
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
        part[lane] *= is_high ? weight[i][lane] : 1 - weight[i][lane];
        index[i][lane] = low[i][lane] + is_high;
      }
    }
    if (!offsets_of(texture, what->dimensions, false, mask, index, layer, offset))
      return false;
    for (unsigned i = 0; i < texture->channels && i < what->count; i++) {
      uint32_t one[BF_EMU_LANES];
      read_lanes(texture, offset, i, one);
      for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
        sum[i][lane] += part[lane] == 0 ? 0 : part[lane] * bf_emu_bits_float(one[lane]);
    }
  }
  for (unsigned i = 0; rounds_fractions(texture) && i < what->count; i++)
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      sum[i][lane] = round_fraction(sum[i][lane]);
  memcpy(value, sum, sizeof sum);
  return true;
}

/* Where the coordinates of a dimension point: texels, or those below and the weights of the next.
 */
static inline void place_lanes(const bf_emu_warp *warp, const bf_emu_texture *texture,
                               const sampling *what, unsigned dimension,
                               int32_t index[BF_EMU_LANES], float weight[BF_EMU_LANES]) {
  const uint32_t size[3] = {texture->width, texture->height, texture->depth};
  const float *x = BF_LANES(const float, what->coordinate[dimension]);
  float scale = (float)size[dimension];
  if (what->is_integer) {
    memcpy(index, x, BF_EMU_LANES * sizeof *index);
    return;
  }
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++) {
    float place = bounded(texture->is_normalised ? x[lane] * scale : x[lane]);
    place -= texture->is_filtered ? 0.5f : 0;
    float floor = floorf(place);
    index[lane] = (int32_t)floor;
    weight[lane] = rintf((place - floor) * 256) / 256;
  }
}

/* tex of all lanes that take part, from one texture; false: they must be read one by one. */
static inline bool sample_lanes(bf_emu_warp *warp, const sampling *what,
                                const bf_emu_texture *texture, uint32_t mask) {
  if (texture->levels > 1 || texture->is_cube || what->is_cube)
    return false;
  bool is_filtered = texture->is_filtered && !what->is_integer;
  int32_t index[3][BF_EMU_LANES];
  float weight[3][BF_EMU_LANES];
  int64_t layer[BF_EMU_LANES];
  uint32_t value[MOST_CHANNELS][BF_EMU_LANES] = {{0}};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    layer[lane] = layer_of(warp, what, texture, lane);
  for (unsigned i = 0; i < what->dimensions; i++)
    place_lanes(warp, texture, what, i, index[i], weight[i]);
  if (is_filtered ? !filtered_lanes(texture, what, mask, index, weight, layer, value)
                  : !nearest_lanes(texture, what, mask, index, layer, value))
    return false;
  for (unsigned i = 0; i < what->count; i++) {
    uint32_t *result = BF_LANES(uint32_t, what->value[i]);
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      result[lane] = mask >> lane & 1 ? value[i][lane] : result[lane];
  }
  return true;
}

#endif
