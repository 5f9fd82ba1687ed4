// Kernels as ordinary programs have them: graphs, dynamic programming, sparse matrices, stencils,
// searches.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

// ---- Breadth-first search over a random graph, as Rodinia does it ----
struct Node {
  int first, edges;
};
__global__ void bfs_visit(const Node *node, const int *edge, bool *mask, bool *updating,
                          bool *visited, int *cost, int nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nodes && mask[i]) {
    mask[i] = false;
    for (int k = node[i].first; k < node[i].first + node[i].edges; k++) {
      int to = edge[k];
      if (!visited[to]) {
        cost[to] = cost[i] + 1;
        updating[to] = true;
      }
    }
  }
}
__global__ void bfs_update(bool *mask, bool *updating, bool *visited, bool *over, int nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nodes && updating[i]) {
    mask[i] = true;
    visited[i] = true;
    *over = true;
    updating[i] = false;
  }
}
// ---- Sparse matrix times vector, a row per thread and a row per warp ----
__global__ void spmv_scalar(const int *row, const int *column, const float *value, const float *x,
                            float *y, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows)
    return;
  float sum = 0;
  for (int k = row[i]; k < row[i + 1]; k++)
    sum += value[k] * x[column[k]];
  y[i] = sum;
}
__global__ void spmv_warp(const int *row, const int *column, const float *value, const float *x,
                          float *y, int rows) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= rows)
    return;
  float sum = 0;
  for (int k = row[i] + lane; k < row[i + 1]; k += 32)
    sum += value[k] * x[column[k]];
  for (int d = 16; d; d /= 2)
    sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0)
    y[i] = sum;
}
// ---- Needleman-Wunsch, blocks of 16 threads ----
#define BLOCK 16
__global__ void nw_tile(const int *reference, int *items, int columns, int penalty, int i,
                        int blocks, int offset) {
  __shared__ int temp[BLOCK + 1][BLOCK + 1];
  __shared__ int ref[BLOCK][BLOCK];
  int bx = blockIdx.x, tx = threadIdx.x;
  int x = bx + offset, y = i - 1 - bx + offset;
  if (offset) {
    x = bx + blocks - i;
    y = blocks - bx - 1;
  }
  int index = columns * BLOCK * y + BLOCK * x + tx + columns + 1;
  int index_n = columns * BLOCK * y + BLOCK * x + tx + 1;
  int index_w = columns * BLOCK * y + BLOCK * x + columns;
  int index_nw = columns * BLOCK * y + BLOCK * x;
  if (tx == 0)
    temp[tx][0] = items[index_nw];
  for (int k = 0; k < BLOCK; k++)
    ref[k][tx] = reference[index + columns * k];
  __syncthreads();
  temp[tx + 1][0] = items[index_w + columns * tx];
  __syncthreads();
  temp[0][tx + 1] = items[index_n];
  __syncthreads();
  for (int m = 0; m < BLOCK; m++) {
    if (tx <= m) {
      int cx = tx + 1, cy = m - tx + 1;
      temp[cy][cx] =
          max(max(temp[cy - 1][cx - 1] + ref[cy - 1][cx - 1], temp[cy][cx - 1] - penalty),
              temp[cy - 1][cx] - penalty);
    }
    __syncthreads();
  }
  for (int m = BLOCK - 2; m >= 0; m--) {
    if (tx <= m) {
      int cx = tx + BLOCK - m, cy = BLOCK - tx;
      temp[cy][cx] =
          max(max(temp[cy - 1][cx - 1] + ref[cy - 1][cx - 1], temp[cy][cx - 1] - penalty),
              temp[cy - 1][cx] - penalty);
    }
    __syncthreads();
  }
  for (int k = 0; k < BLOCK; k++)
    items[index + k * columns] = temp[k + 1][tx + 1];
}
// ---- Hot spot: a stencil in shared memory with borders ----
__global__ void hotspot(const float *power, const float *from, float *to, int n) {
  __shared__ float tile[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 14 + tx - 1,
      y = blockIdx.y * 14 + ty - 1;
  bool inside = x >= 0 && x < n && y >= 0 && y < n;
  tile[ty][tx] = inside ? from[y * n + x] : 0;
  __syncthreads();
  int w = max(x > 0 ? tx - 1 : tx, 0), e = min(x < n - 1 ? tx + 1 : tx, 15),
      north = max(y > 0 ? ty - 1 : ty, 0), s = min(y < n - 1 ? ty + 1 : ty, 15);
  if (inside && tx > 0 && tx < 15 && ty > 0 && ty < 15)
    to[y * n + x] =
        tile[ty][tx] +
        0.1f * (power[y * n + x] + (tile[s][tx] + tile[north][tx] - 2.0f * tile[ty][tx]) * 0.3f +
                (tile[ty][e] + tile[ty][w] - 2.0f * tile[ty][tx]) * 0.2f);
}
// ---- Pathfinder: dynamic programming by rows ----
__global__ void pathfinder(int steps, const int *wall, const int *from, int *to, int columns,
                           int start) {
  __shared__ int prev[256], result[256];
  int tx = threadIdx.x, small = 256 - steps * 2, x = small * blockIdx.x - steps + tx;
  bool valid = x >= 0 && x < columns;
  if (valid)
    prev[tx] = from[x];
  __syncthreads();
  bool computed = false;
  for (int i = 0; i < steps; i++) {
    computed = false;
    if (tx >= i + 1 && tx <= 254 - i && valid) {
      computed = true;
      int w = max(x > 0 ? tx - 1 : tx, 0), e = min(x < columns - 1 ? tx + 1 : tx, 255);
      int best = min(prev[w], min(prev[tx], prev[e]));
      result[tx] = best + wall[columns * (start + i) + x];
    }
    __syncthreads();
    if (i == steps - 1)
      break;
    if (computed)
      prev[tx] = result[tx];
    __syncthreads();
  }
  if (computed)
    to[x] = result[tx];
}
// ---- Mandelbrot, n queens, collatz: divergent arithmetic ----
__global__ void mandelbrot(unsigned char *out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n)
    return;
  float cr = x * 3.0f / n - 2, ci = y * 2.0f / n - 1, r = 0, i = 0;
  int k = 0;
  while (k < 256 && r * r + i * i < 4) {
    float t = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = t;
    k++;
  }
  out[y * n + x] = k;
}
__global__ void collatz(unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long v = i + 1;
  unsigned steps = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    steps++;
  }
  if (i < n)
    out[i] = steps;
}
__global__ void queens(int size, int depth, unsigned *out, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n)
    return;
  unsigned all = (1u << size) - 1, left[20], column[20], right[20], free_[20], found = 0;
  int a = id % size, b = id / size % size, row = 0;
  column[0] = 1u << a;
  left[0] = column[0] << 1;
  right[0] = column[0] >> 1;
  unsigned bit = 1u << b;
  if ((column[0] | left[0] | right[0]) & bit) {
    out[id] = 0;
    return;
  }
  column[0] |= bit;
  left[0] = (left[0] | bit) << 1;
  right[0] = (right[0] | bit) >> 1;
  free_[0] = all & ~(column[0] | left[0] | right[0]);
  while (row >= 0) {
    if (!free_[row]) {
      row--;
      continue;
    }
    unsigned next = free_[row] & -free_[row];
    free_[row] ^= next;
    if (row + 3 == size) {
      found++;
      continue;
    }
    column[row + 1] = column[row] | next;
    left[row + 1] = (left[row] | next) << 1;
    right[row + 1] = (right[row] | next) >> 1;
    row++;
    free_[row] = all & ~(column[row] | left[row] | right[row]);
  }
  out[id] = found;
}
// ---- Binary search, tree walk ----
__global__ void searches(const int *sorted, const int *wanted, int *out, int size, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int low = 0, high = size, want = wanted[i];
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < want)
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
struct TreeNode {
  int key, left, right;
};
__global__ void tree_walk(const TreeNode *tree, const int *wanted, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int at = 0, want = wanted[i], depth = 0;
  while (at >= 0) {
    TreeNode node = tree[at];
    depth++;
    if (node.key == want)
      break;
    at = want < node.key ? node.left : node.right;
  }
  out[i] = depth;
}
// ---- k-means, n-body with shared tiles, floyd-warshall ----
__global__ void kmeans(const float *feature, const float *cluster, int *member, int points,
                       int clusters, int features) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points)
    return;
  int index = -1;
  float best = 3.4e38f;
  for (int c = 0; c < clusters; c++) {
    float sum = 0;
    for (int f = 0; f < features; f++) {
      float d = feature[f * points + i] - cluster[c * features + f];
      sum += d * d;
    }
    if (sum < best) {
      best = sum;
      index = c;
    }
  }
  member[i] = index;
}
__global__ void nbody(const float4 *position, float4 *force, int n) {
  __shared__ float4 tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 own = position[i], sum = {0, 0, 0, 0};
  for (int t = 0; t < n; t += 128) {
    tile[threadIdx.x] = position[t + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 128; k++) {
      float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f),
            s = tile[k].w * inverse * inverse * inverse;
      sum.x += dx * s;
      sum.y += dy * s;
      sum.z += dz * s;
    }
    __syncthreads();
  }
  force[i] = sum;
}
__global__ void floyd(int *distance, int n, int k) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) {
    int through = distance[y * n + k] + distance[k * n + x];
    if (through < distance[y * n + x])
      distance[y * n + x] = through;
  }
}
// ---- LU decomposition inside a tile; edit distance with local arrays; strings ----
__global__ void lud_diagonal(float *m, int n) {
  __shared__ float s[16][16];
  float *own = m + blockIdx.x * 16 * n + blockIdx.x * 16;
  int tx = threadIdx.x;
  for (int i = 0; i < 16; i++)
    s[i][tx] = own[i * n + tx];
  __syncthreads();
  for (int i = 0; i < 15; i++) {
    if (tx > i) {
      for (int j = 0; j < i; j++)
        s[tx][i] -= s[tx][j] * s[j][i];
      s[tx][i] /= s[i][i];
    }
    __syncthreads();
    if (tx > i)
      for (int j = 0; j < i + 1; j++)
        s[i + 1][tx] -= s[i + 1][j] * s[j][tx];
    __syncthreads();
  }
  for (int i = 1; i < 16; i++)
    own[i * n + tx] = s[i][tx];
}
__global__ void edits(const char *words, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const char *a = words + i * 16, *b = words + (i + 1) % n * 16;
  int row[17];
  for (int k = 0; k <= 16; k++)
    row[k] = k;
  for (int r = 1; r <= 16; r++) {
    int corner = row[0];
    row[0] = r;
    for (int c = 1; c <= 16; c++) {
      int old = row[c];
      int best = min(min(row[c] + 1, row[c - 1] + 1), corner + (a[r - 1] != b[c - 1]));
      row[c] = best;
      corner = old;
    }
  }
  out[i] = row[16];
}
__global__ void strings(const char *text, const char *pattern, int length, int *found, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + length > n)
    return;
  int k = 0;
  while (k < length && text[i + k] == pattern[k])
    k++;
  if (k == length)
    atomicAdd(found, 1);
}
// ---- Connected components by hooks, triangle counting, random walks ----
__global__ void hooks(const int *from, const int *to, int *label, int *changed, int edges) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= edges)
    return;
  int a = label[from[i]], b = label[to[i]];
  if (a != b) {
    atomicMin(&label[max(a, b)], min(a, b));
    *changed = 1;
  }
}
__global__ void shortcuts(int *label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int at = label[i];
  while (label[at] != at)
    at = label[at];
  label[i] = at;
}
__global__ void monte_carlo(unsigned *out, int rounds) {
  unsigned s = blockIdx.x * blockDim.x + threadIdx.x + 1, in = 0;
  for (int k = 0; k < rounds; k++) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    float x = s * 2.3283064e-10f;
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    float y = s * 2.3283064e-10f;
    if (x * x + y * y < 1)
      in++;
  }
  atomicAdd(out, in);
}
__global__ void stencil7(const float *from, float *to, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
    return;
  for (int z = 1; z < n - 1; z++) {
    int i = (z * n + y) * n + x;
    to[i] = 0.5f * from[i] + 0.08f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n] +
                                      from[i - n * n] + from[i + n * n]);
  }
}
__global__ void bitonic(int *v, int j, int k) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, o = i ^ j;
  if (o > i) {
    int a = v[i], b = v[o];
    if ((i & k) == 0 ? a > b : a < b) {
      v[i] = b;
      v[o] = a;
    }
  }
}
__global__ void gauss_column(double *m, int n, int p) {
  int r = blockIdx.x * blockDim.x + threadIdx.x + p + 1;
  if (r >= n)
    return;
  double f = m[r * n + p] / m[p * n + p];
  for (int c = p; c < n; c++)
    m[r * n + c] -= f * m[p * n + c];
}

// CPU time since the last buffer was made: what the launches took.
static double begun;
static double cpu() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}
static unsigned state = 12345;
static unsigned draw() {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
template <class T> static T *given(const std::vector<T> &v) {
  T *d;
  cudaMalloc(&d, v.size() * sizeof(T));
  cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
  begun = cpu();
  return d;
}
template <class T> static T *empty(size_t n) {
  T *d;
  cudaMalloc(&d, n * sizeof(T));
  cudaMemset(d, 0, n * sizeof(T));
  begun = cpu();
  return d;
}
template <class T> static void sum(const T *d, size_t n) {
  cudaDeviceSynchronize();
  double seconds = cpu() - begun;
  std::vector<T> v(n);
  cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  unsigned h = 0;
  const unsigned char *b = (const unsigned char *)v.data();
  for (size_t i = 0; i < n * sizeof(T); i++)
    h = h * 31 + b[i];
  printf("%08x %.4f %s\n", h, seconds, cudaGetErrorString(cudaGetLastError()));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int times = argc > 2 ? atoi(argv[2]) : 1;
  auto is = [&](const char *name) { return strcmp(what, name) == 0; };
  if (is("bfs")) {
    int n = 65536 * times;
    std::vector<Node> node(n);
    std::vector<int> edge;
    for (int i = 0; i < n; i++) {
      int e = 2 + draw() % 8;
      node[i] = {(int)edge.size(), e};
      for (int k = 0; k < e; k++)
        edge.push_back(draw() % n);
    }
    std::vector<int> cost(n, -1);
    cost[0] = 0;
    Node *dn = given(node);
    int *de = given(edge), *dc = given(cost);
    bool *m = empty<bool>(n), *u = empty<bool>(n), *v = empty<bool>(n), *o = empty<bool>(1),
         one = true, over;
    cudaMemcpy(m, &one, 1, cudaMemcpyHostToDevice);
    cudaMemcpy(v, &one, 1, cudaMemcpyHostToDevice);
    do {
      over = false;
      cudaMemcpy(o, &over, 1, cudaMemcpyHostToDevice);
      bfs_visit<<<(n + 511) / 512, 512>>>(dn, de, m, u, v, dc, n);
      bfs_update<<<(n + 511) / 512, 512>>>(m, u, v, o, n);
      cudaMemcpy(&over, o, 1, cudaMemcpyDeviceToHost);
    } while (over);
    sum(dc, n);
  } else if (is("spmv_scalar") || is("spmv_warp")) {
    int n = 32768 * times;
    std::vector<int> row{0}, column;
    std::vector<float> value;
    for (int i = 0; i < n; i++) {
      int e = draw() % 64;
      for (int k = 0; k < e; k++) {
        column.push_back(draw() % n);
        value.push_back(draw() % 10);
      }
      row.push_back(column.size());
    }
    std::vector<float> x(n, 1.5f);
    int *dr = given(row), *dc = given(column);
    float *dv = given(value), *dx = given(x), *dy = empty<float>(n);
    if (is("spmv_warp"))
      spmv_warp<<<n / 8, 256>>>(dr, dc, dv, dx, dy, n);
    else
      spmv_scalar<<<n / 256, 256>>>(dr, dc, dv, dx, dy, n);
    sum(dy, n);
  } else if (is("nw")) {
    int n = 1024 * times, c = n + 1, blocks = n / BLOCK;
    std::vector<int> ref((size_t)c * c), items((size_t)c * c, 0);
    for (auto &r : ref)
      r = (int)(draw() % 20) - 10;
    for (int i = 0; i < c; i++)
      items[i] = items[(size_t)i * c] = -i * 10;
    int *dr = given(ref), *di = given(items);
    for (int i = 1; i <= blocks; i++)
      nw_tile<<<i, BLOCK>>>(dr, di, c, 10, i, blocks, 0);
    for (int i = blocks - 1; i >= 1; i--)
      nw_tile<<<i, BLOCK>>>(dr, di, c, 10, i, blocks, 1);
    sum(di, (size_t)c * c);
  } else if (is("hotspot")) {
    int n = 512;
    std::vector<float> p(n * n), t(n * n);
    for (auto &v : p)
      v = draw() % 10;
    for (auto &v : t)
      v = draw() % 100;
    float *dp = given(p), *a = given(t), *b = given(t);
    for (int i = 0; i < 10 * times; i++) {
      hotspot<<<dim3((n + 13) / 14, (n + 13) / 14), dim3(16, 16)>>>(dp, a, b, n);
      std::swap(a, b);
    }
    sum(a, n * n);
  } else if (is("pathfinder")) {
    int c = 50000, rows = 100 * times;
    std::vector<int> w((size_t)c * rows);
    for (auto &v : w)
      v = draw() % 10;
    int *dw = given(w), *a = empty<int>(c), *b = empty<int>(c);
    for (int r = 0; r < rows; r += 20) {
      pathfinder<<<(c + 215) / 216, 256>>>(20, dw, a, b, c, r);
      std::swap(a, b);
    }
    sum(a, c);
  } else if (is("mandelbrot")) {
    int n = 512 * times;
    unsigned char *o = empty<unsigned char>((size_t)n * n);
    mandelbrot<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(o, n);
    sum(o, (size_t)n * n);
  } else if (is("collatz")) {
    int n = 100000 * times;
    unsigned *o = empty<unsigned>(n);
    collatz<<<(n + 255) / 256, 256>>>(o, n);
    sum(o, n);
  } else if (is("queens")) {
    int n = 100 * times;
    unsigned *o = empty<unsigned>(n);
    queens<<<(n + 63) / 64, 64>>>(10, 2, o, n);
    sum(o, n);
  } else if (is("searches")) {
    int n = 200000 * times, size = 1 << 20;
    std::vector<int> s(size), w(n);
    for (int i = 0; i < size; i++)
      s[i] = i * 3;
    for (auto &v : w)
      v = draw() % (3 * size);
    int *ds = given(s), *dw = given(w), *o = empty<int>(n);
    searches<<<(n + 255) / 256, 256>>>(ds, dw, o, size, n);
    sum(o, n);
  } else if (is("tree")) {
    int size = 1 << 16, n = 100000 * times;
    std::vector<TreeNode> t(1, TreeNode{(int)draw(), -1, -1});
    while ((int)t.size() < size) {
      int key = draw(), at = 0;
      for (;;) {
        int &next = key < t[at].key ? t[at].left : t[at].right;
        if (next < 0) {
          next = t.size();
          break;
        }
        at = next;
      }
      t.push_back({key, -1, -1});
    }
    std::vector<int> w(n);
    for (auto &v : w)
      v = t[draw() % size].key;
    TreeNode *dt = given(t);
    int *dw = given(w), *o = empty<int>(n);
    tree_walk<<<(n + 255) / 256, 256>>>(dt, dw, o, n);
    sum(o, n);
  } else if (is("kmeans")) {
    int points = 20000 * times;
    std::vector<float> f(points * 16), c(8 * 16);
    for (auto &v : f)
      v = draw() % 100;
    for (auto &v : c)
      v = draw() % 100;
    float *df = given(f), *dc = given(c);
    int *o = empty<int>(points);
    kmeans<<<(points + 255) / 256, 256>>>(df, dc, o, points, 8, 16);
    sum(o, points);
  } else if (is("nbody")) {
    int n = 2048 * times;
    std::vector<float4> p(n);
    for (auto &v : p)
      v = float4{(float)(draw() % 100), (float)(draw() % 100), (float)(draw() % 100), 1};
    float4 *dp = given(p), *o = empty<float4>(n);
    nbody<<<n / 128, 128>>>(dp, o, n);
    sum(o, n);
  } else if (is("floyd")) {
    int n = 128 * times;
    std::vector<int> d(n * n);
    for (auto &v : d)
      v = 1 + draw() % 1000;
    int *dd = given(d);
    for (int k = 0; k < n; k++)
      floyd<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(dd, n, k);
    sum(dd, n * n);
  } else if (is("lud")) {
    int n = 4096;
    std::vector<float> m((size_t)n * n);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++)
        m[(size_t)i * n + k] = i == k ? 100 : draw() % 10;
    float *d = given(m);
    for (int i = 0; i < times; i++)
      lud_diagonal<<<n / 16, 16>>>(d, n);
    sum(d, (size_t)n * n);
  } else if (is("edits")) {
    int n = 20000 * times;
    std::vector<char> w(n * 16);
    for (auto &v : w)
      v = 'a' + draw() % 4;
    char *d = given(w);
    int *o = empty<int>(n);
    edits<<<(n + 127) / 128, 128>>>(d, o, n);
    sum(o, n);
  } else if (is("strings")) {
    int n = 1000000 * times;
    std::vector<char> w(n);
    for (auto &v : w)
      v = 'a' + draw() % 2;
    char *d = given(w), *p = given(std::vector<char>{'a', 'b', 'a', 'a', 'b', 'a', 'b', 'b'});
    int *o = empty<int>(1);
    strings<<<(n + 255) / 256, 256>>>(d, p, 8, o, n);
    sum(o, 1);
  } else if (is("components")) {
    int n = 65536 * times, e = n * 2;
    std::vector<int> a(e), b(e), l(n);
    for (int i = 0; i < e; i++)
      a[i] = draw() % n, b[i] = draw() % n;
    for (int i = 0; i < n; i++)
      l[i] = i;
    int *da = given(a), *db = given(b), *dl = given(l), *c = empty<int>(1), changed;
    do {
      changed = 0;
      cudaMemcpy(c, &changed, 4, cudaMemcpyHostToDevice);
      hooks<<<(e + 255) / 256, 256>>>(da, db, dl, c, e);
      shortcuts<<<(n + 255) / 256, 256>>>(dl, n);
      cudaMemcpy(&changed, c, 4, cudaMemcpyDeviceToHost);
    } while (changed);
    sum(dl, n);
  } else if (is("monte_carlo")) {
    unsigned *o = empty<unsigned>(1);
    monte_carlo<<<64, 256>>>(o, 200 * times);
    sum(o, 1);
  } else if (is("stencil7")) {
    int n = 128;
    std::vector<float> f((size_t)n * n * n);
    for (auto &v : f)
      v = draw() % 10;
    float *a = given(f), *b = given(f);
    for (int i = 0; i < 2 * times; i++) {
      stencil7<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(a, b, n);
      std::swap(a, b);
    }
    sum(a, (size_t)n * n * n);
  } else if (is("bitonic")) {
    int n = 65536 * times;
    std::vector<int> v(n);
    for (auto &x : v)
      x = draw();
    int *d = given(v);
    for (int k = 2; k <= n; k *= 2)
      for (int j = k / 2; j; j /= 2)
        bitonic<<<n / 256, 256>>>(d, j, k);
    sum(d, n);
  } else if (is("gauss")) {
    int n = 256 * times;
    std::vector<double> m(n * n);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++)
        m[i * n + k] = i == k ? 100 : draw() % 10;
    double *d = given(m);
    for (int p = 0; p < n - 1; p++)
      gauss_column<<<(n - p + 254) / 256, 256>>>(d, n, p);
    sum(d, n * n);
  } else {
    puts("bfs spmv_scalar spmv_warp nw hotspot pathfinder mandelbrot collatz queens searches tree "
         "kmeans nbody floyd lud edits strings components monte_carlo stencil7 bitonic gauss");
  }
  return cudaDeviceSynchronize();
}
