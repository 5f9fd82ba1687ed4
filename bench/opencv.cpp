// OpenCV's histogram and Hough transform behind plain functions.
#include "opencv.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

void opencv_threads(int threads) { cv::setNumThreads(threads); }

void opencv_histogram(const void *data, int bytes, int width, int height, float high,
                      uint64_t counts[256]) {
  cv::Mat image(height, width, bytes == 1 ? CV_8UC1 : CV_16UC1, const_cast<void *>(data));
  int channel = 0, bins = 256;
  float range[] = {0, high};
  const float *ranges = range;
  cv::Mat histogram;
  cv::calcHist(&image, 1, &channel, cv::Mat(), histogram, 1, &bins, &ranges);
  for (int i = 0; i < bins; i++)
    counts[i] = (uint64_t)histogram.at<float>(i);
}

void opencv_count(const opencv_picture *picture, size_t bins, float high, const double *edges,
                  double *counts) {
  int depth = picture->bytes == 1 ? CV_8U : picture->bytes == 2 ? CV_16U : CV_32F;
  cv::Mat image(picture->height, picture->width, CV_MAKETYPE(depth, picture->channels),
                const_cast<void *>(picture->data));
  cv::Mat mask, histogram;
  if (picture->mask)
    mask = cv::Mat(picture->height, picture->width, CV_8U, const_cast<uint8_t *>(picture->mask));
  std::vector<float> range = {0, high};
  if (edges)
    range.assign(edges, edges + bins + 1);
  const float *ranges = range.data();
  int size = (int)bins;
  cv::calcHist(&image, 1, &picture->channel, mask, histogram, 1, &size, &ranges, !edges);
  for (int i = 0; i < size; i++)
    counts[i] = histogram.at<float>(i);
}

int opencv_hough(const uint8_t *edges, int width, int height, int angles, int threshold) {
  cv::Mat image(height, width, CV_8UC1, const_cast<uint8_t *>(edges));
  std::vector<cv::Vec3f> lines;
  cv::HoughLines(image, lines, 1, CV_PI / angles, threshold);
  return lines.empty() ? 0 : (int)lines[0][2];
}
