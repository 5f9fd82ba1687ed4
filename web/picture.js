// The picture of one warp access: banks across, wavefronts down, and in each cell the lane that is served.
// It can be walked with the pointer and the arrow keys, and stepped through wavefront by wavefront.
import { h, s, counted, put } from './dom.js';

const cell = { width: 24, height: 20 }, left = 46, top = 22, mostRows = 64;

// Ranges of numbers: 0-15, 20.
export function ranges(numbers) {
  const parts = [];
  for (const value of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === value - 1) last[1] = value;
    else parts.push([value, value]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

// Rows of a picture as the program's JSON has it, with what the drawing needs: whether the row is one that
// the best placement would not have.
function rowsOf(picture) {
  const phases = new Map();
  for (const row of picture.rows) phases.set(row.phase, (phases.get(row.phase) ?? 0) + 1);
  const ideal = Math.max(1, Math.round(picture.ideal / phases.size));
  const seen = new Map();
  return picture.rows.map((row) => {
    const index = (seen.get(row.phase) ?? 0) + 1;
    seen.set(row.phase, index);
    return { ...row, isExtra: index > ideal };
  });
}

// How many words of each bank are wanted.
function loads(picture) {
  const words = new Map();
  for (const row of picture.rows)
    for (const one of row.cells) words.set(one.bank, (words.get(one.bank) ?? 0) + 1);
  return words;
}

function cellLabel(one) {
  return one.lanes.length > 1 ? `${one.lanes[0]}+` : `${one.lanes[0]}`;
}

// One picture as an <svg>; drawing.cells are its cells with row and place.
export function drawPicture(picture, banks, name) {
  const rows = rowsOf(picture), shown = rows.slice(0, mostRows), cells = [];
  const width = left + banks * cell.width + 2, height = top + shown.length * cell.height + 4;
  const heads = [];
  for (let bank = 0; bank < banks; bank++)
    heads.push(s('text', { class: 'head', x: left + (bank + 0.5) * cell.width, y: top - 8, 'data-bank': bank }, `${bank}`));
  const lines = shown.map((row, index) => {
    const y = top + index * cell.height;
    const group = s('g', { class: row.isExtra ? 'row extra' : 'row', 'data-row': index },
      s('text', { class: 'side', x: left - 10, y: y + 14 }, `${row.isExtra ? '+ ' : ''}${row.wavefront}`),
      s('rect', { class: 'track', x: left, y: y + 1, width: banks * cell.width, height: cell.height - 2, rx: 3 }));
    for (const one of row.cells) {
      const x = left + one.bank * cell.width;
      const box = s('g', { class: one.lanes.length > 1 ? 'cell shared' : 'cell', 'data-index': cells.length },
        s('rect', { x: x + 1, y: y + 1, width: cell.width - 2, height: cell.height - 2, rx: 3 }),
        s('text', { x: x + cell.width / 2, y: y + 14 }, cellLabel(one)));
      group.append(box);
      cells.push({ ...one, row: index, wavefront: row.wavefront, box });
    }
    return group;
  });
  const svg = s('svg', {
    class: 'picture', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
    'aria-label': `${name}: ${picture.sentence}`,
  }, s('text', { class: 'side dim', x: left - 10, y: top - 8 }, 'bank'), heads, lines);
  return { svg, cells, rows: shown, hidden: rows.length - shown.length, loads: loads(picture), banks };
}

// A sentence about a cell.
function describe(drawing, one) {
  const load = drawing.loads.get(one.bank);
  return `Wavefront ${one.wavefront}: bank ${one.bank} hands word ${one.words.join(' and ')} to ` +
    `lane${one.lanes.length > 1 ? 's' : ''} ${ranges(one.lanes)}. ` +
    `In all it must hand out ${counted(load, 'word')}.`;
}

// A sentence about a bank as a whole.
function describeBank(drawing, bank) {
  const load = drawing.loads.get(bank) ?? 0, own = drawing.cells.filter((one) => one.bank === bank);
  return load ? `Bank ${bank} must hand out ${counted(load, 'word')}: ${own.slice(0, 8).map((one) => one.words.join(' and ')).join(', ')}${own.length > 8 ? ', …' : ''}.` : `Nobody wants bank ${bank}.`;
}

// Marks what belongs to a bank: its cells and its number.
function markBank(drawing, bank) {
  mark(drawing, undefined);
  for (const one of drawing.cells) one.box.classList.toggle('bank', one.bank === bank);
  for (const head of drawing.svg.querySelectorAll('.head')) head.classList.toggle('bank', Number(head.dataset.bank) === bank);
}

// Marks what belongs to a cell: its bank, and other places where its lanes are served.
function mark(drawing, one) {
  for (const other of drawing.cells) {
    other.box.classList.toggle('here', other === one);
    other.box.classList.toggle('bank', Boolean(one) && other.bank === one.bank);
    other.box.classList.toggle('lane', Boolean(one) && other.lanes.some((lane) => one.lanes.includes(lane)));
  }
  for (const head of drawing.svg.querySelectorAll('.head'))
    head.classList.toggle('bank', Boolean(one) && Number(head.dataset.bank) === one.bank);
}

// The lanes of the warp: which bank each wants, and whether it was served by the wavefront of the step.
function laneStrip(drawing, lanes) {
  const boxes = [];
  const at = new Map();
  for (const one of drawing.cells) for (const lane of one.lanes) if (!at.has(lane)) at.set(lane, one);
  for (let lane = 0; lane < lanes; lane++) {
    const one = at.get(lane);
    boxes.push(h('li', { class: one ? 'lane' : 'lane idle', 'data-row': one ? one.row : -1, title: one ? `lane ${lane}: bank ${one.bank}` : `lane ${lane} does nothing` },
      h('span', { class: 'lane-number' }, `${lane}`), h('span', { class: 'lane-bank' }, one ? `${one.bank}` : '·')));
  }
  return h('ol', { class: 'lanes', 'aria-label': 'lanes, and below them the bank that each wants first' }, boxes);
}

// A figure with one picture: caption, drawing, the sentence under the pointer, steps.
export function pictureFigure(picture, banks, name, lanes) {
  const drawing = drawPicture(picture, banks, name);
  const about = h('p', { class: 'about', 'aria-live': 'polite' }, picture.sentence);
  let current;
  const show = (one) => {
    current = one;
    mark(drawing, one);
    about.textContent = one ? describe(drawing, one) : picture.sentence;
  };
  const cellOf = (event) => {
    const box = event.target.closest('.cell');
    return box && drawing.cells[Number(box.dataset.index)];
  };
  const keys = { ArrowLeft: -1, ArrowRight: 1 };
  const move = (event) => {
    let next;
    if (keys[event.key]) next = drawing.cells[drawing.cells.indexOf(current) + keys[event.key]];
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const row = (current?.row ?? -1) + (event.key === 'ArrowDown' ? 1 : -1);
      const there = drawing.cells.filter((one) => one.row === row);
      next = there.find((one) => one.bank === current?.bank) ?? there[0];
    } else if (event.key !== 'Escape') return;
    event.preventDefault();
    show(event.key === 'Escape' ? undefined : next ?? current);
    current?.box.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  const scroller = h('div', {
    class: 'scroller', tabindex: 0, 'aria-label': `${name}; arrow keys walk through it`, onkeydown: move,
    onpointerover: (event) => {
      const head = event.target.closest('.head');
      if (!head) return show(cellOf(event));
      markBank(drawing, Number(head.dataset.bank));
      about.textContent = describeBank(drawing, Number(head.dataset.bank));
    }, onpointerleave: () => show(undefined),
  }, drawing.svg);
  const strip = laneStrip(drawing, lanes);
  const laneCell = (event) => drawing.cells.find((one) => one.lanes.includes([...strip.children].indexOf(event.target.closest('.lane'))));
  strip.addEventListener('pointerover', (event) => show(laneCell(event)));
  strip.addEventListener('pointerleave', () => show(undefined));
  const figure = h('figure', { class: 'figure' },
    h('figcaption', null,
      h('strong', null, name), ' ',
      h('span', { class: picture.conflicts ? 'badge bad' : 'badge good' },
        picture.conflicts ? `+${picture.conflicts} over ${picture.ideal}` : 'no conflict'),
      h('span', { class: 'dim' }, ` ${counted(picture.wavefronts, picture.row_unit)}`)),
    scroller, drawing.hidden > 0 && h('p', { class: 'dim' }, `${counted(drawing.hidden, 'more wavefront')} below`),
    about, h('p', { class: 'lanes-title dim' }, 'lanes, and the bank that each wants'), strip);
  // Shows the first `steps` wavefronts as done; undefined: all, without a difference.
  const step = (steps) => {
    for (const group of drawing.svg.querySelectorAll('.row')) {
      const row = Number(group.dataset.row);
      group.classList.toggle('later', steps !== undefined && row >= steps);
      group.classList.toggle('now', steps !== undefined && row === steps - 1);
    }
    for (const box of strip.children) {
      const row = Number(box.dataset.row);
      box.classList.toggle('waits', steps !== undefined && row >= steps);
      box.classList.toggle('now', steps !== undefined && row === steps - 1);
    }
  };
  return { figure, step, steps: drawing.rows.length, svg: drawing.svg };
}

// Buttons that step through the wavefronts of several pictures together.
export function stepper(figures) {
  const steps = Math.max(...figures.map((one) => one.steps));
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const label = h('output', { class: 'step-label' }, 'all wavefronts');
  const range = h('input', { type: 'range', min: 0, max: steps, value: 0, 'aria-label': 'wavefront', oninput: () => go(Number(range.value)) });
  let timer;
  const go = (at) => {
    range.value = at;
    for (const one of figures) one.step(at || undefined);
    label.textContent = at ? `after wavefront ${at} of ${steps}` : 'all wavefronts';
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    put(play, 'Play');
  };
  const tick = () => {
    const at = Number(range.value) + 1;
    if (at > steps || !range.isConnected) {
      stop();
      go(0);
    } else go(at);
  };
  const play = h('button', { type: 'button', class: 'quiet', onclick: () => {
    if (timer) return stop();
    put(play, 'Pause');
    timer = setInterval(tick, calm ? 1000 : Math.max(90, Math.min(500, 6000 / steps)));
    tick();
  } }, 'Play');
  const by = (change) => () => go(Math.max(0, Math.min(steps, Number(range.value) + change)));
  return h('div', { class: 'stepper', role: 'group', 'aria-label': 'step through wavefronts' },
    h('button', { type: 'button', class: 'quiet', 'aria-label': 'wavefront before', onclick: by(-1) }, '←'),
    play, h('button', { type: 'button', class: 'quiet', 'aria-label': 'next wavefront', onclick: by(1) }, '→'), range, label);
}
