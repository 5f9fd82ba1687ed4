// Back propagation in a layer of a neural network with 16 hidden units. A block of 16 x 16 threads
// takes 16 inputs; tile rows belong to inputs and columns to hidden units, so that a warp always
// touches two whole rows.
enum { SIDE = 16 };

// partial[block * 16 + unit]: the sum over the inputs of a block of input * weight.
extern "C" __global__ void backprop_forward(const float *inputs, const float *weights,
                                            float *partial) {
  __shared__ float input[SIDE];
  __shared__ float products[SIDE][SIDE];
  unsigned x = threadIdx.x, y = threadIdx.y;
  if (x == 0)
    input[y] = inputs[blockIdx.x * SIDE + y];
  __syncthreads();
  products[y][x] = weights[(blockIdx.x * SIDE + y) * SIDE + x] * input[y];
  for (unsigned distance = SIDE / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (y < distance)
      products[y][x] += products[y + distance][x];
  }
  if (y == 0)
    partial[blockIdx.x * SIDE + x] = products[0][x];
}

// Moves each weight against its error, and by a part of its last change.
extern "C" __global__ void backprop_adjust(const float *inputs, const float *deltas, float rate,
                                           float momentum, float *weights, float *changes) {
  __shared__ float input[SIDE], delta[SIDE];
  unsigned x = threadIdx.x, y = threadIdx.y;
  if (x == 0)
    input[y] = inputs[blockIdx.x * SIDE + y];
  if (y == 0)
    delta[x] = deltas[x];
  __syncthreads();
  unsigned i = (blockIdx.x * SIDE + y) * SIDE + x;
  float change = rate * delta[x] * input[y] + momentum * changes[i];
  weights[i] += change;
  changes[i] = change;
}
