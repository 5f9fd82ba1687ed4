// What bench/web.sh measures.
//   node bench/web.mjs CHROMIUM BUILD BENCH_EMU_WASM
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Browser } from '../tests/web/chrome.mjs';
import { runProgram } from '../web/wasi.js';

const [chromium, build, wasm] = process.argv.slice(2);
const page = `${build}/web/explorer.html`, address = `file://${resolve(page)}`;
const say = (what) => console.log(JSON.stringify({ bench: 'web', ...what }));
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

// ---- Download ----

say({ what: 'download', bytes: gzipSync(readFileSync(page), { level: 9 }).length });

// ---- In the browser ----

// Notes when the first picture is there, since the navigation began.
const noteFirst = `new MutationObserver((list, own) => { if (document.querySelector('.picture')) { globalThis.firstPicture ??= performance.now(); own.disconnect(); } }).observe(document, { childList: true, subtree: true })`;

async function coldStart() {
  const browser = new Browser(chromium);
  const own = await browser.open(address, { before: noteFirst });
  const time = await own.until('globalThis.firstPicture');
  await browser.close();
  return time;
}

// From a key to the answer on the page, one after another.
async function typing(own) {
  const times = [];
  for (let i = 0; i < 40; i++)
    times.push(await own.evaluate(`new Promise((done) => { const begin = performance.now(), own = document.querySelector('#index'), results = document.querySelector('.results'), count = results.dataset.done;
      const observer = new MutationObserver(() => { if (results.dataset.done !== count) { observer.disconnect(); done(performance.now() - begin); } });
      observer.observe(results, { attributes: true });
      own.value = 'tile[threadIdx.x][threadIdx.y ^ ${i}]'; own.dispatchEvent(new Event('input', { bubbles: true })); })`));
  return times;
}

// A file with 100,000 accesses, each another one, from the moment it is given to its totals.
function large(own) {
  return own.evaluate(`(async () => { document.querySelector('[data-view=report]').click();
    let text = ''; for (let i = 0; i < 100000; i++) text += 'ld 4 ffffffff stride:' + (1 + i % 37) + '+' + i % 64 + ' @line' + i % 50 + '\\n';
    const list = new DataTransfer(), input = document.querySelector('#report-before'); list.items.add(new File([text], 'large.trace'));
    const begin = performance.now(); input.files = list.files; input.dispatchEvent(new Event('change'));
    while (!document.querySelector('.totals')) await new Promise((done) => setTimeout(done, 2));
    return performance.now() - begin; })()`);
}

if (chromium) {
  const starts = [];
  for (let i = 0; i < 5; i++) starts.push(await coldStart());
  say({ what: 'first picture, cold', median_ms: Math.round(median(starts)), least_ms: Math.round(Math.min(...starts)), times: starts.length });
  const browser = new Browser(chromium), own = await browser.open(address);
  await own.until(`document.querySelector('.picture')`);
  const keys = await typing(own);
  say({ what: 'answer while typing', median_ms: Math.round(median(keys)), least_ms: Math.round(Math.min(...keys)), times: keys.length });
  say({ what: '100000 accesses', ms: Math.round(await large(own)) });
  await browser.close();
}

// ---- The emulator: the best of several runs of each, in turn ----

const best = { native: new Map(), web: new Map() };
const keep = (side, output) => {
  for (const line of output.split('\n').filter(Boolean)) {
    const own = JSON.parse(line), key = `${own.kernel}${own.profile ? ', profiled' : ''}`;
    if (own.set === 'plain' && own.cores === 1) best[side].set(key, Math.max(best[side].get(key) ?? 0, own.thread_instructions_per_second));
  }
};
const module = new WebAssembly.Module(readFileSync(wasm)), ptx = readFileSync('bench/emu.ptx');
for (let i = 0; i < 3; i++) {
  keep('native', spawnSync(`${build}/bench/bench_emu`, [], { encoding: 'utf8' }).stdout);
  keep('web', Buffer.from(runProgram(module, ['bench_emu'], new Map([['bench/emu.ptx', ptx]])).output).toString());
}
for (const [kernel, native] of best.native) say({ what: 'emulation', kernel, native, web: best.web.get(kernel), times_slower: Number((native / best.web.get(kernel)).toFixed(2)) });
