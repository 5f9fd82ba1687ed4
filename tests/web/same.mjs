// The same answers: command lines through WebAssembly and through the native program, byte for byte. What the host's
// clock and memory say is left out.
//   node same.mjs BANKFOLD WASM
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../../web/wasi.js';

const [native, wasm] = process.argv.slice(2);
const program = new WebAssembly.Module(readFileSync(wasm));
const list = (folder, ending) => readdirSync(folder).filter((name) => name.endsWith(ending)).sort().map((name) => `${folder}/${name}`);

const workloads = [...list('tests/data/workloads', '.trace'), ...list('examples', '.trace')];
const small = workloads.filter((path) => /tile32|dct8|reduce|transpose16|examples\/tile/.test(path));
const bad = list('tests/golden', '.trace');
const hashes = ['none', 'fixed', 'pad:32+1', 'xor:0,5,31', 'cute:3,4,3'];
const transpose = ['kernels/transpose/transpose.ptx', '--launch', 'examples/transpose.launch'];
// A search that ends by its time finds other things on a slower machine. That of random accesses ends by nothing else.
const patient = ['--time-limit', '60'];
const isRandom = (path) => path.includes('rounding');
const explains = [
  ['tile[threadIdx.x][threadIdx.y]', '--type', 'float[32][32]', '--block', '32x8'],
  ['a[tid / 4][tid % 4 * 8]', 'a[tid % 8][lane]', '--type', '__half[64][64]'],
  ['a[k * lane]', '--type', 'double[4096]', '--param', 'k=17', '--op', 'st'], ['a[', '--type', 'float[2]'], ['a[99]', '--type', 'float[2]'],
];

const kernels = readdirSync('kernels', { withFileTypes: true }).filter((own) => own.isDirectory()).flatMap((own) => list(`kernels/${own.name}`, '.ptx'));
const launches = list('tests/golden', '.launch').map((path) => [path.replace(/\.launch$/, '.ptx'), path]).filter(([ptx, path]) => existsSync(ptx) && !/endless/.test(path));

// Compressed by zstd in several ways, cut off, and damaged in places all over.
const scratch = mkdtempSync(join(tmpdir(), 'bankfold-same-'));
process.on('exit', () => rmSync(scratch, { recursive: true }));
function compressed() {
  const made = [];
  const keep = (name, bytes) => { made.push(join(scratch, name)); writeFileSync(made.at(-1), bytes); };
  for (const options of [['-1'], ['-19'], ['--fast=5'], ['-9', '--no-check'], ['-3', '-B1024']]) {
    const packed = spawnSync('zstd', ['-q', '-c', ...options, 'tests/data/workloads/fft1024.trace']).stdout;
    if (!packed?.length) return []; // no zstd
    keep(`whole${options.join('')}.trace`, packed);
    keep(`twice${options.join('')}.trace`, Buffer.concat([packed, packed]));
    keep(`cut${options.join('')}.trace`, packed.subarray(0, packed.length * 2 / 3));
    for (let i = 0; i < 12; i++) {
      const damaged = Buffer.from(packed);
      damaged[Math.floor((damaged.length - 1) * i / 11)] ^= 1 << i % 8;
      keep(`bad${options.join('')}-${i}.trace`, damaged);
    }
  }
  return made;
}

const commands = [
  ...compressed().map((path) => ['check', path, '--json']),
  ...kernels.map((path) => ['analyze', path, '--block', '16x16', '--json']),
  ...kernels.map((path) => ['rewrite', path, '--block', '16x16', '--output', '-']),
  ...launches.flatMap(([ptx, path]) => [['profile', ptx, '--launch', path, ...(isRandom(path) ? [] : patient), '--json'], ['sim', ptx, '--launch', path, '--json']]),
  ...workloads.flatMap((path) => hashes.map((hash) => ['check', path, '--hash', hash, '--json', '--accesses'])),
  ...workloads.map((path) => ['check', path, '--json']),
  ...bad.map((path) => ['check', path, '--json']),
  ...workloads.map((path) => ['draw', path, '--hash', 'fixed', '--json']),
  ...workloads.map((path) => ['classify', path, '--json', '--accesses']),
  ...small.map((path) => ['solve', path, '--json']),
  ...workloads.map((path) => ['solve', path, '--method', 'min-imbalance', '--json']),
  ...explains.flatMap((own) => [['explain', ...own, '--json'], ['explain', ...own, '--trace'], ['explain', ...own, '--draw']]),
  ['machines', '--json'], ['machines', 'h200', '--json'], ['report', 'examples/tile.trace', '--json'],
  ...['none', 'fixed', 'pad:32+1'].map((hash) => ['profile', ...transpose, '--hash', hash, ...patient, '--json']),
  ['trace', ...transpose], ['analyze', transpose[0], '--block', '32x8', '--json'],
  ['rewrite', ...transpose, '--check', '--output', '-'], ['rewrite', transpose[0], '--block', '32x8', '--output', '-'],
  ['rewrite', transpose[0], '--block', '32x8', '--explain', '--json'], ['rewrite', transpose[0], '--hash', 'fixed', '--output', '-'],
  ['rewrite', transpose[0], '--hash', 'pad:32+1', '--output', '-'], ['emit', '--hash', 'cute:3,4,3', '--as', 'cuda'],
  ...['none', 'fixed'].map((hash) => ['sim', ...transpose, '--hash', hash, '--json']),
  ['sim', 'examples/pipeline.ptx', '--launch', 'examples/pipeline.launch', '--gpu', 'examples/pipeline.gpu', '--diagram', '40'],
  ['suggest', transpose[0], '--source', 'kernels/transpose/transpose.cu', '--block', '32x8', '--json'],
  ['profile', 'tests/golden/deadlock.ptx', '--launch', 'tests/golden/deadlock.launch', ...patient, '--json'],
  ['ptx', transpose[0], '--json'], ['nonsense'], ['check'],
];

// The files that a command line names, also as --option FILE.
function filesOf(argv) {
  const files = new Map();
  for (const word of argv)
    if (/\.(trace|ptx|launch|machine|gpu|cu)$/.test(word)) files.set(word.replace(/^\//, ''), readFileSync(word));
  return files;
}

// Times and memory of the host, what a search found that ended by its time, and which of zstd's checks is first to see that data is
// damaged.
const host = /"(seconds|host_seconds|host_bytes_per_warp|instructions_per_second)": [-0-9.e+]+/g;
const plain = (bytes) => Buffer.from(bytes).toString('latin1').replace(host, '"$1": *').replace(/the best step saves \d+ of/g, 'the best step saves some of').replace(/damaged zstd data: .*?(?="|$)/gm, 'damaged zstd data');

let failed = 0;
for (const argv of commands) {
  const own = spawnSync(native, argv, { maxBuffer: 1 << 28 });
  const web = runProgram(program, ['bankfold', ...argv], filesOf(argv));
  const parts = [['status', own.status, web.status], ['output', plain(own.stdout), plain(web.output)], ['errors', plain(own.stderr), plain(web.errors)]];
  const different = parts.filter(([name, a, b]) => a !== b && !(name === 'errors' && argv[0] === 'nonsense'));
  if (!different.length) continue;
  failed++;
  console.log(`FAILED ${argv.join(' ')}`);
  for (const [name, a, b] of different) console.log(`  ${name}:\n  native ${String(a).slice(0, 400)}\n  web    ${String(b).slice(0, 400)}`);
}
console.log(`${commands.length - failed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
