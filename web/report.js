// A report: places and what they cost, from traces, from the JSON of check, report, profile, exec, sim or analyze; two of
// them can be compared.
import { h, put, number, counted, baseName } from './dom.js';
import { Line } from './engine.js';
import { pictureFigure, stepper } from './picture.js';
import { lineText } from './kernel.js';
import { table } from './table.js';

export const reportDefaults = { before: null, after: null, only: 'all' };

// What an operand of wgmma or a tensor copy is: "wgmma A 64x16 f16, swizzle 128".
const operandText = (own) => `${own.operand} ${own.rows}x${own.columns} ${own.type}${own.swizzle_bytes ? `, swizzle ${own.swizzle_bytes}` : ''}${own.mn_major ? ', MN-major' : ''}`;

// The parts of a line: each of its operands, and what else is there.
function partsOf(line) {
  const operands = (line.operands ?? []).map((own) => ({ explanation: operandText(own), wavefronts: own.wavefronts, ideal: own.wavefronts - own.conflicts, conflicts: own.conflicts }));
  const sum = (key) => operands.reduce((total, own) => total + own[key], 0);
  const rest = { ...line, wavefronts: line.wavefronts - sum('wavefronts'), ideal: line.ideal - sum('ideal'), conflicts: line.conflicts - sum('conflicts') };
  return operands.length && !rest.wavefronts ? operands : [rest, ...operands];
}

// Places of a document that a command printed: {group, place, what, wavefronts, ideal, conflicts, after}.
export function placesOf(document) {
  const places = [];
  const add = (group, place, own) => places.push({ group, place, what: own.explanation ?? own.class ?? own.op ?? '', wavefronts: own.wavefronts ?? 0, ideal: own.ideal ?? 0, conflicts: own.conflicts ?? 0, after: own.conflicts_after, access: own.worst, hash: own.hash });
  for (const workload of document.workloads ?? []) for (const site of workload.sites) add(baseName(workload.name), site.site ?? `${site.op} ${site.width}`, { ...site, hash: workload.hash });
  for (const kernel of document.kernels ?? []) {
    for (const line of kernel.lines ?? []) for (const part of partsOf(line)) add(kernel.name, lineText(line), part);
    for (const site of kernel.sites ?? []) add(kernel.name, site.source_line ? `${baseName(site.source_file)}:${site.source_line}` : `PTX ${site.line}`, site);
  }
  for (const launch of document.launches ?? []) for (const line of launch.lines ?? []) for (const part of partsOf(line)) add(launch.kernel, lineText(line), part);
  for (const own of document.baseline ?? []) {
    const [, group, where] = /^(\S+)\s+(.*)$/.exec(own.place) ?? ['', '', own.place];
    add(group, where, { ...own, ideal: own.wavefronts - own.conflicts });
  }
  for (const own of document.arrays ?? []) add(own.kernel, own.name, { ...own, hash: own.suggestions?.find((one) => one.hash)?.hash });
  for (const { site, wavefronts, ideal, conflicts, worst } of document.sites ?? []) add('', site, { wavefronts, ideal, conflicts, explanation: worst });
  if (!places.length && Array.isArray(document.accesses))
    for (const own of document.accesses) add('', own.site ?? `line ${own.line}`, { ...own, wavefronts: own.count * (own.ideal + own.conflicts), ideal: own.count * own.ideal, conflicts: own.count * own.conflicts });
  return merged(places);
}

const baselineHead = 'bankfold baseline 1';

// A baseline (docs/ci.md) as a document: conflicts, wavefronts and place, a line each; a place is a file or kernel, and what is in it.
export function baselineOf(text) {
  const lines = text.split('\n').slice(1).filter(Boolean).map((line) => line.split('\t'));
  if (lines.some(([conflicts, wavefronts, where]) => !/^\d+$/.test(conflicts) || !/^\d+$/.test(wavefronts) || !where)) throw new Error('this baseline is damaged');
  return { baseline: lines.map(([conflicts, wavefronts, where]) => ({ place: where, conflicts: Number(conflicts), wavefronts: Number(wavefronts) })) };
}

// The same place once, with sums.
function merged(places) {
  const byKey = new Map();
  for (const own of places) {
    const key = `${own.group}\n${own.place}\n${own.what}`;
    const kept = byKey.get(key);
    if (!kept) byKey.set(key, { ...own });
    else for (const name of ['wavefronts', 'ideal', 'conflicts', 'after']) if (own[name] !== undefined) kept[name] = (kept[name] ?? 0) + own[name];
  }
  return [...byKey.values()];
}

// Places under the names that a baseline has for them: a site of a trace, or a kernel as a whole.
function asInBaseline(places, names) {
  return places.map((own) => ({ ...own, group: '', place: names.has(own.place) || !own.group ? own.place : own.group }));
}

// Places of two documents side by side.
export function compared(beforeDocument, afterDocument) {
  const rows = new Map();
  const baseline = beforeDocument.baseline ?? afterDocument.baseline;
  const names = baseline && new Set(placesOf({ baseline }).map((own) => own.place));
  const [before, after] = [beforeDocument, afterDocument].map((own) => (names ? asInBaseline(placesOf(own), names) : placesOf(own)));
  const sum = (key, side, places) => {
    for (const own of places) {
      const name = `${own.group}\n${own.place}`;
      const row = rows.get(name) ?? { group: own.group, place: own.place, before: 0, after: 0 };
      row[side] += own.conflicts;
      rows.set(name, row);
    }
  };
  sum('conflicts', 'before', before);
  sum('conflicts', 'after', after);
  return [...rows.values()].map((row) => ({ ...row, change: row.after - row.before }));
}

export class ReportView {
  constructor(state, machines, onchange) {
    Object.assign(this, { state, onchange, quick: new Line() });
    this.controls = h('section', { class: 'panel controls', 'aria-label': 'the reports' });
    this.result = h('section', { class: 'results', 'aria-label': 'places' });
    this.element = h('div', { class: 'split' }, this.controls, this.result);
    this.drawControls();
  }

  drawControls() {
    const file = (side, label) => {
      const own = this.state[side];
      const input = h('input', { type: 'file', id: `report-${side}`, 'aria-label': label, onchange: () => this.take(side, input.files[0]) });
      return h('div', { class: 'field' }, h('label', { for: `report-${side}` }, label), input, own && h('small', { class: 'dim' }, own.name, ' ',
        h('button', { type: 'button', class: 'quiet small', onclick: () => { this.state[side] = null; this.drawControls(); this.onchange(); this.refresh(); } }, 'remove')));
    };
    put(this.controls, h('h2', null, 'Report'), file('before', 'a trace, a baseline, or JSON of a command'), file('after', 'compare with'),
      h('p', { class: 'dim' }, 'bankfold check, profile, exec, sim, analyze, suggest and report print JSON with --json.'));
    this.problem = h('pre', { class: 'problem', role: 'alert', hidden: true });
    this.controls.append(this.problem);
  }

  // Takes a file: JSON as it is, anything else as a trace that is reported on.
  async take(side, file) {
    if (!file) return;
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      this.state[side] = { name: file.name, document: await this.read(bytes) };
      this.drawControls();
      this.onchange();
      this.refresh();
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }

  async read(bytes) {
    const text = new TextDecoder().decode(bytes.subarray(0, 64));
    if (text.startsWith(baselineHead)) return baselineOf(new TextDecoder().decode(bytes));
    if (text.trimStart().startsWith('{')) return JSON.parse(new TextDecoder().decode(bytes));
    return this.quick.json(['check', 'input.trace'], { 'input.trace': bytes });
  }

  refresh() {
    const { before, after } = this.state;
    if (!before) return put(this.result, h('div', { class: 'empty ready' }, h('p', null, 'Choose a trace or the JSON of a command; a second one is compared with it.')));
    try {
      if (after) this.showComparison(before.document, after.document);
      else this.showPlaces(before.document);
    } catch (error) {
      put(this.result, h('p', { class: 'problem ready' }, `This is no report: ${error.message}`));
    }
  }

  // Draws the worst access of a place, before and after the fix.
  async draw(place) {
    if (!place.access) return;
    const drawn = await this.quick.json(['draw', '--access', place.access, ...(place.hash && place.hash !== 'none' ? ['--hash', place.hash] : []), '--machine', this.machine]);
    const figures = drawn.pictures.map((picture, index) => pictureFigure(picture, drawn.banks, `${place.place}, ${index ? picture.hash : 'as it is'}`, 32));
    put(this.picture, h('h3', null, 'The worst access'), stepper(figures), h('div', { class: 'pictures' }, figures.map((one) => one.figure)));
  }

  // What would help, as each command says it.
  fixes(document) {
    const code = (title, lines) => h('div', { class: 'code-box' }, h('span', { class: 'dim' }, title), h('pre', null, h('code', null, lines.join('\n'))));
    return [
      (document.workloads ?? []).map((own) => h('p', null, h('strong', null, baseName(own.name)), ': ', h('code', null, own.hash), `, ${own.reason}.`)),
      (document.kernels ?? []).filter((own) => own.fix).map((own) => h('p', null, h('strong', null, own.name), ': ', h('code', null, own.fix.hash), ` (${own.fix.name}), ${own.fix.reason ?? ''}.`)),
      (document.arrays ?? []).filter((own) => own.suggestions?.length).map((own) => h('section', null, h('h3', null, `${own.kernel}: ${own.name}`),
        own.suggestions.map((one) => code(`${one.kind}: ${counted(one.conflicts, 'conflict')}, ${counted(one.instructions, 'instruction')} an access, ${counted(one.extra_bytes, 'byte')} more`,
          [one.declaration, one.layout, ...(one.changes ?? []).map((change) => `line ${change.line}: ${change.before} -> ${change.after}`)].filter(Boolean))))),
    ];
  }

  totals(list) {
    return h('div', { class: 'totals ready' }, list.map(([label, value, kind]) => h('div', { class: `total ${kind ?? ''}` }, h('span', { class: 'value' }, value), h('span', { class: 'label' }, label))));
  }

  showPlaces(document) {
    const places = placesOf(document), sum = (key) => places.reduce((total, own) => total + own[key], 0);
    this.machine = typeof document.machine === 'string' ? document.machine : 'hopper';
    this.picture = h('div');
    const hasAfter = places.some((own) => own.after !== undefined);
    const groups = [...new Set(places.map((own) => own.group))];
    const isFlat = groups.length > 1 && places.length < 3 * groups.length; // few places each: one table is easier to read
    const columns = [{ title: 'place', text: true, of: (own) => own.place }, ...(places.some((own) => own.what) ? [{ title: 'what', text: true, of: (own) => own.what }] : []), { title: 'wavefronts', of: (own) => own.wavefronts },
      { title: 'ideal', of: (own) => own.ideal }, { title: 'conflicts', of: (own) => own.conflicts }, ...(hasAfter ? [{ title: 'with the fix', of: (own) => own.after ?? '' }] : [])];
    const list = (rows, shown) => table(shown, rows, { filter: rows.length > 4, sort: shown.findIndex((column) => column.title === 'conflicts'), onpick: rows.some((own) => own.access) ? (own) => this.draw(own) : undefined });
    put(this.result, this.totals([['places', number(places.length)], ['wavefronts', number(sum('wavefronts'))], ['conflicts', number(sum('conflicts')), sum('conflicts') ? 'bad' : 'good']]),
      isFlat ? list(places, [{ title: 'kernel', text: true, of: (own) => own.group }, ...columns]) : groups.map((group) => {
        const rows = places.filter((own) => own.group === group), conflicts = rows.reduce((total, own) => total + own.conflicts, 0);
        return h('details', { class: 'group', open: groups.length < 8 || conflicts > 0 }, h('summary', null, h('strong', null, group || 'accesses'), h('span', { class: 'dim' }, ` ${number(conflicts)} conflicts`)), list(rows, columns));
      }), this.picture, this.fixes(document));
    this.draw(places.reduce((most, own) => (own.conflicts > most.conflicts ? own : most), places[0] ?? {}));
  }

  showComparison(before, after) {
    const rows = compared(before, after), sum = (key) => rows.reduce((total, own) => total + own[key], 0);
    const change = sum('change');
    put(this.result, this.totals([['conflicts before', number(sum('before'))], ['after', number(sum('after'))], ['change', `${change > 0 ? '+' : ''}${number(change)}`, change > 0 ? 'bad' : 'good']]),
      table([{ title: 'kernel', text: true, of: (own) => own.group }, { title: 'place', text: true, of: (own) => own.place }, { title: 'before', of: (own) => own.before }, { title: 'after', of: (own) => own.after },
        { title: 'change', of: (own) => own.change, show: (own) => h('span', { class: own.change > 0 ? 'worse' : own.change < 0 ? 'better' : '' }, `${own.change > 0 ? '▲ +' : own.change < 0 ? '▼ ' : ''}${number(own.change)}`) }], rows, { filter: true, sort: 4 }));
  }
}
