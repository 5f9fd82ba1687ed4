// Histograms, Hough spaces, gradients and thresholds are OpenCV's, where definitions agree: random
// images of all types, channels, parts, masks and bins, and random edges.
#include "bankfold.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <tuple>
#include <vector>

static std::mt19937 source(20261115);

static int below(int limit) { return (int)(source() % (unsigned)limit); }

static int faults = 0;

static void expect(bool good, const char *what) {
  if (!good) {
    printf("%s: not what OpenCV finds\n", what);
    faults++;
  }
}

// A random image whose values are below a limit, of one of many kinds.
static cv::Mat some_image(int depth, int channels, int limit) {
  cv::Mat image(1 + below(60), 1 + below(90), CV_MAKETYPE(depth, channels));
  int base = below(limit), spread = below(3) ? limit : 1 + below(9);
  for (int y = 0; y < image.rows; y++)
    for (int x = 0; x < image.cols * channels; x++) {
      int value = (base + below(spread)) % limit;
      if (depth == CV_8U)
        image.ptr<uint8_t>(y)[x] = (uint8_t)value;
      else if (depth == CV_16U)
        image.ptr<uint16_t>(y)[x] = (uint16_t)value;
      else
        image.ptr<float>(y)[x] = (float)value + (float)below(4) / 4;
    }
  return image;
}

// The same pixels for bankfold.
static bf_pixels view_of(const cv::Mat &image) {
  bf_pixels view = {};
  view.data = image.data;
  view.type = image.depth() == CV_8U    ? BF_PIXEL_U8
              : image.depth() == CV_16U ? BF_PIXEL_U16
                                        : BF_PIXEL_F32;
  view.channels = (unsigned)image.channels();
  view.width = (size_t)image.cols;
  view.height = (size_t)image.rows;
  view.stride_bytes = image.step;
  return view;
}

// One random histogram: even bins whose width is a power of two, where OpenCV's product is exact,
// or bins by whole edges; twice into the same counts now and then.
static void compare_histogram() {
  static const int depths[] = {CV_8U, CV_16U, CV_32F};
  int depth = depths[below(3)], channels = 1 + below(4), channel = below(channels);
  int limit = depth == CV_8U ? 256 : below(2) ? 4096 : 65536;
  cv::Mat whole = some_image(depth, channels, limit);
  cv::Rect part(0, 0, whole.cols, whole.rows);
  if (below(2))
    part = cv::Rect(below(whole.cols), below(whole.rows), 1, 1);
  part.width = 1 + below(whole.cols - part.x);
  part.height = 1 + below(whole.rows - part.y);
  cv::Mat image = whole(part), mask;
  if (below(2)) {
    mask = some_image(CV_8U, 1, 3);
    cv::resize(mask, mask, image.size(), 0, 0, cv::INTER_NEAREST);
  }
  bool even = below(2), twice = below(2);
  int bins = even ? 1 << below(9) : 1 + below(40);
  std::vector<float> ranges = {0, (float)limit};
  std::vector<double> edges;
  if (!even) {
    int at = below(5);
    ranges.clear();
    for (int i = 0; i <= bins; i++, at += 1 + below(limit / bins))
      ranges.push_back((float)at);
    edges.assign(ranges.begin(), ranges.end());
  }
  const float *range = ranges.data();
  cv::Mat theirs;
  cv::calcHist(&image, 1, &channel, mask, theirs, 1, &bins, &range, even, false);
  if (twice)
    cv::calcHist(&image, 1, &channel, mask, theirs, 1, &bins, &range, even, true);

  bf_pixels view = view_of(image);
  view.mask = mask.data;
  view.mask_stride_bytes = mask.empty() ? 0 : mask.step;
  bf_histogram_options options;
  bf_histogram_default_options(&options);
  options.bins = (size_t)bins;
  options.high = even ? limit : 0;
  options.edges = even ? nullptr : edges.data();
  options.channel = (unsigned)channel;
  std::vector<uint32_t> ours((size_t)bins, 7);
  bool good = bf_histogram_u32(&view, &options, ours.data(), nullptr) == BF_OK;
  options.accumulate = true;
  if (twice)
    good = good && bf_histogram_u32(&view, &options, ours.data(), nullptr) == BF_OK;
  for (int i = 0; i < bins; i++)
    good = good && (float)ours[(size_t)i] == theirs.at<float>(i);
  expect(good, "a histogram");
}

typedef std::set<std::tuple<float, float, float>> lines; // rho, theta, votes

// Bins with more votes than a threshold that OpenCV takes for lines: at least those of the next bin
// and angle, more than those of the ones before.
static lines find_maxima(const bf_hough_space &space, uint32_t threshold) {
  lines found;
  auto votes = [&](ptrdiff_t angle, ptrdiff_t bin) -> uint32_t {
    bool inside =
        angle >= 0 && angle < (ptrdiff_t)space.angles && bin >= 0 && bin < (ptrdiff_t)space.rhos;
    return inside ? space.votes[(size_t)angle * space.rhos + (size_t)bin] : 0;
  };
  for (ptrdiff_t a = 0; a < (ptrdiff_t)space.angles; a++)
    for (ptrdiff_t b = 0; b < (ptrdiff_t)space.rhos; b++) {
      uint32_t own = votes(a, b);
      if (own > threshold && own > votes(a, b - 1) && own >= votes(a, b + 1) &&
          own > votes(a - 1, b) && own >= votes(a + 1, b))
        found.insert({(float)((double)b - (double)space.rho_zero) * (float)space.rho_step,
                      (float)(space.theta_low + (double)a * space.theta_step), (float)own});
    }
  return found;
}

// Lines at one angle. OpenCV adds up angles in single precision, so that from the second on a vote
// may fall into the next bin; the first is exact.
static void compare_angle(const cv::Mat &edges, double theta, int threshold) {
  const double step = 0.01;
  std::vector<cv::Vec3f> theirs;
  cv::HoughLines(edges, theirs, 1, step, threshold, 0, 0, theta, theta + 0.6 * step);
  bf_pixels view = view_of(edges);
  bf_hough_options options;
  bf_hough_default_options(&options);
  options.theta_low = theta;
  options.theta_high = theta + step;
  options.theta_step = step;
  bf_hough_space space;
  if (bf_hough_vote(&view, &options, &space, nullptr) != BF_OK)
    return expect(false, "a Hough space");
  lines ours = find_maxima(space, (uint32_t)threshold), found;
  for (const cv::Vec3f &line : theirs)
    found.insert({line[0], line[1], line[2]});
  expect(ours == found, "lines");
  bf_hough_space_clear(&space);
}

// Lines of random edges, with some drawn among them.
static void compare_hough() {
  cv::Mat edges = cv::Mat::zeros(20 + below(80), 20 + below(80), CV_8U);
  for (int i = below(300); i > 0; i--)
    edges.at<uint8_t>(below(edges.rows), below(edges.cols)) = 255;
  for (int i = below(4); i > 0; i--)
    cv::line(edges, {below(edges.cols), below(edges.rows)}, {below(edges.cols), below(edges.rows)},
             255);
  for (int i = 0; i < 10; i++)
    compare_angle(edges, (double)(float)(below(31300) / 1e4), 2 + below(20));
}

// |gx| + |gy| with the border repeated, scaled to 255; and Otsu's threshold of the result.
static void compare_edges() {
  int depth = below(2) ? CV_8U : CV_16U;
  cv::Mat image = some_image(depth, 1, depth == CV_8U ? 256 : 65536), across, down;
  cv::Sobel(image, across, CV_64F, 1, 0, 3, 1, 0, cv::BORDER_REPLICATE);
  cv::Sobel(image, down, CV_64F, 0, 1, 3, 1, 0, cv::BORDER_REPLICATE);
  cv::Mat sum = cv::abs(across) + cv::abs(down);
  double largest;
  cv::minMaxLoc(sum, nullptr, &largest);
  double scale = largest > 0 ? 255 / largest : 0;
  bf_pixels view = view_of(image);
  cv::Mat ours(image.size(), CV_8U);
  bool good = bf_sobel(&view, 0, 0, ours.data, ours.step, nullptr) == BF_OK;
  for (int y = 0; y < image.rows; y++)
    for (int x = 0; x < image.cols; x++)
      good = good && ours.at<uint8_t>(y, x) == (uint8_t)(sum.at<double>(y, x) * scale + 0.5);
  expect(good, "Sobel's gradient");

  cv::Mat unused;
  double theirs = cv::threshold(ours, unused, 0, 255, cv::THRESH_BINARY | cv::THRESH_OTSU);
  bf_pixels gradient = view_of(ours);
  bf_histogram_options options;
  bf_histogram_default_options(&options);
  options.bins = 256;
  std::vector<uint64_t> counts(256);
  good = bf_histogram_u64(&gradient, &options, counts.data(), nullptr) == BF_OK;
  expect(good && (double)bf_otsu(counts.data(), 256) == theirs, "Otsu's threshold");
}

int main() {
  for (int i = 0; i < 2000; i++)
    compare_histogram();
  for (int i = 0; i < 300; i++)
    compare_hough();
  for (int i = 0; i < 300; i++)
    compare_edges();
  return faults ? 1 : 0;
}
