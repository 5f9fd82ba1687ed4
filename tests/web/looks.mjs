// How the page looks, at four widths in both themes: nothing is wider than the page, words have contrast, and every view is
// as it was when someone last looked at it (tests/web/looks/*.webp).
//   node looks.mjs CHROMIUM PAGE [--update]      --update keeps what it looks like now; look at it before you commit it
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser } from './chrome.mjs';
import { click, example, give, type } from './hands.mjs';

// A pixel differs where a channel is more than `channel` of 255 away; so many of them may. Kept pictures are compressed with
// loss, and edges of letters are drawn a little differently from run to run. Times change with the simulator: more may differ there.
const tolerance = { channel: 64, share: 0.01, shareOfTime: 0.04 };
const heights = { 360: 780, 768: 1024, 1280: 900, 1920: 1080 };

const [chromium, path, option] = process.argv.slice(2);
const address = `file://${resolve(path)}`, folder = join(dirname(fileURLToPath(import.meta.url)), 'looks');
const isUpdate = option === '--update';
const browser = new Browser(chromium);
let passed = 0, failed = 0;

function expect(isTrue, what) {
  if (isTrue) return passed++;
  failed++;
  return console.log(`FAILED ${what}`);
}

// The least contrast of words to what is behind them, by the rule of WCAG 2.
const leastContrast = `(() => {
  const parts = (text) => (text.match(/[0-9.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const behind = (own) => { for (let at = own; at; at = at.parentElement) { const c = parts(getComputedStyle(at).backgroundColor); if (c[3] === undefined || c[3] > 0.9) return c; } return [255, 255, 255]; };
  let least = [99, ''];
  for (const own of document.querySelectorAll('label, p, td, th button, h1, h2, h3, .value, .label, .dim, button, .badge, .code-text')) {
    if (!own.textContent.trim() || !own.checkVisibility() || own.closest('.stale')) continue;
    const [a, b] = [light(parts(getComputedStyle(own).color)), light(behind(own))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, own.outerHTML.slice(0, 80)];
  }
  return least; })()`;

// How wide words are: other fonts give other pictures.
const fontsOf = `['sans-serif', 'system-ui', 'ui-monospace', 'monospace'].map((family) => { const pen = document.createElement('canvas').getContext('2d'); pen.font = '20px ' + family; return Math.round(10 * pen.measureText('Bankfold explorer 0123').width); }).join(' ')`;

// The share of pixels that differ between two pictures, as the browser sees them.
const differenceOf = (one, other) => `(async () => {
  const pixels = async (text) => { const image = new Image(); image.src = 'data:image/webp;base64,' + text; await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height), pen = canvas.getContext('2d'); pen.drawImage(image, 0, 0); return pen.getImageData(0, 0, image.width, image.height); };
  const [a, b] = await Promise.all([pixels('${one}'), pixels('${other}')]);
  if (a.width !== b.width || a.height !== b.height) return 1;
  let count = 0;
  for (let i = 0; i < a.data.length; i += 4) count += Math.max(Math.abs(a.data[i] - b.data[i]), Math.abs(a.data[i + 1] - b.data[i + 1]), Math.abs(a.data[i + 2] - b.data[i + 2])) > ${tolerance.channel};
  return count / (a.width * a.height); })()`;

const judge = await browser.open('about:blank');
const fontsFile = join(folder, 'fonts.txt'), fonts = await judge.evaluate(fontsOf);
if (isUpdate) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fontsFile, `${fonts}\n`);
}
const hasFonts = existsSync(fontsFile) && readFileSync(fontsFile, 'utf8').trim() === fonts;
if (!hasFonts) console.log('other fonts than those of the kept pictures: they are not compared');

// Compares what is seen with what is kept under a name, or keeps it.
async function compare(page, name) {
  const { data } = await page.send('Page.captureScreenshot', { format: 'webp', quality: 35 });
  const file = join(folder, `${name}.webp`);
  if (isUpdate) writeFileSync(file, Buffer.from(data, 'base64'));
  if (isUpdate || !hasFonts) return;
  const share = existsSync(file) ? await judge.evaluate(differenceOf(readFileSync(file).toString('base64'), data)) : 1;
  expect(share <= (name.startsWith('time') ? tolerance.shareOfTime : tolerance.share), `${name}: ${(100 * share).toFixed(2)} % of its pixels differ from ${file}`);
}

const report = JSON.stringify({ kernels: [{ name: 'transpose32', lines: [{ file: 'transpose.cu', line: 19, wavefronts: 65536, ideal: 2048, conflicts: 63488, explanation: 'stride 32: lane i accesses element 32*i' }, { file: 'transpose.cu', line: 14, wavefronts: 2048, ideal: 2048, conflicts: 0, explanation: 'linear: lane i accesses element i' }] },
  { name: 'reduce', lines: [{ file: 'reduce.cu', line: 9, wavefronts: 960, ideal: 512, conflicts: 448, explanation: 'stride 2' }, { file: 'reduce.cu', line: 12, wavefronts: 256, ideal: 256, conflicts: 0, explanation: 'linear' }, { file: 'reduce.cu', line: 21, wavefronts: 16, ideal: 16, conflicts: 0, explanation: 'broadcast' }] }] });

// Brings up a view, until it is whole.
const views = {
  async access(page) {
    await page.until(`document.querySelector('.picture')`);
    await type(page, '.remedy select', 'pad');
    await page.until(`document.querySelectorAll('.picture').length === 2`);
  },
  async kernel(page) {
    await example(page, -1);
    await page.until(`document.querySelector('.beside .picture') && Number(document.querySelector('.results').dataset.done) >= 1`);
  },
  async time(page) {
    await click(page, '[data-view=time]');
    await click(page, '#simulate');
    await page.until(`document.querySelectorAll('.timeline').length === 2 && document.querySelector('#simulate').textContent === 'Simulate'`, 60000);
    await page.evaluate(`document.querySelector('.controls p[aria-live]').textContent = '0.50 s'`); // how long it took
  },
  async report(page) {
    await click(page, '[data-view=report]');
    await give(page, '#report-before', [['profile.json', report]]);
    await page.until(`document.querySelector('.totals.ready')`);
  },
  async examples(page) {
    await click(page, '[data-view=examples]');
    await page.until(`document.querySelector('.examples.ready')`);
  },
};

for (const [width, height] of Object.entries(heights))
  for (const theme of ['light', 'dark']) {
    const page = await browser.open(address, { width: Number(width), height, theme });
    for (const [view, show] of Object.entries(views)) {
      const name = `${view}-${width}-${theme}`;
      try {
        await show(page);
        await page.evaluate(`document.getElementById('status').textContent = ''; scrollTo(0, 0)`);
        const [wide, room] = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
        expect(wide <= room, `${name}: ${wide} px wide`);
        const [contrast, where] = await page.evaluate(leastContrast);
        expect(contrast >= 4.5, `${name}: contrast ${contrast.toFixed(2)} of ${where}`);
        await compare(page, name);
      } catch (error) {
        expect(false, `${name}: ${error.message}`);
      }
    }
    expect(page.complaints.length === 0, `${width} ${theme}: the page complains: ${page.complaints.join('; ')}`);
    await page.close();
  }

await browser.close();
console.log(`${passed} passed, ${failed} failed, ${hasFonts || isUpdate ? 0 : Object.keys(views).length * 8} skipped`);
process.exitCode = failed ? 1 : 0;
