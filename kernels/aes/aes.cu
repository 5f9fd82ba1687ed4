// AES-128 with tables in shared memory: four tables of 256 words do the work of a round on a column
// of four bytes. Four threads share a block of 16 bytes, one for each column, and exchange columns
// through shared memory. Which words of the tables are read depends on the data.
enum { THREADS = 256, ROUNDS = 10 };

__device__ unsigned byte_of(unsigned word, unsigned i) { return word >> 8 * i & 255; }

// Columns are words with row 0 in the lowest byte. Row i comes from column + DIRECTION * i: 1 when
// encrypting, 3 when decrypting. tables: 4 x 256 words for a round, box: 256 bytes for the last
// one; round_keys: 11 x 4 words. One block for each 64 blocks of data.
template <int DIRECTION>
__device__ void cipher(const unsigned *tables, const unsigned char *box, const unsigned *round_keys,
                       const unsigned *input, unsigned *output) {
  __shared__ unsigned table[4][256];
  __shared__ unsigned char last[256];
  __shared__ unsigned keys[4 * (ROUNDS + 1)];
  __shared__ unsigned state[2][THREADS];
  unsigned t = threadIdx.x, column = t % 4, block = t - column;
  for (unsigned i = 0; i < 4; i++)
    table[i][t] = tables[256 * i + t];
  last[t] = box[t];
  if (t < 4 * (ROUNDS + 1))
    keys[t] = round_keys[t];
  __syncthreads();

  unsigned at = blockIdx.x * THREADS + t;
  state[0][t] = input[at] ^ keys[column];
  unsigned from[4];
  for (unsigned i = 0; i < 4; i++)
    from[i] = block + (column + DIRECTION * i) % 4;
  for (unsigned round = 1; round < ROUNDS; round++) {
    __syncthreads();
    const unsigned *old = state[(round + 1) % 2];
    unsigned word = keys[4 * round + column];
    for (unsigned i = 0; i < 4; i++)
      word ^= table[i][byte_of(old[from[i]], i)];
    state[round % 2][t] = word;
  }
  __syncthreads();
  unsigned word = keys[4 * ROUNDS + column];
  for (unsigned i = 0; i < 4; i++)
    word ^= (unsigned)last[byte_of(state[(ROUNDS - 1) % 2][from[i]], i)] << 8 * i;
  output[at] = word;
}

extern "C" __global__ void aes_encrypt(const unsigned *tables, const unsigned char *box,
                                       const unsigned *round_keys, const unsigned *input,
                                       unsigned *output) {
  cipher<1>(tables, box, round_keys, input, output);
}

extern "C" __global__ void aes_decrypt(const unsigned *tables, const unsigned char *box,
                                       const unsigned *round_keys, const unsigned *input,
                                       unsigned *output) {
  cipher<3>(tables, box, round_keys, input, output);
}
