// Time: the simulator's stalls and a timeline of warps, plain beside hashed.
import { h, s, put, field, choice, number, percent, download, announce } from './dom.js';
import { Line, Cancelled } from './engine.js';
import { saveSvg, savePng } from './export.js';
import { lineText } from './kernel.js';
import { table } from './table.js';

export const timeDefaults = { gpu: 'h200', hash: 'fixed', cycles: 10000 };

const reasons = [['issued', 'issued'], ['conflict', 'bank conflict'], ['global_memory', 'global memory'], ['dependency', 'dependency'], ['barrier', 'barrier'],
  ['unit_busy', 'unit busy'], ['queue_full', 'queue full'], ['kept_back', 'kept back'], ['writeback', 'write back'], ['no_warps', 'no warps']];

// What schedulers did with their turns; what none of the runs has is left out.
function turnsOf(total, all) {
  const stalled = Object.values(total.stalls).reduce((sum, value) => sum + value, 0);
  return reasons.filter(([key]) => key === 'issued' || all.some((own) => own.stalls[key])).map(([key, title]) => ({ key, title, turns: key === 'issued' ? total.turns - stalled : total.stalls[key] ?? 0 }));
}

function stallBar(total, all) {
  const parts = turnsOf(total, all);
  const row = (one) => {
    const bar = h('span', { class: one.key === 'conflict' ? 'bar bad' : one.key === 'issued' ? 'bar good' : 'bar' });
    bar.style.width = `${(100 * one.turns) / total.turns}%`;
    return h('li', null, h('span', { class: 'bar-label' }, one.title), h('span', { class: 'bar-track' }, bar), h('span', { class: 'bar-value' }, percent(one.turns, total.turns)));
  };
  return h('ol', { class: 'bars', 'aria-label': 'turns of the schedulers' }, parts.map(row));
}

// Kinds of instructions that the timeline tells apart.
function kindOf(name) {
  if (/\.shared|ldmatrix|stmatrix/.test(name)) return 'shared';
  if (/^(ld|st|atom|red|cp)/.test(name)) return 'global';
  return /^bar|^barrier/.test(name) ? 'barrier' : 'other';
}

const timeline = { left: 96, row: 14, width: 1000, track: 40, gap: 10 };

const isInstruction = (event) => event.ph === 'X' && event.args?.instruction !== undefined;
const warpOf = (event) => event.args.warp + 1000 * event.args.block;

// From when to when warps wait at barriers: from bar.sync to the next instruction of the warp.
function barrierWaits(events) {
  const waits = [], last = new Map();
  for (const event of [...events].sort((a, b) => a.ts - b.ts)) {
    const before = last.get(warpOf(event));
    if (before && event.ts > before.ts + before.dur) waits.push({ warp: warpOf(event), from: before.ts + before.dur, to: event.ts });
    last.set(warpOf(event), kindOf(event.name) === 'barrier' ? event : undefined);
  }
  return waits;
}

// Counters of the instructions of a multiprocessor, for pieces of cycles: wavefronts of shared memory that begin,
// instructions issued, and warps that wait at a barrier.
export function countersOf(events, piece) {
  if (!events.length) return [];
  const first = Math.floor(events.reduce((least, event) => Math.min(least, event.ts), Infinity) / piece) * piece;
  const last = events.reduce((most, event) => Math.max(most, event.ts + event.dur), 0);
  const pieces = Array.from({ length: Math.floor((last - first) / piece) + 1 }, (unused, index) => ({ at: first + index * piece, wavefronts: 0, issued: 0, waiting: 0 }));
  for (const event of events) {
    const own = pieces[Math.floor((event.ts - first) / piece)];
    own.issued++;
    if (kindOf(event.name) === 'shared') own.wavefronts += event.args.wavefronts ?? 1;
  }
  for (const { from, to } of barrierWaits(events))
    for (let index = Math.floor((from - first) / piece); index <= Math.floor((to - 1 - first) / piece); index++) {
      const own = pieces[index], begin = Math.max(from, own.at), end = Math.min(to, own.at + piece);
      own.waiting += (end - begin) / piece;
    }
  return pieces;
}

const tracks = [['wavefronts', 'wavefronts', 'shared'], ['waiting', 'at barriers', 'barrier'], ['issued', 'issued', 'other']];

// A counter over time, as steps.
function drawTrack(pieces, piece, [key, title, kind], x, y) {
  const most = Math.max(1e-9, ...pieces.map((own) => own[key]));
  const points = pieces.flatMap((own) => [own.at, own.at + piece].map((at) => `${x(at).toFixed(1)},${(y + timeline.track - (own[key] / most) * (timeline.track - 6)).toFixed(1)}`));
  const [begin, end] = [pieces[0].at, pieces.at(-1).at + piece].map((at) => x(at).toFixed(1));
  return s('g', { class: 'track-of' }, s('title', null, `${title} in ${piece} cycles; at most ${Number(most.toFixed(1))}`),
    s('line', { class: 'base', x1: begin, x2: end, y1: y + timeline.track, y2: y + timeline.track }),
    s('polygon', { class: `event ${kind}`, points: `${begin},${y + timeline.track} ${points.join(' ')} ${end},${y + timeline.track}` }),
    s('text', { class: 'side', x: timeline.left - 8, y: y + 18 }, title), s('text', { class: 'side dim', x: timeline.left - 8, y: y + 32 }, `≤ ${Number(most.toFixed(1))}`));
}

// Instructions of the first multiprocessor: warps down, cycles across, counters below.
function drawTimeline(events, name) {
  const own = events.filter((event) => isInstruction(event) && event.pid === 2);
  if (!own.length) return { element: h('p', { class: 'dim' }, 'No instruction in these cycles.') };
  const warps = [...new Set(own.map(warpOf))].sort((a, b) => a - b);
  const first = own.reduce((least, event) => Math.min(least, event.ts), Infinity), last = own.reduce((most, event) => Math.max(most, event.ts + event.dur), 0);
  const piece = Math.max(1, Math.ceil((last - first) / 120));
  const x = (cycle) => timeline.left + ((Math.max(first, Math.min(last, cycle)) - first) / (last - first)) * timeline.width;
  const rows = new Map(warps.map((warp, index) => [warp, 20 + index * timeline.row]));
  const boxes = own.map((event) => {
    const wavefronts = event.args.wavefronts > 1 ? `, ${event.args.wavefronts} wavefronts` : '';
    return s('rect', { class: `event ${kindOf(event.name)}`, x: x(event.ts).toFixed(2), y: rows.get(warpOf(event)) + 1, width: Math.max(0.6, x(event.ts + event.dur) - x(event.ts)).toFixed(2), height: timeline.row - 2 },
      s('title', null, `${event.args.instruction}\n${event.args.source ?? ''}\ncycle ${event.ts}, ${event.dur} cycles${wavefronts}`));
  });
  const waits = barrierWaits(own).map(({ warp, from, to }) => s('line', { class: 'waits', x1: x(from).toFixed(2), x2: x(to).toFixed(2), y1: rows.get(warp) + timeline.row / 2, y2: rows.get(warp) + timeline.row / 2 },
    s('title', null, `waits at a barrier for ${number(to - from)} cycles`)));
  const labels = warps.map((warp) => s('text', { class: 'side', x: timeline.left - 8, y: rows.get(warp) + 11 }, `${Math.floor(warp / 1000)}.${warp % 1000}`));
  const ends = [first, last].map((cycle, index) => s('text', { class: index ? 'head end' : 'head begin', x: x(cycle), y: 12 }, number(cycle)));
  const top = 28 + warps.length * timeline.row, pieces = countersOf(own, piece);
  const drawn = tracks.map((track, index) => drawTrack(pieces, piece, track, x, top + index * (timeline.track + timeline.gap)));
  const width = timeline.left + timeline.width + 8, height = top + tracks.length * (timeline.track + timeline.gap);
  const svg = s('svg', { class: 'picture timeline', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${name}: instructions of ${warps.length} warps of the first multiprocessor from cycle ${first} to ${last}, with wavefronts, waits at barriers and instructions issued` },
    s('text', { class: 'side', x: timeline.left - 8, y: 12 }, 'block.warp'), ends, labels, waits, boxes, drawn);
  return { element: h('div', { class: 'scroller', tabindex: 0 }, svg), svg };
}

// The timeline for Perfetto, with the counters of every multiprocessor in pieces of cycles.
export function withCounters(document, piece = 64) {
  const byProcess = new Map(), made = [];
  for (const event of document.traceEvents)
    if (isInstruction(event)) {
      if (!byProcess.has(event.pid)) byProcess.set(event.pid, []);
      byProcess.get(event.pid).push(event);
    }
  for (const [pid, events] of byProcess)
    for (const own of countersOf(events, piece))
      for (const [key, title] of tracks) made.push({ ph: 'C', pid, tid: 0, ts: own.at, name: title, args: { [title]: own[key] } });
  return { ...document, traceEvents: [...document.traceEvents, ...made] };
}

export class TimeView {
  constructor(state, machines, onchange, shared) {
    Object.assign(this, { state, onchange, kernel: shared.kernel, gpus: shared.gpus, plain: new Line(true), hashed: new Line(true) });
    this.controls = h('section', { class: 'panel controls', 'aria-label': 'the simulation' });
    this.result = h('section', { class: 'results', 'aria-label': 'how long it takes' });
    this.element = h('div', { class: 'split' }, this.controls, this.result);
    const set = (key) => (value) => { state[key] = value; onchange(); };
    put(this.controls, h('h2', null, 'Time'),
      h('p', { class: 'dim' }, 'Simulates the launches of the kernel view, as they are and with a hash of the banks.'),
      field('GPU', choice(this.gpus.map((one) => [one.name, one.title]), state.gpu, set('gpu'))),
      field('hash', h('input', { value: state.hash, spellcheck: 'false', oninput: (event) => set('hash')(event.target.value) }), 'fixed, xor:0,5,31, pad:32+1, …'),
      field('cycles of the timeline', h('input', { value: `${state.cycles}`, inputmode: 'numeric', oninput: (event) => set('cycles')(Math.max(1, Number(event.target.value) || 1)) })),
      h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', id: 'simulate', onclick: () => this.simulate() }, 'Simulate')),
      this.bar = h('progress', { hidden: true, max: 2, 'aria-label': 'simulations done' }), this.note = h('p', { class: 'dim', 'aria-live': 'polite' }));
  }

  refresh() {
    put(this.result, h('div', { class: 'empty ready' }, this.kernel.ptx.trim()
      ? h('p', null, `${this.kernel.name || 'The kernel'} is ready: press Simulate.`)
      : h('p', null, 'Give a kernel and its launches in the kernel view first, or take an example.')));
  }

  async one(worker, hash) {
    const { state, kernel } = this;
    const result = await worker.run(['sim', 'input.ptx', '--launch', 'input.launch', '--gpu', state.gpu, '--hash', hash, '--timeline', 'out.json', '--timeline-cycles', `${state.cycles}`, '--json'],
      { 'input.ptx': kernel.ptx, 'input.launch': kernel.launch });
    if (result.status || !result.output) throw new Error(result.errors.trim());
    return { hash, told: JSON.parse(result.output), timeline: JSON.parse(new TextDecoder().decode(result.files.get('out.json'))) };
  }

  async simulate() {
    const button = this.controls.querySelector('#simulate');
    if (this.plain.isBusy || this.hashed.isBusy) {
      this.plain.cancel();
      return this.hashed.cancel();
    }
    const begin = performance.now(), hash = this.state.hash.trim();
    put(button, 'Cancel');
    put(this.note, 'Simulating …');
    this.bar.hidden = false;
    this.bar.removeAttribute('value');
    try {
      // Both at once, in a worker each.
      const step = (run) => { this.bar.value = (this.bar.hasAttribute('value') ? this.bar.value : 0) + 1; return run; };
      const wanted = [this.one(this.plain, 'none')];
      if (hash && hash !== 'none') wanted.push(this.one(this.hashed, hash));
      this.show(await Promise.all(wanted.map((run) => run.then(step))));
      put(this.note, `${((performance.now() - begin) / 1000).toFixed(2)} s`);
    } catch (error) {
      put(this.note, error instanceof Cancelled ? 'Cancelled.' : h('span', { class: 'problem' }, error.message));
    }
    this.bar.hidden = true;
    put(button, 'Simulate');
  }

  show(runs) {
    const [plain, hashed] = runs;
    const name = (run) => (run.hash === 'none' ? 'as it is' : run.hash);
    const figure = (label, value, kind) => h('div', { class: `total ${kind ?? ''}` }, h('span', { class: 'value' }, value), h('span', { class: 'label' }, label));
    const speedup = hashed && plain.told.total.cycles / hashed.told.total.cycles;
    const rows = runs.flatMap((run) => run.told.launches.flatMap((launch, index) => launch.lines.map((line) => ({ ...line, run: name(run), launch: index + 1, kernel: launch.kernel }))));
    for (const run of runs) run.drawn = drawTimeline(run.timeline.traceEvents, name(run));
    put(this.result,
      h('div', { class: 'totals' }, runs.map((run) => figure(`cycles ${name(run)}`, number(run.told.total.cycles))), hashed && figure('times as fast', speedup.toFixed(2), speedup > 1.005 ? 'good' : '')),
      h('div', { class: 'pictures' }, runs.map((run) => h('figure', { class: 'figure' }, h('figcaption', null, h('strong', null, name(run)), h('span', { class: 'dim' }, ' what the schedulers did with their turns')),
        stallBar(run.told.total, runs.map((own) => own.told.total)), h('h3', null, 'Warps of the first multiprocessor'), run.drawn.element,
        h('p', { class: 'keys dim' }, h('span', { class: 'key shared' }), 'shared memory ', h('span', { class: 'key global' }), 'other memory ', h('span', { class: 'key barrier' }), 'barrier, and waiting at it ', h('span', { class: 'key other' }), 'arithmetic'),
        h('div', { class: 'buttons' }, run.drawn.svg && [h('button', { type: 'button', class: 'quiet', onclick: () => saveSvg(run.drawn.svg, 'timeline') }, 'SVG'), h('button', { type: 'button', class: 'quiet', onclick: () => savePng(run.drawn.svg, 'timeline') }, 'PNG')],
        h('button', { type: 'button', class: 'quiet', onclick: () => download(`timeline_${run.hash.replace(/\W/g, '_')}.json`, JSON.stringify(withCounters(run.timeline)), 'application/json') }, 'For Perfetto'))))),
      h('h3', null, 'Lines'), table([
        { title: 'run', text: true, of: (row) => row.run }, { title: 'kernel', text: true, of: (row) => row.kernel }, { title: 'line', text: true, of: lineText },
        { title: 'accesses', of: (row) => row.accesses }, { title: 'conflicts', of: (row) => row.conflicts }, { title: 'cycles waited', of: (row) => row.waited_cycles }], rows, { filter: true, sort: 5 }));
    announce('Simulated.');
  }
}
