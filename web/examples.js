// Worked examples: each is a state of the page, and a few sentences on what to look at.
import { h } from './dom.js';

const index = (expressions, type, block, more = {}) => ({ view: 'access', access: { form: 'index', index: expressions, type, block, ...more } });
const trace = (lines, more = {}) => ({ view: 'access', access: { form: 'trace', trace: lines.join('\n'), ...more } });
const remedy = (own) => ({ remedy: own });

// Addresses of 32 lanes, as a line of a trace has them.
const lanes = (of) => Array.from({ length: 32 }, (unused, lane) => of(lane)).join(' ');
// Bits of a number, turned around.
const reversed = (value, bits) => { let turned = 0; for (let i = 0; i < bits; i++) turned |= (value >> i & 1) << (bits - 1 - i); return turned; };

export const examples = [
  { title: 'A column of a tile', about: 'A transpose writes a 32×32 tile by rows and reads it by columns: all lanes want bank 0. Step through the 32 wavefronts, then press Solve: one unused word behind each row is enough.',
    state: index('tile[threadIdx.x][threadIdx.y]', 'float[32][32]', '32x8', remedy({ kind: 'none' })) },
  { title: 'The same with padding', about: 'Rows of 33 words move each row on by one bank, so a column meets every bank once. Drag the unused words to 2: half of the banks are left out again.',
    state: index('tile[threadIdx.x][threadIdx.y]\ntile[threadIdx.y][threadIdx.x]', 'float[32][32]', '32x8', remedy({ kind: 'pad', row: 32, words: 1 })) },
  { title: 'A reduction with growing strides', about: 'Threads add the element s further on, and only every 2s-th takes part. Change s=4 to 1, 2, 8: the stride of the lanes is 2s, and the conflicts double each time.',
    state: index('sum[2 * s * tid]', 'float[4096]', '32', { param: 's=4', ...remedy({ kind: 'none' }) }) },
  { title: 'An FFT, bit-reversed', about: 'The first stage of an FFT of 1024 points loads with the bits of the index turned around: neighbours are 512 points apart. XOR of high bits into the bank spreads them.',
    state: trace([`ld 4 ffffffff ${lanes((lane) => 4 * reversed(lane, 10))} @bit-reversed`, `st 4 ffffffff ${lanes((lane) => 4 * lane)} @in-order`], remedy({ kind: 'none' })) },
  { title: 'A tile of a matrix product', about: 'Each thread reads four floats of a row of 128 bytes: accesses of 16 bytes are served in four parts of eight lanes, and whole rows of them share banks.',
    state: index('a[tid][0]', 'float4[32][8]', '32', remedy({ kind: 'cute', b: 3, m: 4, s: 3 })) },
  { title: 'A histogram', about: 'Every lane adds to the counter of its value. Equal values are one word and wait for each other whatever the banks; different values of one bank are conflicts that a hash can remove.',
    state: trace([`atom 4 ffffffff ${lanes((lane) => 4 * ((lane * 32) % 256))} @same-bank`, `atom 4 ffffffff ${lanes((lane) => 4 * (lane >> 3))} @same-value`], remedy({ kind: 'xor', from: 0, with: 5, mask: 31 })) },
  { title: 'A swizzled tile of a tensor copy', about: 'A box of 64 halves a row (128 bytes) lies row behind row; a column of 16-byte pieces is in 4 banks. The 128-byte mode of tensor copies XORs the row into the piece.',
    state: trace([`ld 16 ffffffff ${lanes((lane) => 128 * lane)} @column-of-pieces`], remedy({ kind: 'tma', tma: '128' })) },
  { title: 'A sort, as Triton has it', about: 'A bitonic step exchanges elements whose indices differ in one bit. Where values are kept in pairs, the lanes of an exchange meet in half of the banks.',
    state: index('keys[2 * (tid ^ 16)]\nkeys[2 * tid + 1]', 'int[128]', '32', remedy({ kind: 'none' })) },
];

export const examplesDefaults = {};

// The page of examples; take(state) shows one.
export class ExamplesView {
  constructor(state, machines, onchange, shared) {
    const open = (one) => () => shared.take(one.state);
    const kernel = { title: 'A kernel, line by line', about: 'The PTX of a transpose with its source: conflicts by line, formulas of addresses, a run on the emulator, and the kernel rewritten. Its time is in the next view.', state: shared.kernelExample };
    this.element = h('div', { class: 'examples ready' }, [...examples, kernel].map((one) => h('article', { class: 'panel' }, h('h2', null, one.title), h('p', null, one.about),
      h('button', { type: 'button', class: 'quiet', onclick: open(one) }, 'Open'))));
  }

  refresh() {}
}
