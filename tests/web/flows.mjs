// The explorer in Chromium: every flow, as a user goes through it.
//   node flows.mjs CHROMIUM PAGE PAGES [FOLDER]      PAGES holds pages with something in them; FOLDER gets screenshots
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { Browser } from './chrome.mjs';
import { click, example, give, has, text, type } from './hands.mjs';

const [chromium, path, pages, folder] = process.argv.slice(2);
const address = `file://${resolve(path)}`;
const browser = new Browser(chromium);
let passed = 0, failed = 0;

function expect(isTrue, what) {
  if (!isTrue) throw new Error(what);
}

// Runs a test with a page of its own; errors in the page are failures too.
async function flow(name, work, options = {}) {
  let page;
  try {
    page = await browser.open((options.address ?? (options.page ? `file://${resolve(pages, options.page)}` : address)) + (options.hash ?? ''), options);
    await work(page);
    expect(page.complaints.length === 0, `the page complains: ${page.complaints.join('; ')}`);
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.message}`);
    if (folder && page) writeFileSync(`${folder}/failed-${failed}.png`, await page.screenshot());
  }
  await page?.close();
}

await flow('a column read is drawn', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  expect((await text(page, '.totals')).includes('248'), '248 conflicts');
  expect(await page.evaluate(`document.querySelectorAll('.picture .row').length`) === 32, '32 wavefronts');
});

await flow('typing changes the answer', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await type(page, '#index', 'tile[threadIdx.y][threadIdx.x]');
  await page.until(has('.totals .good', '0'));
  await type(page, '#index', 'tile[threadIdx.y][');
  await page.until(`!document.querySelector('.problem').hidden`);
  expect((await text(page, '.problem')).length > 5, 'a message');
});

await flow('an access is given in every form', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  const given = async (form, changes, conflicts) => {
    await type(page, '#form', form);
    for (const [label, value] of changes)
      await page.evaluate(`(() => { const own = [...document.querySelectorAll('.controls .field')].find((field) => field.querySelector('label').textContent === ${JSON.stringify(label)}).querySelector('input, select, .editor');
        own.value = ${JSON.stringify(value)}; own.dispatchEvent(new Event('input', { bubbles: true })); own.dispatchEvent(new Event('change', { bubbles: true })); })()`);
    const value = `[...document.querySelectorAll('.totals .total')].at(2)?.querySelector('.value').textContent`;
    await page.until(`document.querySelector('.results .problem').hidden && ${value} === '${conflicts}'`, 8000).catch(async () => {
      throw new Error(`${form}: ${await page.evaluate(value)} conflicts, not ${conflicts}; ${await text(page, '.results .problem')}`);
    });
  };
  await given('stride', [['elements from lane to lane', '8']], 7);
  await given('layout', [['layout', '(32,4):(4,1)'], ['element', 'float'], ['values at a time', '4']], 0);
  await given('layout', [['values at a time', '1']], 12); // four loads of a stride of four words: 4 - 1 each
  await given('layout', [['layout', '(_32,Int<4>{}):(_32,_1)']], 124);
  await given('layout', [['layout', 'Swizzle<5,0,5> o (32,4):(32,1)']], 0);
  await given('box', [['box: rows x columns', '64x64'], ['element', '__half'], ['bytes a lane', '16'], ['swizzle of the copy', 'none'], ['block', '32']], 28);
  await given('box', [['swizzle of the copy', '128']], 0);
  await given('matrix', [['row that a lane gives', 'a[lane % 16][lane / 16 * 8]'], ['array', '__half[16][64]'], ['block', '32']], 28);
  await given('matrix', [['array', '__half[16][72]']], 0);
  await type(page, '#form', 'layout');
  await type(page, '#cute', '(32,4:(4,1)');
  await page.until(has('.results .problem', 'shape: expected ) or ,'));
});

await flow('keys reach the editor, and a mistake is marked in it', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await page.evaluate(`document.querySelector('#index').shadowRoot.querySelector('.cm-content').focus()`);
  for (const [key, modifiers] of [['a', 2], ['Delete', 0]]) for (const type of ['keyDown', 'keyUp']) await page.send('Input.dispatchKeyEvent', { type, key, code: key === 'a' ? 'KeyA' : key, modifiers, windowsVirtualKeyCode: key === 'a' ? 65 : 46 });
  await page.send('Input.insertText', { text: 'tile[threadIdx.y][threadIdx.x' });
  await page.until(`Boolean(document.querySelector('#index').shadowRoot.querySelector('.wrong-line'))`);
  await page.send('Input.insertText', { text: ']' });
  await page.until(`${has('.totals .good', '0')} && !document.querySelector('#index').shadowRoot.querySelector('.wrong-line')`);
});

await flow('a cell is explained under the pointer and by keys', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await page.evaluate(`document.querySelectorAll('.picture .cell')[3].dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))`);
  expect((await text(page, '.about')).startsWith('Wavefront 4: bank 0 hands word 96 to lane 3'), await text(page, '.about'));
  await page.evaluate(`document.querySelector('.figure .scroller').focus()`);
  await page.press('ArrowDown');
  expect((await text(page, '.about')).startsWith('Wavefront 5:'), 'a row down');
});

await flow('wavefronts are stepped through', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[aria-label="next wavefront"]');
  expect(await page.evaluate(`document.querySelectorAll('.picture .row.later').length`) === 31, 'one is done');
  await page.evaluate(`[...document.querySelectorAll('.stepper button')][1].click()`);
  await page.until(has('.step-label', 'wavefront 3 of 32'));
});

await flow('the remedy is moved', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await type(page, '.remedy select', 'pad');
  await page.until(has('.totals', 'conflicts with pad:32+1'));
  await page.until(`document.querySelectorAll('.picture').length === 2`);
  await type(page, '.remedy input', '16');
  await page.until(has('.totals', 'pad:16+1'));
});

await flow('solving finds the fix', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '#solve');
  await page.until(`document.querySelectorAll('.rung').length === 6`);
  await page.until(has('.totals', 'conflicts with pad:'));
});

await flow('the state is in the address', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await type(page, '#index', 'tile[threadIdx.x][threadIdx.y ^ 5]');
  await page.until(`location.hash.startsWith('#1')`);
  await new Promise((done) => setTimeout(done, 500));
  const hash = await page.evaluate('location.hash');
  await flow('and comes back from there', async (again) => {
    await again.until(`document.querySelector('.picture')`);
    expect(await again.evaluate(`document.querySelector('#index').value`) === 'tile[threadIdx.x][threadIdx.y ^ 5]', 'the same index');
  }, { hash });
});

await flow('an address that is damaged is ignored', async (page) => {
  await page.until(`document.querySelector('.picture')`);
}, { hash: '#1nonsense' });

await flow('every example opens, and is drawn or listed', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[data-view=examples]');
  const count = await page.evaluate(`document.querySelectorAll('.examples button').length`);
  expect(count === 9, `${count} examples`);
  for (let i = 0; i < count; i++) {
    await example(page, i);
    await page.until(`document.querySelector('.results')?.dataset.done && document.querySelector('.picture')`);
    expect(await page.evaluate(`document.querySelector('.problem').hidden`), `example ${i}: ${await text(page, '.problem')}`);
  }
});

await flow('a kernel is shown by line, run and rewritten', async (page) => {
  await example(page, -1);
  await page.until(`document.querySelectorAll('.code-line.hot').length > 1 && document.querySelector('.beside .picture')`);
  expect((await text(page, '.totals')).includes('1,112'), 'conflicts of a block');
  expect((await text(page, '.chain')) === 'transpose.cu:19 inlined at transpose.cu:32', await text(page, '.chain'));
  expect(await page.evaluate(`document.querySelectorAll('.code-line.call').length`) === 4, 'lines that calls were inlined at');
  await page.until(has('.results', 'In the source'));
  await click(page, '#run');
  await page.until(has('.results', 'Counted on the emulator'));
  expect((await text(page, '.results')).includes('63,488'), 'conflicts counted');
  await page.until(`document.querySelector('#cancel').hidden`);
  await click(page, '#rewrite');
  await page.until(`document.querySelector('#save-ptx')`, 60000);
  expect((await text(page, '.results')).includes('bytes of memory are equal'), 'checked');
});

await flow('files that are dropped anywhere find their view', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  const drop = (name, content) => page.evaluate(`(() => { const list = new DataTransfer(); list.items.add(new File([${JSON.stringify(content)}], ${JSON.stringify(name)}));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: list, bubbles: true, cancelable: true })); })()`);
  await drop('a.trace', 'ld 4 ffffffff stride:32 @column');
  await page.until(`${has('[aria-current]', 'Report')} && ${has('.totals', '31')}`);
  await drop('b.json', JSON.stringify({ sites: [{ site: 'column', wavefronts: 2, ideal: 1, conflicts: 1 }] }));
  await page.until(has('.totals', '-30'));
  await drop('k.ptx', readFileSync('kernels/transpose/transpose.ptx', 'utf8'));
  await page.until(`${has('[aria-current]', 'Kernel')} && ${has('.totals', '1,112')}`);
});

await flow('banks and lanes are explained too', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await page.evaluate(`document.querySelector('.picture .head').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))`);
  expect((await text(page, '.about')).startsWith('Bank 0 must hand out 32 words: 0, 32, 64'), await text(page, '.about'));
  await page.evaluate(`document.querySelectorAll('.lanes .lane')[5].dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))`);
  expect((await text(page, '.about')).startsWith('Wavefront 6: bank 0 hands word 160 to lane 5'), await text(page, '.about'));
});

await flow('tables are copied, pictures and timelines saved', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  const saved = `globalThis.saved = {}; HTMLAnchorElement.prototype.click = function () { const name = this.download; fetchBlob(this.href).then((size) => { saved[name] = size; }); };
    const blobs = new Map(), make = URL.createObjectURL; URL.createObjectURL = (blob) => { const address = make(blob); blobs.set(address, blob); return address; };
    const fetchBlob = async (address) => blobs.get(address).text(); navigator.clipboard.writeText = async (words) => { saved.clipboard = words; };`;
  await page.evaluate(`(() => { ${saved} })()`);
  const press = (words) => page.evaluate(`[...document.querySelectorAll('main button')].find((own) => own.textContent === ${JSON.stringify(words)}).click()`);
  await press('Copy CSV');
  await page.until(`saved.clipboard?.startsWith('access,worst,warps,ideal,conflicts\\n')`);
  await press('SVG');
  await page.until(`saved['access.svg']?.startsWith('<svg')`);
  await press('PNG');
  await page.until(`saved['access.png']?.includes('PNG')`);
  await click(page, '#share');
  await page.until(`saved.clipboard.includes('#1')`);
  await example(page, -1);
  await page.until(`document.querySelector('.beside .picture')`);
  await click(page, '[data-view=time]');
  await click(page, '#simulate');
  await page.until(`document.querySelectorAll('.timeline').length === 2`, 60000);
  await press('For Perfetto');
  await page.until(`saved['timeline_none.json']`);
  const counters = await page.evaluate(`[...new Set(JSON.parse(saved['timeline_none.json']).traceEvents.filter((own) => own.ph === 'C').map((own) => own.name))].join()`);
  expect(counters === 'wavefronts,at barriers,issued', counters);
});

await flow('a run and a simulation are cancelled', async (page) => {
  await example(page, -1);
  await page.until(`document.querySelector('.beside .picture')`);
  await type(page, '#launch', 'buffer in f32 67108864 random 0 1\nbuffer out f32 67108864 zero\nlaunch transpose32 grid 256 256 block 32 8 with out in s32:8192 s32:8192\n');
  await click(page, '#run');
  await page.until(`!document.querySelector('progress').hidden && !document.querySelector('#cancel').hidden`);
  await click(page, '#cancel');
  await page.until(`${has('.controls p[aria-live]', 'Cancelled')} && document.querySelector('progress').hidden`);
  await click(page, '[data-view=time]');
  await click(page, '#simulate');
  await page.until(has('#simulate', 'Cancel'));
  await click(page, '#simulate');
  await page.until(`${has('.controls p[aria-live]', 'Cancelled')} && ${has('#simulate', 'Simulate')}`);
});

await flow('files are dropped: PTX, a program, and what is neither', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[data-view=kernel]');
  await give(page, '#file', [['bad.ptx', '.version 8.0\n.target sm_80\n.address_size 64\n.entry x() { nonsense; }']]);
  await page.until(`!document.querySelector('.problem').hidden`);
  await give(page, '#file', [['picture.png', 'not a program']]);
  await page.until(`!document.querySelector('.problem').hidden`);
});

let simulated; // what the totals say
await flow('time is simulated, plain and hashed', async (page) => {
  await example(page, -1);
  await page.until(`document.querySelector('.code-line.hot')`);
  await click(page, '[data-view=time]');
  await click(page, '#simulate');
  await page.until(`document.querySelectorAll('.timeline').length === 2`, 60000);
  expect(/[0-9],[0-9]{3}\s*cycles as it is.*cycles fixed\s*1\.[0-9]+\s*times as fast/s.test(await text(page, '.totals')), await text(page, '.totals'));
  expect((await text(page, '.bars')).includes('bank conflict'), 'stalls');
  simulated = await text(page, '.totals');
  expect(await page.evaluate(`document.querySelectorAll('.timeline .track-of').length`) === 6, 'three counters each');
});

const report = (conflicts) => JSON.stringify({ kernels: [{ name: 'k', lines: [{ file: 'a.cu', line: 3, wavefronts: 40, ideal: 8, conflicts, explanation: 'stride' }, { file: 'a.cu', line: 9, wavefronts: 8, ideal: 8, conflicts: 0, explanation: 'linear' }] }] });
await flow('reports are read, filtered and compared', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[data-view=report]');
  await give(page, '#report-before', [['before.json', report(32)]]);
  await page.until(has('.totals', '32'));
  await give(page, '#report-after', [['after.json', report(4)]]);
  await page.until(has('.totals', '-28'));
  await type(page, '.table input[type=search]', 'cu:3');
  expect(await page.evaluate(`document.querySelectorAll('tbody tr').length`) === 1, 'filtered');
  await give(page, '#report-after', [['a.trace', 'ld 4 ffffffff stride:32']]);
  await page.until(has('.totals', '31'));
  await give(page, '#report-before', [['old.baseline', 'bankfold baseline 1\n40\t48\ta.cu k\n']]);
  await give(page, '#report-after', [['after.json', report(4)]]);
  await page.until(has('.totals', '-36'));
  await give(page, '#report-after', [['a.trace', 'ld 4 nonsense']]);
  await page.until(`!document.querySelector('.problem').hidden`);
});

const operand = (name, wavefronts) => ({ operand: name, rows: 64, columns: 16, type: 'f16', swizzle_bytes: 128, mn_major: false, times: 2, bytes: 4096, wavefronts, conflicts: 0 });
const products = { file: 'a.cu', line: 7, wavefronts: 96, ideal: 96, conflicts: 0, class: null, explanation: null, operands: [operand('wgmma A', 32), operand('wgmma B', 64)] };
const stores = { file: 'a.cu', line: 9, wavefronts: 24, ideal: 8, conflicts: 16, explanation: 'stride', operands: [operand('copy out of', 0)] };
await flow('a report has a row for each operand', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[data-view=report]');
  await give(page, '#report-before', [['exec.json', JSON.stringify({ kernels: [{ name: 'k', lines: [products, stores] }] })]]);
  await page.until(has('.totals', '120'));
  const shown = await page.evaluate(`[...document.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join('|')).join(';')`);
  for (const row of ['a.cu:7|wgmma A 64x16 f16, swizzle 128|32|32|0', 'a.cu:7|wgmma B 64x16 f16, swizzle 128|64|64|0', 'a.cu:9|stride|24|8|16', 'a.cu:9|copy out of 64x16 f16, swizzle 128|0|0|0'])
    expect(shown.split(';').includes(row), `${row} in ${shown}`);
});

await flow('what is pasted stays text', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await type(page, '#form', 'trace');
  await type(page, '#trace', 'ld 4 ffffffff stride:32 @<img/src=x/onerror=alert(1)>');
  await page.until(has('.table', '<img/src=x/onerror=alert(1)>'));
  expect(await page.evaluate(`document.querySelectorAll('main img').length`) === 0, 'no element');
});

await flow('a search is cancelled', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await type(page, '#form', 'trace');
  const lines = Array.from({ length: 300 }, (unused, i) => `ld 4 ffffffff ${Array.from({ length: 32 }, (none, lane) => 4 * ((lane * (i * 7919 + 31) + i) % 16384)).join(' ')}`);
  await type(page, '#trace', lines.join('\n'));
  await page.until(`Number(document.querySelector('.results').dataset.done) > 1`);
  await click(page, '#solve');
  await page.until(has('#solve', 'Cancel'));
  await click(page, '#solve');
  await page.until(has('.ladder', 'Cancelled'));
  await page.until(has('#solve', 'Solve'));
});

await flow('a very large trace is answered', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  await click(page, '[data-view=report]');
  const begin = Date.now();
  await page.evaluate(`(() => { const list = new DataTransfer(); list.items.add(new File(['ld 4 ffffffff stride:32 @column\\n'.repeat(100000)], 'large.trace'));
    const own = document.querySelector('#report-before'); own.files = list.files; own.dispatchEvent(new Event('change')); })()`);
  await page.until(has('.totals', '3,100,000'), 60000);
  console.log(`100000 accesses: ${Date.now() - begin} ms`);
});

await flow('without WebAssembly the page says so', async (page) => {
  await page.until(has('main', 'cannot start'));
}, { before: 'delete globalThis.WebAssembly' });

await flow('typing is answered soon', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  const times = [];
  for (let i = 0; i < 20; i++) {
    const count = await page.evaluate(`document.querySelector('.results').dataset.done`);
    times.push(await page.evaluate(`new Promise((done) => { const begin = performance.now(), own = document.querySelector('#index'), results = document.querySelector('.results');
      own.value = 'tile[threadIdx.x][threadIdx.y ^ ${i}]'; own.dispatchEvent(new Event('input', { bubbles: true }));
      const look = () => (results.dataset.done !== '${count}' ? done(performance.now() - begin) : setTimeout(look, 1)); look(); })`));
  }
  times.sort((a, b) => a - b);
  console.log(`answers while typing: median ${times[10].toFixed(0)} ms`);
});

// ---- Threads: a host that lets workers share memory ----

const server = createServer((request, answer) => {
  const isPage = request.url === '/';
  const isolated = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
  answer.writeHead(200, { 'Content-Type': isPage ? 'text/html' : 'application/octet-stream', ...isolated });
  answer.end(readFileSync(isPage ? path : join(dirname(path), 'threads.bin')));
}).listen(0, '127.0.0.1');
await new Promise((done) => server.once('listening', done));

await flow('with threads the answers are the same', async (page) => {
  await page.until(`document.documentElement?.dataset.threads`);
  const [cores, threads] = await page.evaluate(`[navigator.hardwareConcurrency, Number(document.documentElement.dataset.threads)]`);
  expect(cores < 2 || threads === Math.min(cores, 16), `${threads} threads on ${cores} cores`);
  await example(page, -1);
  await page.until(`document.querySelector('.beside .picture')`);
  await click(page, '#run');
  await page.until(has('.results', 'Counted on the emulator'));
  expect((await text(page, '.results')).includes('63,488'), 'conflicts counted');
  await page.until(`document.querySelector('#cancel').hidden`);
  await click(page, '#rewrite');
  await page.until(has('.results', 'bytes of memory are equal'), 60000);
  await click(page, '[data-view=time]');
  await click(page, '#simulate');
  await page.until(`document.querySelectorAll('.timeline').length === 2`, 60000);
  expect((await text(page, '.totals')) === simulated, `${await text(page, '.totals')} with threads, ${simulated} without`);
}, { address: `http://127.0.0.1:${server.address().port}/` });
server.close();

// ---- Inputs of the fuzzers, through the page's own controls ----

await flow('inputs that were found to be hard leave the page as it was', async (page) => {
  await page.until(`document.querySelector('.picture')`);
  const some = (kind, most) => readdirSync(`tests/fuzz/corpus/${kind}`).sort().slice(0, most).map((name) => [`${name}`, readFileSync(`tests/fuzz/corpus/${kind}/${name}`).toString('base64')]);
  const giveBytes = (selector, [name, bytes]) => page.evaluate(`(() => { const list = new DataTransfer(), own = document.querySelector(${JSON.stringify(selector)});
    list.items.add(new File([Uint8Array.from(atob(${JSON.stringify(bytes)}), (letter) => letter.charCodeAt(0))], ${JSON.stringify(name)})); own.files = list.files; own.dispatchEvent(new Event('change')); })()`);
  for (const own of [...some('trace', 12), ...some('foreign', 8)]) {
    await click(page, '[data-view=report]');
    await giveBytes('#report-before', own);
  }
  for (const own of [...some('ptx', 12), ...some('fatbin', 8), ...some('emu', 6)]) {
    await click(page, '[data-view=kernel]');
    await giveBytes('#file', own);
  }
  for (const [, bytes] of some('line', 8)) {
    await click(page, '[data-view=access]');
    await type(page, '#form', 'trace');
    await type(page, '#trace', Buffer.from(bytes, 'base64').toString('latin1'));
  }
  await type(page, '#trace', 'ld 4 ffffffff stride:32');
  await page.until(`${has('.totals', '31')} && document.querySelector('.results .problem').hidden`, 60000);
});

// ---- Pages that commands write: the explorer with something in it ----

const written = [
  ['trace.html', 'explore of a trace', `document.querySelector('#trace')?.value.includes('write-row') && ${has('.totals', '992')}`],
  ['kernel.html', 'explore of a kernel', `document.querySelectorAll('.code-panel').length === 2 && ${has('.totals', '1,112')}`],
  ['report.html', 'report', `${has('.results', 'fft512.trace')} && ${has('.results', 'read-column')} && document.querySelectorAll('.picture').length === 2`],
  ['suggest.html', 'suggest', `${has('.results', 'transpose32')} && ${has('.results', 'swizzle')} && document.querySelector('.picture')`],
  ['exec.html', 'exec', `${has('.results', 'conflicts')} && document.querySelectorAll('tbody tr').length > 0`],
];
for (const [page, name, what] of written) await flow(`the page of ${name}`, (own) => own.until(what), { page });

await browser.close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
