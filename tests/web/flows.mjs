// The explorer in Chromium: every flow, as a user goes through it.
//   node flows.mjs CHROMIUM PAGE [FOLDER]      FOLDER gets screenshots
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Browser } from './chrome.mjs';

const [chromium, path, folder] = process.argv.slice(2);
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
    page = await browser.open(address + (options.hash ?? ''), options);
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

// Types into a control, as one who replaces all of its text.
const type = (page, selector, text) => page.evaluate(`(() => { const own = document.querySelector(${JSON.stringify(selector)});
  own.value = ${JSON.stringify(text)}; own.dispatchEvent(new Event('input', { bubbles: true })); own.dispatchEvent(new Event('change', { bubbles: true })); })()`);
const click = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
const text = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`);
const has = (selector, words) => `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '').includes(${JSON.stringify(words)})`;

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

await browser.close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed ? 1 : 0;
