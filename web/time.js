// Time: the simulator's stalls and a timeline of warps, plain beside hashed.
import { h, s, put, field, choice, number, percent, download, announce, baseName } from './dom.js';
import { Line, Cancelled } from './engine.js';
import { table } from './table.js';

export const timeDefaults = { gpu: 'h200', hash: 'fixed', cycles: 10000 };

const reasons = [['issued', 'issued'], ['conflict', 'bank conflict'], ['global_memory', 'global memory'], ['dependency', 'dependency'], ['barrier', 'barrier'],
  ['unit_busy', 'unit busy'], ['queue_full', 'queue full'], ['kept_back', 'kept back'], ['writeback', 'write back'], ['no_warps', 'no warps']];

// What schedulers did with their turns, largest part first but issued.
function turnsOf(total) {
  const stalled = Object.values(total.stalls).reduce((sum, value) => sum + value, 0);
  return reasons.map(([key, title]) => ({ key, title, turns: key === 'issued' ? total.turns - stalled : total.stalls[key] ?? 0 })).filter((one) => one.turns > 0);
}

function stallBar(total) {
  const parts = turnsOf(total);
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

const timeline = { left: 72, row: 14, width: 1000 };

// Instructions of the first multiprocessor: warps down, cycles across.
function drawTimeline(events, name) {
  const own = events.filter((event) => event.ph === 'X' && event.pid === 2);
  if (!own.length) return h('p', { class: 'dim' }, 'No instruction in these cycles.');
  const warps = [...new Set(own.map((event) => event.args.warp + 1000 * event.args.block))].sort((a, b) => a - b);
  const first = Math.min(...own.map((event) => event.ts)), last = Math.max(...own.map((event) => event.ts + event.dur));
  const x = (cycle) => timeline.left + ((cycle - first) / (last - first)) * timeline.width;
  const rows = new Map(warps.map((warp, index) => [warp, index]));
  const boxes = own.map((event) => {
    const y = 20 + rows.get(event.args.warp + 1000 * event.args.block) * timeline.row;
    const wavefronts = event.args.wavefronts > 1 ? `, ${event.args.wavefronts} wavefronts` : '';
    return s('rect', { class: `event ${kindOf(event.name)}`, x: x(event.ts).toFixed(2), y: y + 1, width: Math.max(0.6, x(event.ts + event.dur) - x(event.ts)).toFixed(2), height: timeline.row - 2 },
      s('title', null, `${event.args.instruction}\n${event.args.source ?? ''}\ncycle ${event.ts}, ${event.dur} cycles${wavefronts}`));
  });
  const labels = warps.map((warp, index) => s('text', { class: 'side', x: timeline.left - 8, y: 31 + index * timeline.row }, `${Math.floor(warp / 1000)}.${warp % 1000}`));
  const ends = [first, last].map((cycle, index) => s('text', { class: 'head', x: x(cycle) - index * 30, y: 12 }, number(cycle)));
  const height = 28 + warps.length * timeline.row;
  return h('div', { class: 'scroller', tabindex: 0 }, s('svg', { class: 'picture timeline', width: timeline.left + timeline.width + 8, height, viewBox: `0 0 ${timeline.left + timeline.width + 8} ${height}`, role: 'img', 'aria-label': `${name}: instructions of the warps of the first multiprocessor over time` },
    s('text', { class: 'side', x: timeline.left - 8, y: 12 }, 'warp'), ends, labels, boxes));
}

// The timeline for Perfetto, with counters: wavefronts of shared memory that begin, and warps at barriers, in pieces of cycles.
export function withCounters(document, piece = 64) {
  const counts = new Map();
  for (const event of document.traceEvents) {
    if (event.ph !== 'X' || !event.args?.instruction || kindOf(event.name) !== 'shared') continue;
    const at = Math.floor(event.ts / piece) * piece;
    counts.set(at, (counts.get(at) ?? 0) + (event.args.wavefronts ?? 1));
  }
  const first = Math.min(...counts.keys()), last = Math.max(...counts.keys());
  const made = [];
  for (let at = first; at <= last; at += piece) made.push({ ph: 'C', pid: 2, ts: at, name: 'wavefronts of shared memory', args: { wavefronts: counts.get(at) ?? 0 } });
  return { ...document, traceEvents: [...document.traceEvents, ...made] };
}

export class TimeView {
  constructor(state, machines, onchange, shared) {
    Object.assign(this, { state, onchange, kernel: shared.kernel, gpus: shared.gpus, long: new Line() });
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
      this.note = h('p', { class: 'dim', 'aria-live': 'polite' }));
  }

  refresh() {
    put(this.result, h('div', { class: 'empty ready' }, this.kernel.ptx.trim()
      ? h('p', null, `${this.kernel.name || 'The kernel'} is ready: press Simulate.`)
      : h('p', null, 'Give a kernel and its launches in the kernel view first, or take an example.')));
  }

  async one(hash) {
    const { state, kernel } = this;
    const result = await this.long.run(['sim', 'input.ptx', '--launch', 'input.launch', '--gpu', state.gpu, '--hash', hash, '--timeline', 'out.json', '--timeline-cycles', `${state.cycles}`, '--json'],
      { 'input.ptx': kernel.ptx, 'input.launch': kernel.launch });
    if (result.status || !result.output) throw new Error(result.errors.trim());
    return { hash, told: JSON.parse(result.output), timeline: JSON.parse(new TextDecoder().decode(result.files.get('out.json'))) };
  }

  async simulate() {
    const button = this.controls.querySelector('#simulate');
    if (this.long.isBusy) return this.long.cancel();
    const begin = performance.now();
    put(button, 'Cancel');
    put(this.note, 'Simulating …');
    try {
      const runs = [await this.one('none')];
      if (this.state.hash.trim() && this.state.hash.trim() !== 'none') runs.push(await this.one(this.state.hash.trim()));
      this.show(runs);
      put(this.note, `${((performance.now() - begin) / 1000).toFixed(2)} s`);
    } catch (error) {
      put(this.note, error instanceof Cancelled ? 'Cancelled.' : h('span', { class: 'problem' }, error.message));
    }
    put(button, 'Simulate');
  }

  show(runs) {
    const [plain, hashed] = runs;
    const name = (run) => (run.hash === 'none' ? 'as it is' : run.hash);
    const figure = (label, value, kind) => h('div', { class: `total ${kind ?? ''}` }, h('span', { class: 'value' }, value), h('span', { class: 'label' }, label));
    const speedup = hashed && plain.told.total.cycles / hashed.told.total.cycles;
    const rows = runs.flatMap((run) => run.told.launches.flatMap((launch, index) => launch.lines.map((line) => ({ ...line, run: name(run), launch: index + 1, kernel: launch.kernel }))));
    put(this.result,
      h('div', { class: 'totals' }, runs.map((run) => figure(`cycles ${name(run)}`, number(run.told.total.cycles))), hashed && figure('times as fast', speedup.toFixed(2), speedup > 1.005 ? 'good' : '')),
      h('div', { class: 'pictures' }, runs.map((run) => h('figure', { class: 'figure' }, h('figcaption', null, h('strong', null, name(run)), h('span', { class: 'dim' }, ' what the schedulers did with their turns')),
        stallBar(run.told.total), h('h3', null, 'Warps of the first multiprocessor'), drawTimeline(run.timeline.traceEvents, name(run)),
        h('p', { class: 'keys dim' }, h('span', { class: 'key shared' }), 'shared memory ', h('span', { class: 'key global' }), 'other memory ', h('span', { class: 'key barrier' }), 'barrier ', h('span', { class: 'key other' }), 'arithmetic'),
        h('button', { type: 'button', class: 'quiet', onclick: () => download(`timeline_${run.hash.replace(/\W/g, '_')}.json`, JSON.stringify(withCounters(run.timeline)), 'application/json') }, 'For Perfetto')))),
      h('h3', null, 'Lines'), table([
        { title: 'run', text: true, of: (row) => row.run }, { title: 'kernel', text: true, of: (row) => row.kernel }, { title: 'line', text: true, of: (row) => (row.ptx_line ? `PTX ${row.ptx_line}` : `${baseName(row.file)}:${row.line}`) },
        { title: 'accesses', of: (row) => row.accesses }, { title: 'conflicts', of: (row) => row.conflicts }, { title: 'cycles waited', of: (row) => row.waited_cycles }], rows, { filter: true, sort: 5 }));
    announce('Simulated.');
  }
}
