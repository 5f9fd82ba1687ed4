// Inputs of tests/fuzz, and each of them damaged in several ways, through the entry of the page's worker (web/worker.js): every one is answered, by an answer or a message;
// no run of the program traps.
//   node fuzz.mjs WASM
import { readFileSync, readdirSync } from 'node:fs';

const corpus = 'tests/fuzz/corpus';
// What the page does with files of a kind.
const uses = {
  trace: ['check', 'FILE', '--json'], foreign: ['check', 'FILE', '--json'], line: ['draw', 'FILE', '--json'], ptx: ['ptx', 'show', 'FILE'],
  fatbin: ['ptx', 'show', 'FILE'], analyze: ['analyze', 'FILE', '--block', '32x8', '--json'], emu: ['analyze', 'FILE', '--json'],
  rewrite: ['rewrite', 'FILE', '--block', '32x8', '--output', '-'], source: ['suggest', 'FILE', '--block', '32', '--json'],
  hash: ['check', 'access.trace', '--hash', 'TEXT', '--json'], gpu: ['machines', '--gpu', 'FILE', '--json'], layout: ['check', 'access.trace', '--hash', 'TEXT', '--json'],
};
const damages = 24;

// The bytes with a few bits turned, cut off or said twice, by a number: the same each time.
function damaged(bytes, number) {
  if (!number || !bytes.length) return bytes;
  let state = 2654435761 * number;
  const below = (limit) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor((state / 2 ** 32) * limit); };
  const made = Buffer.from(number % 4 === 3 ? Buffer.concat([bytes, bytes.subarray(below(bytes.length))]) : bytes);
  for (let i = 0; i <= number % 5; i++) made[below(made.length)] ^= 1 << below(8);
  return number % 4 === 2 ? made.subarray(0, below(made.length)) : made;
}

globalThis.onmessage = null;
let answered;
globalThis.postMessage = (message) => answered(message);
await import('../../web/worker.js');
const ask = (data) => new Promise((resolve) => { answered = resolve; globalThis.onmessage({ data }); });
globalThis.onmessage({ data: { program: new WebAssembly.Module(readFileSync(process.argv[2])) } });

let passed = 0, failed = 0;
async function tryOne(what, argv, bytes) {
  const files = new Map([['input.bin', bytes], ['access.trace', Buffer.from('ld 4 ffffffff stride:32\n')]]);
  const words = argv.map((word) => ({ FILE: 'input.bin', TEXT: bytes.toString('latin1').replaceAll('\0', '') })[word] ?? word);
  const { status, output, errors } = await ask({ id: 1, argv: ['bankfold', ...words], files });
  const isAnswer = status <= 1, isMessage = status === 2 && errors !== '' && !errors.includes('too large for a browser');
  if (isAnswer || isMessage) return passed++;
  failed++;
  return console.log(`FAILED ${what}: status ${status}, ${JSON.stringify(errors.slice(0, 200))}, ${output.length} bytes of output`);
}
for (const [kind, argv] of Object.entries(uses))
  for (const name of readdirSync(`${corpus}/${kind}`).sort())
    for (let number = 0; number <= damages; number++) await tryOne(`${kind}/${name}, damage ${number}`, argv, damaged(readFileSync(`${corpus}/${kind}/${name}`), number));
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
