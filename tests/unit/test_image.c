/* Reading and writing images: every kind, odd sizes, and files that are cut off or damaged. */
#include "image_files.h"
#include "random.h"

#include <setjmp.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Helpers ---- */

static unsigned sample_at(const bf_image_format *format, const uint8_t *pixels, uint64_t index) {
  uint16_t wide;
  if (format->sample_bytes == 1)
    return pixels[index];
  memcpy(&wide, pixels + 2 * index, sizeof wide);
  return wide;
}

/* Reads a file in strips of `rows` rows; NULL and a message where that fails. */
static uint8_t *read_all(const void *bytes, size_t size, uint32_t rows, bf_image_format *format,
                         bf_diagnostic *diagnostic) {
  bf_image_reader *reader;
  memset(diagnostic, 0, sizeof *diagnostic);
  if (bf_image_open_bytes("image", bytes, size, &reader, diagnostic) != BF_OK) {
    assert_null(reader);
    assert_true(diagnostic->message[0] != 0);
    return NULL;
  }
  *format = *bf_image_get_format(reader);
  const uint64_t row_bytes = bf_image_row_bytes(format);
  uint8_t *pixels = malloc((size_t)bf_image_bytes(format));
  int error = BF_OK;
  for (uint32_t y = 0; y < format->height && error == BF_OK; y += rows) {
    const uint32_t left = format->height - y;
    error = bf_image_read(reader, left < rows ? left : rows, pixels + y * row_bytes, diagnostic);
  }
  bf_image_close(reader);
  if (error == BF_OK)
    return pixels;
  assert_true(diagnostic->message[0] != 0);
  free(pixels);
  return NULL;
}

static void assert_holds(const image_file *file, uint32_t rows) {
  bf_image_format format;
  bf_diagnostic diagnostic;
  uint8_t *pixels = read_all(file->bytes.data, file->bytes.size, rows, &format, &diagnostic);
  assert_string_equal(diagnostic.message, "");
  assert_non_null(pixels);
  assert_memory_equal(&format, &file->format, sizeof format);
  for (uint64_t i = 0; i < bf_image_bytes(&format) / format.sample_bytes; i++)
    assert_int_equal(sample_at(&format, pixels, i), file->samples[i]);
  free(pixels);
}

static void assert_refused(const void *bytes, size_t size, const char *message) {
  bf_image_format format;
  bf_diagnostic diagnostic;
  assert_null(read_all(bytes, size, 1, &format, &diagnostic));
  if (!strstr(diagnostic.message, message))
    fail_msg("'%s' is not in '%s'", message, diagnostic.message);
}

/* ---- PNG ---- */

/* Calls visit for every kind of PNG that there is, without and with interlacing. */
static void for_every_png(void (*visit)(const png_kind *kind)) {
  static const struct {
    int colour_type, least, most;
  } types[] = {{PNG_COLOR_TYPE_GRAY, 1, 16},
               {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 16},
               {PNG_COLOR_TYPE_RGB, 8, 16},
               {PNG_COLOR_TYPE_RGB_ALPHA, 8, 16},
               {PNG_COLOR_TYPE_PALETTE, 1, 8}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int depth = types[t].least; depth <= types[t].most; depth *= 2)
      for (int other = 0; other < 4; other++) {
        const bool has_alpha = types[t].colour_type & PNG_COLOR_MASK_ALPHA;
        visit(&(png_kind){types[t].colour_type, depth, other & 1, (other & 2) && !has_alpha, 9, 7});
      }
}

static void visit_png(const png_kind *kind) {
  static const uint32_t sizes[][2] = {{1, 1}, {9, 7}, {3, 17}, {64, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    png_kind sized = *kind;
    sized.width = sizes[i][0];
    sized.height = sizes[i][1];
    image_file file = make_png(&sized);
    assert_holds(&file, sized.height);
    assert_holds(&file, 1);
    assert_holds(&file, 3);
    free_image_file(&file);
  }
}

static void every_kind_of_png_is_read(void **state) {
  (void)state;
  for_every_png(visit_png);
}

/* Every beginning of a file is refused. */
static void cut_file_everywhere(const image_file *file) {
  for (size_t size = 0; size < file->least_bytes; size++) {
    /* A copy of that size, so that reading past it is noticed. */
    uint8_t *piece = malloc(size ? size : 1);
    memcpy(piece, file->bytes.data, size);
    assert_refused(piece, size, "");
    free(piece);
  }
}

static void cut_everywhere(const png_kind *kind) {
  image_file file = make_png(kind);
  cut_file_everywhere(&file);
  assert_refused(file.bytes.data, file.bytes.size - 1, "the image is cut off: the file ends at");
  free_image_file(&file);
}

static void png_is_refused_wherever_it_is_cut(void **state) {
  (void)state;
  for_every_png(cut_everywhere);
}

static void flip_every_bit(const png_kind *kind) {
  image_file file = make_png(kind);
  for (size_t bit = 0; bit < file.bytes.size * 8; bit++) {
    file.bytes.data[bit / 8] ^= (char)(1u << bit % 8);
    bf_image_format format;
    bf_diagnostic diagnostic;
    free(read_all(file.bytes.data, file.bytes.size, 2, &format, &diagnostic));
    file.bytes.data[bit / 8] ^= (char)(1u << bit % 8);
  }
  free_image_file(&file);
}

static void damaged_png_does_no_harm(void **state) {
  (void)state;
  for_every_png(flip_every_bit);
}

/* The checksum at the end of a chunk. */
static uint32_t chunk_sum(const uint8_t *bytes, size_t size) {
  uint32_t sum = 0xffffffffu;
  for (size_t i = 0; i < size; i++) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; bit++)
      sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  return ~sum;
}

static void put_32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++)
    at[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Replaces sizes in the header of a PNG file; offset 8 + 8 is where they are. */
static void set_png_size(image_file *file, uint32_t width, uint32_t height) {
  uint8_t *bytes = (uint8_t *)file->bytes.data;
  put_32(bytes + 16, width);
  put_32(bytes + 20, height);
  put_32(bytes + 29, chunk_sum(bytes + 12, 17));
}

static void png_of_hostile_size_is_refused(void **state) {
  (void)state;
  image_file file = make_png(&(png_kind){PNG_COLOR_TYPE_RGB, 8, 0, false, 4, 4});
  set_png_size(&file, 0x7fffffff, 0x7fffffff);
  assert_refused(file.bytes.data, file.bytes.size, "the rows are too long");
  set_png_size(&file, 0, 4);
  assert_refused(file.bytes.data, file.bytes.size, "PNG, before byte");
  set_png_size(&file, 4, 5);
  assert_refused(file.bytes.data, file.bytes.size, "PNG, before byte");
  free_image_file(&file);
  file = make_png(&(png_kind){PNG_COLOR_TYPE_GRAY, 8, 1, false, 4, 4});
  set_png_size(&file, 1 << 16, 1 << 16);
  assert_refused(file.bytes.data, file.bytes.size, "interlaced ones may have");
  free_image_file(&file);
}

static void damage_has_its_place(void **state) {
  (void)state;
  image_file file = make_png(&(png_kind){PNG_COLOR_TYPE_GRAY, 8, 0, false, 4, 4});
  file.bytes.data[29] ^= 1;
  assert_refused(file.bytes.data, file.bytes.size, "PNG, before byte 33: IHDR: CRC error");
  free_image_file(&file);
}

/* ---- PGM and PPM ---- */

/* A PNM file of kind '2', '3', '5' or '6', with comments where they may be. */
static image_file make_pnm(char kind, uint32_t most, uint32_t width, uint32_t height) {
  image_file file = {
      .format = {width, height, kind == '2' || kind == '5' ? 1 : 3, most > 255 ? 2 : 1, most}};
  bf_text_addf(&file.bytes, "P%c#kind\n# 1 2 3\n%u\t%u # sizes\r\n#\n%u\n", kind, width, height,
               most);
  const uint64_t samples = (uint64_t)width * height * file.format.channels;
  file.samples = malloc(samples * sizeof *file.samples);
  for (uint64_t i = 0; i < samples; i++) {
    const unsigned value = i == 0 ? most : raw_sample(i, 16) % (most + 1);
    const char bytes[] = {(char)(value >> 8), (char)value};
    file.samples[i] = (uint16_t)value;
    file.least_bytes = file.bytes.size + 1; /* the first digit, */
    if (kind == '2' || kind == '3')
      bf_text_addf(&file.bytes, "%s%u%s", i % 5 == 1 ? "00" : "", value, i % 7 ? " " : " #x\n");
    else
      bf_text_add(&file.bytes, bytes + (most <= 255), most > 255 ? 2 : 1);
  }
  if (kind == '5' || kind == '6')
    file.least_bytes = file.bytes.size; /* or all bytes of the last sample */
  return file;
}

static const uint32_t pnm_most[] = {1, 100, 255, 256, 4095, 65535};

/* Calls visit for every kind of PNM. */
static void for_every_pnm(void (*visit)(const image_file *file)) {
  static const uint32_t sizes[][2] = {{1, 1}, {5, 3}, {2, 9}};
  for (const char *kind = "2356"; *kind; kind++)
    for (size_t m = 0; m < sizeof pnm_most / sizeof *pnm_most; m++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        image_file file = make_pnm(*kind, pnm_most[m], sizes[s][0], sizes[s][1]);
        visit(&file);
        free_image_file(&file);
      }
}

static void visit_pnm(const image_file *file) {
  assert_holds(file, file->format.height);
  assert_holds(file, 1);
  assert_holds(file, 2);
}

static void every_kind_of_pnm_is_read(void **state) {
  (void)state;
  for_every_pnm(visit_pnm);
}

static void pnm_is_refused_wherever_it_is_cut(void **state) {
  (void)state;
  for_every_pnm(cut_file_everywhere);
}

static void damage_pnm(const image_file *file) {
  test_random random = {file->bytes.size};
  for (unsigned round = 0; round < 300; round++) {
    char *bytes = malloc(file->bytes.size);
    memcpy(bytes, file->bytes.data, file->bytes.size);
    for (unsigned change = 0; change < 2; change++)
      bytes[random_below(&random, file->bytes.size)] ^= (char)(1u << random_below(&random, 8));
    bf_image_format format;
    bf_diagnostic diagnostic;
    bf_image_reader *reader;
    /* Sizes may have become large: only the first row is read. */
    if (bf_image_open_bytes("image", bytes, file->bytes.size, &reader, &diagnostic) == BF_OK) {
      format = *bf_image_get_format(reader);
      void *row = malloc((size_t)bf_image_row_bytes(&format));
      bf_image_read(reader, 1, row, &diagnostic);
      free(row);
      bf_image_close(reader);
    }
    free(bytes);
  }
}

static void damaged_pnm_does_no_harm(void **state) {
  (void)state;
  for_every_pnm(damage_pnm);
}

typedef struct bad_text {
  const char *text, *message;
  unsigned line, column;
} bad_text;

static void faults_of_pnm_have_line_and_column(void **state) {
  (void)state;
  static const bad_text faults[] = {
      {"P2\n3 x\n", "a number is expected", 2, 3},
      {"P2x3 3 9\n", "white space is expected", 1, 3},
      {"P5\n3 -1 255\n", "a number is expected", 2, 3},
      {"P5\n3 1.5 255\n", "a number is expected", 2, 4},
      {"P5\n99999999999999999999 1 255\n", "the width is larger than 2147483647", 2, 1},
      {"P5\n1 2147483648 255\n", "the height is larger than 2147483647", 2, 3},
      {"P5\n1 1 65536\n", "the largest value is larger than 65535", 2, 5},
      {"P5\n1 1 0\n", "the largest value is 0", 2, 5},
      {"P5\n0 7 255\n", "the image is 0 x 7 pixels large", 0, 0},
      {"P6\n2147483647 2147483647 65535\n", "is too large: rows may have", 0, 0},
      {"P2 1 1 255\n#c\n  256\n", "the value is larger than 255", 3, 3},
      {"P3 1 1 9\n1 2 z\n", "a number is expected", 2, 5},
      {"P5 2 1 100\n\x01\x65", "the value 101 at byte 12 is above the largest one, 100", 0, 0},
      {"P5 1 1 300\n\x01\x2d", "the value 301 at byte 11 is above the largest one, 300", 0, 0},
      {"P5 2 1 255\n\x01", "the image is cut off: the file ends at byte 12", 0, 0},
      {"P5 2 1 255", "the image is cut off: the file ends at byte 10", 0, 0},
      {"", "the file is empty", 0, 0},
      {"P", "the file is not an image", 0, 0},
      {"P4 1 1 \x01", "the file is a bitmap (PBM)", 0, 0},
      {"\xff\xd8\xff\xe0", "the file is a JPEG image; PNG, PGM and PPM", 0, 0},
      {"\x89PNG\r\n\x1a\n", "the image is cut off: the file ends at byte 8", 0, 0},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    bf_image_format format;
    bf_diagnostic diagnostic;
    const bad_text *fault = &faults[i];
    assert_refused(fault->text, strlen(fault->text), fault->message);
    assert_null(read_all(fault->text, strlen(fault->text), 1, &format, &diagnostic));
    assert_string_equal(diagnostic.file, "image");
    assert_int_equal(diagnostic.line, fault->line);
    assert_int_equal(diagnostic.column, fault->column);
  }
}

static void rows_are_counted(void **state) {
  (void)state;
  image_file file = make_pnm('5', 255, 4, 3);
  bf_image_reader *reader;
  bf_diagnostic diagnostic;
  uint8_t pixels[12];
  assert_int_equal(
      bf_image_open_bytes("image", file.bytes.data, file.bytes.size, &reader, &diagnostic), BF_OK);
  assert_int_equal(bf_image_read(reader, 0, pixels, &diagnostic), BF_OK);
  assert_int_equal(bf_image_read(reader, 2, pixels, &diagnostic), BF_OK);
  assert_int_equal(bf_image_read(reader, 2, pixels, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "2 rows are asked for where 1 are left");
  assert_int_equal(bf_image_read(reader, 1, pixels, &diagnostic), BF_OK);
  bf_image_close(reader);
  free_image_file(&file);
}

static void nothing_is_read_after_a_fault(void **state) {
  (void)state;
  bf_image_reader *reader;
  uint8_t pixels[2];
  const char *cut = "P5 1 2 255\n";
  assert_int_equal(bf_image_open_bytes("image", cut, strlen(cut), &reader, NULL), BF_OK);
  assert_int_equal(bf_image_read(reader, 1, pixels, NULL), BF_BAD_INPUT);
  assert_int_equal(bf_image_read(reader, 1, pixels, NULL), BF_BAD_INPUT);
  bf_image_close(reader);
}

/* ---- Writing, and files ---- */

/* A path in the folder for temporary files. */
static void temporary_path(const char *end, char path[64]) {
  snprintf(path, 64, "/tmp/bankfold-image-%ld%s", (long)getpid(), end);
}

static void written_images_are_read_back(void **state) {
  (void)state;
  for (unsigned other = 0; other < 16; other++) {
    const bool is_pnm = other & 8, is_wide = other & 4;
    const bf_image_format format = {13, 11, other % 4 + 1, is_wide ? 2 : 1, is_wide ? 65535 : 255};
    const size_t bytes = (size_t)bf_image_bytes(&format);
    uint8_t pixels[13 * 11 * 8];
    for (size_t i = 0; i < bytes; i++)
      pixels[i] = (uint8_t)raw_sample(i, 8);
    char path[64];
    bf_diagnostic diagnostic;
    temporary_path(is_pnm ? ".pnm" : ".png", path);
    const int error = bf_image_write(path, &format, pixels, &diagnostic);
    if (is_pnm && format.channels % 2 == 0) {
      assert_int_equal(error, BF_UNSUPPORTED);
      assert_int_not_equal(access(path, F_OK), 0);
      continue;
    }
    assert_int_equal(error, BF_OK);
    bf_image_format read;
    void *again;
    assert_int_equal(bf_image_load(path, &read, &again, &diagnostic), BF_OK);
    assert_memory_equal(&read, &format, sizeof format);
    assert_memory_equal(again, pixels, bytes);
    free(again);
    remove(path);
  }
}

static void faults_of_files_are_told(void **state) {
  (void)state;
  const bf_image_format format = {1, 1, 1, 1, 255};
  bf_image_format read;
  bf_diagnostic diagnostic;
  void *pixels;
  assert_int_equal(bf_image_write("/nowhere/a.png", &format, "x", &diagnostic), BF_IO);
  assert_int_equal(bf_image_load("/nowhere/a.png", &read, &pixels, &diagnostic), BF_IO);
  assert_int_equal(bf_image_load("/", &read, &pixels, &diagnostic), BF_IO);
  char path[64];
  temporary_path(".pgm", path);
  const char *large = "P5 65536 65536 255\n";
  assert_int_equal(bf_write_file(path, large, strlen(large), NULL), BF_OK);
  assert_int_equal(bf_image_load(path, &read, &pixels, &diagnostic), BF_UNSUPPORTED);
  assert_null(pixels);
  remove(path);
}

/* A file is longer than what is kept of it in memory. */
static void large_files_are_read_piece_by_piece(void **state) {
  (void)state;
  for (const char *kind = "25"; *kind; kind++) {
    image_file file = make_pnm(*kind, 65535, 301, 400);
    char path[64];
    temporary_path(".pgm", path);
    assert_int_equal(bf_write_file(path, file.bytes.data, file.bytes.size, NULL), BF_OK);
    bf_image_format format;
    void *pixels;
    assert_int_equal(bf_image_load(path, &format, &pixels, NULL), BF_OK);
    assert_memory_equal(pixels, file.samples, 301 * 400 * 2);
    free(pixels);
    remove(path);
    free_image_file(&file);
  }
}

/* ---- Formats and grey ---- */

static void channels_have_names(void **state) {
  (void)state;
  const bf_image_format two = {1, 1, 2, 1, 255}, four = {1, 1, 4, 1, 255};
  assert_string_equal(bf_image_channel_name(&two, 0), "grey");
  assert_string_equal(bf_image_channel_name(&two, 1), "alpha");
  assert_string_equal(bf_image_channel_name(&four, 2), "blue");
  assert_string_equal(bf_image_channel_name(&four, 3), "alpha");
}

static void strips_are_about_four_megabytes(void **state) {
  (void)state;
  assert_int_equal(bf_image_strip_rows(&(bf_image_format){4096, 4096, 1, 1, 255}), 1024);
  assert_int_equal(bf_image_strip_rows(&(bf_image_format){1024, 9, 1, 1, 255}), 9);
  assert_int_equal(bf_image_strip_rows(&(bf_image_format){1 << 24, 9, 3, 2, 65535}), 1);
}

static void brightness_is_rounded(void **state) {
  (void)state;
  const uint8_t colours[] = {255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};
  uint8_t grey[5];
  bf_image_to_grey(&(bf_image_format){5, 1, 3, 1, 255}, colours, 5, grey);
  const uint8_t expected[] = {255, 76, 150, 29, 18};
  assert_memory_equal(grey, expected, sizeof grey);
  const uint16_t deep[] = {65535, 65535, 65535, 7, 65535, 0, 0, 9};
  uint16_t wide[2];
  bf_image_to_grey(&(bf_image_format){2, 1, 4, 2, 65535}, deep, 2, wide);
  assert_int_equal(wide[0], 65535);
  assert_int_equal(wide[1], 19595);
  bf_image_to_grey(&(bf_image_format){2, 1, 2, 2, 65535}, deep + 2, 2, wide);
  assert_int_equal(wide[0], 65535);
  assert_int_equal(wide[1], 65535);
}

static void values_are_scaled_to_bytes(void **state) {
  (void)state;
  const uint16_t wide[] = {0, 2048, 4095};
  const uint8_t narrow[] = {0, 1};
  uint8_t bytes[3];
  bf_image_to_bytes(&(bf_image_format){3, 1, 1, 2, 4095}, wide, 3, bytes);
  assert_memory_equal(bytes, ((const uint8_t[]){0, 128, 255}), 3);
  bf_image_to_bytes(&(bf_image_format){2, 1, 1, 1, 1}, narrow, 2, bytes);
  assert_memory_equal(bytes, ((const uint8_t[]){0, 255}), 2);
}

static void masks_and_floats_keep_small_values(void **state) {
  (void)state;
  const uint16_t pixels[] = {0, 0, 1, 0, 0, 0, 0, 9};
  uint8_t mask[2];
  float floats[3];
  bf_image_to_mask(&(bf_image_format){2, 1, 4, 2, 65535}, pixels, 2, mask);
  assert_memory_equal(mask, ((const uint8_t[]){255, 0}), 2);
  bf_image_to_mask(&(bf_image_format){2, 1, 1, 1, 255}, "\x00\x01", 2, mask);
  assert_memory_equal(mask, ((const uint8_t[]){0, 255}), 2);
  bf_image_to_floats(&(bf_image_format){3, 1, 1, 2, 65535}, pixels + 5, 3, floats);
  assert_true(floats[0] == 0 && floats[2] == 9);
  bf_image_to_floats(&(bf_image_format){2, 1, 1, 1, 255}, "\x07\xff", 2, floats);
  assert_true(floats[0] == 7 && floats[1] == 255);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_png_is_read),
      cmocka_unit_test(png_is_refused_wherever_it_is_cut),
      cmocka_unit_test(damaged_png_does_no_harm),
      cmocka_unit_test(png_of_hostile_size_is_refused),
      cmocka_unit_test(damage_has_its_place),
      cmocka_unit_test(every_kind_of_pnm_is_read),
      cmocka_unit_test(pnm_is_refused_wherever_it_is_cut),
      cmocka_unit_test(damaged_pnm_does_no_harm),
      cmocka_unit_test(faults_of_pnm_have_line_and_column),
      cmocka_unit_test(rows_are_counted),
      cmocka_unit_test(nothing_is_read_after_a_fault),
      cmocka_unit_test(written_images_are_read_back),
      cmocka_unit_test(faults_of_files_are_told),
      cmocka_unit_test(large_files_are_read_piece_by_piece),
      cmocka_unit_test(channels_have_names),
      cmocka_unit_test(strips_are_about_four_megabytes),
      cmocka_unit_test(brightness_is_rounded),
      cmocka_unit_test(values_are_scaled_to_bytes),
      cmocka_unit_test(masks_and_floats_keep_small_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
