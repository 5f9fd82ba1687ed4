// Typing an index or a trace: what the accesses cost, as it is and with the remedy, drawn at once.
import { h, put, field, choice, number, counted, announce, download } from './dom.js';
import { Line, Cancelled, complaint, latest } from './engine.js';
import { pictureFigure, stepper } from './picture.js';
import { remedyControls, remedyDefaults, hashOf, remedyOf } from './remedy.js';
import { saveSvg, savePng } from './export.js';
import { table } from './table.js';
import { codeEditor } from './editor.js';
import { boxModes, elementTypes, explainArguments, matrixOps, traceOf } from './shapes.js';

export const accessDefaults = {
  form: 'index', index: 'tile[threadIdx.x][threadIdx.y]', type: 'float[32][32]', block: '32x8', op: 'ld', param: '',
  stride: '32', offset: '0', bytes: '4', cute: '((4,8),(2,2)):((2,64),(1,512))', element: '__half', each: '2',
  box: '64x64', mode: '128', row: 'lane', column: '0', matrix: 'ldmatrix4',
  trace: 'ld 4 ffffffff stride:32', machine: 'hopper', line: 0, remedy: remedyDefaults,
};

const forms = [['index', 'index of an array, as CUDA has it'], ['stride', 'a stride'], ['layout', 'a CuTe layout of (thread, value)'], ['box', 'a box of a tensor copy (TMA)'],
  ['matrix', 'rows for ldmatrix'], ['trace', 'lines of a trace']];
const ops = [['ld', 'load'], ['st', 'store'], ['atom', 'atomic']];
const widths = ['1', '2', '4', '8', '16'].map((own) => [own, own]);
const same = (list) => list.map((own) => [own, own]);

// Sites with what they cost as it is and with the remedy.
function bySite(before, after) {
  const hashed = new Map(after.sites.map((own) => [own.site, own.conflicts]));
  return before.sites.map((own) => ({ site: own.site, what: own.worst ?? '', accesses: own.accesses, ideal: own.ideal, before: own.conflicts, after: hashed.get(own.site), line: own.worst_line }));
}

export class AccessView {
  constructor(state, machines, onchange) {
    this.state = state;
    this.onchange = onchange;
    this.quick = new Line();
    this.side = new Line(); // what is drawn, while the other counts
    this.long = new Line(true);
    this.machines = machines;
    this.refresh = latest(() => this.compute());
    this.controls = h('section', { class: 'panel controls', 'aria-label': 'the access' });
    this.result = h('section', { class: 'results', 'aria-label': 'what it does to the banks' });
    this.remedy = h('section', { class: 'panel remedy-panel', 'aria-label': 'the remedy' });
    this.element = h('div', { class: 'split three' }, this.controls, this.result, this.remedy);
    this.drawControls();
    this.layOutResult();
  }

  changed() {
    this.onchange();
    this.refresh();
  }

  // A control that changes one member of the state.
  text(key, props = {}) {
    const oninput = (event) => {
      this.state[key] = event.target.value;
      this.state.line = 0;
      this.changed();
    };
    return h('input', { spellcheck: 'false', autocapitalize: 'off', value: this.state[key], ...props, oninput });
  }

  // The same for code of several lines; where it is wrong is marked in it.
  code(key, label, props) {
    this.editor = codeEditor({ value: this.state[key], label, id: key, ...props, oninput: (event) => {
      this.state[key] = event.target.value;
      this.state.line = 0;
      this.changed();
    } });
    return this.editor;
  }

  // The controls of the form that the access is given in.
  formControls(set) {
    const { state } = this;
    const pair = (...fields) => h('div', { class: 'pair' }, fields);
    const operation = () => field('operation', choice(ops, state.op, set('op')));
    const element = () => field('element', choice(same(elementTypes), state.element, set('element')));
    const names = () => field('names', this.text('param', { placeholder: 'k=4 n=64' }));
    switch (state.form) {
      case 'stride': return [pair(field('elements from lane to lane', this.text('stride', { inputmode: 'numeric' })), field('first element', this.text('offset', { inputmode: 'numeric' }))),
        pair(operation(), field('bytes a lane', choice(widths, state.bytes, set('bytes'))))];
      case 'layout': return [field('layout', this.code('cute', 'layout', { rows: 2 }), 'shape : stride; the first mode is the thread. Swizzle<B,M,S> o may stand before it'),
        pair(element(), field('values at a time', this.text('each', { inputmode: 'numeric' }))), operation()];
      case 'box': return [pair(field('box: rows x columns', this.text('box')), element()), field('swizzle of the copy', choice(Object.keys(boxModes).map((own) => [own, own === 'none' ? 'none' : `${own} bytes`]).sort(), state.mode, set('mode'))),
        pair(field('row of a lane', this.text('row')), field('column', this.text('column'))), pair(operation(), field('bytes a lane', choice(widths, state.bytes, set('bytes')))), pair(field('block', this.text('block')), names())];
      case 'matrix': return [field('row that a lane gives', this.code('index', 'row that a lane gives', { rows: 2 }), 'of 16 bytes, as for an index'),
        pair(field('array', this.text('type')), field('instruction', choice(same(Object.keys(matrixOps)), state.matrix, set('matrix')))), pair(field('block', this.text('block')), names())];
      case 'trace': return field('trace', this.code('trace', 'trace', { rows: 8, numbers: true }), 'op width mask address… [xCOUNT] [@SITE]; stride:32 stands for addresses');
      default: return [field('index', this.code('index', 'index', { rows: 2 }), 'one a line; threadIdx, lane, tid, and the operators of C'),
        pair(field('array', this.text('type')), field('block', this.text('block'))), pair(operation(), names())];
    }
  }

  drawControls() {
    const { state } = this;
    const set = (key) => (value) => { state[key] = value; state.line = 0; this.drawControls(); this.changed(); };
    const machines = this.machines.map((one) => [one.name, one.title]);
    this.editor = undefined;
    put(this.controls, h('h2', null, 'Access'), field('given as', choice(forms, state.form, set('form'), { id: 'form' })), this.formControls(set),
      field('machine', choice(machines, state.machine, set('machine'))));
    this.remedyHost ??= h('div');
    put(this.remedy, h('h2', null, 'Remedy'), this.remedyHost,
      h('div', { class: 'buttons' }, h('button', { type: 'button', class: 'primary', id: 'solve', onclick: () => this.solve() }, 'Solve')),
      this.ladder ??= h('div', { class: 'ladder', 'aria-live': 'polite' }));
    this.drawRemedy();
  }

  drawRemedy() {
    put(this.remedyHost, remedyControls(this.state.remedy, () => this.changed()));
  }

  layOutResult() {
    this.problem = h('pre', { class: 'problem', role: 'alert', hidden: true });
    this.totals = h('div', { class: 'totals' });
    this.pictures = h('div', { class: 'pictures' });
    this.tools = h('div', { class: 'tools' });
    this.sites = h('div');
    this.fix = h('div', { class: 'fix' });
    put(this.result, this.problem, this.totals, this.tools, this.pictures, this.fix, this.sites);
  }

  // The trace that the state stands for.
  traceText() {
    return traceOf(this.state, async (argv) => {
      const made = await this.quick.run([...argv, '--save-trace', '--json']);
      if (made.status) throw complaint(made);
      return made.output;
    });
  }

  async compute() {
    const { state } = this, hash = hashOf(state.remedy), machine = ['--machine', state.machine];
    try {
      const files = { 'input.trace': await this.traceText() };
      this.files = files;
      const place = state.line ? `input.trace:${state.line}` : 'input.trace';
      const before = this.quick.json(['check', 'input.trace', ...machine], files);
      const [plain, hashed, drawn, fixes] = await Promise.all([
        before,
        hash === 'none' ? before : this.quick.json(['check', 'input.trace', '--hash', hash, ...machine], files),
        this.side.json(['draw', place, ...(hash === 'none' ? [] : ['--hash', hash]), ...machine], files),
        state.form === 'index' ? this.side.json(explainArguments(state)) : undefined,
      ]);
      this.show(plain, hashed, drawn, fixes, hash);
      this.problem.hidden = true;
      this.editor?.mark();
      this.result.classList.remove('stale');
    } catch (error) {
      if (error instanceof Cancelled) return;
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      this.result.classList.add('stale');
      this.editor?.mark(error.line, error.column);
    }
    this.result.dataset.done = String(Number(this.result.dataset.done ?? 0) + 1);
  }

  show(before, after, drawn, fixes, hash) {
    const hashed = hash !== 'none';
    const figure = (label, value, kind) => h('div', { class: `total ${kind ?? ''}` }, h('span', { class: 'value' }, value), h('span', { class: 'label' }, label));
    put(this.totals,
      figure('wavefronts', number(before.total.wavefronts)), figure('would do', number(before.total.ideal)),
      figure('conflicts', number(before.total.conflicts), before.total.conflicts ? 'bad' : 'good'),
      hashed && figure(`conflicts with ${hash}`, number(after.total.conflicts), after.total.conflicts ? 'bad' : 'good'));
    const lanes = this.machines.find((one) => one.name === this.state.machine)?.lanes ?? 32;
    const figures = drawn.pictures.map((picture, index) => pictureFigure(picture, drawn.banks, index ? picture.hash : 'as it is', lanes));
    put(this.pictures, figures.map((one) => one.figure));
    put(this.tools, stepper(figures),
      h('span', { class: 'spacer' }),
      h('button', { type: 'button', class: 'quiet', onclick: () => saveSvg(figures.at(-1).svg, 'access') }, 'SVG'),
      h('button', { type: 'button', class: 'quiet', onclick: () => savePng(figures.at(-1).svg, 'access') }, 'PNG'),
      h('button', { type: 'button', class: 'quiet', onclick: () => download('access.trace', this.files['input.trace']) }, 'Trace'));
    this.showFix(fixes);
    this.showSites(before, after, hashed);
  }

  // Fixes as code.
  showFix(fixes) {
    if (!fixes) return put(this.fix);
    const code = (title, text, cost) => text && h('div', { class: 'code-box' }, h('span', { class: 'dim' }, `${title}: ${counted(cost, 'wavefront')} a block`), h('pre', null, h('code', null, text)));
    put(this.fix, h('h3', null, 'As code'),
      fixes.conflicts === 0 && h('p', { class: 'dim' }, 'Nothing to mend.'),
      code('longer rows', fixes.padding, fixes.padded_wavefronts),
      code('swizzle', fixes.swizzle?.join('\n'), fixes.swizzled_wavefronts));
  }

  showSites(before, after, hashed) {
    const rows = bySite(before, after);
    const columns = [
      { title: 'access', text: true, of: (row) => row.site }, { title: 'worst', text: true, of: (row) => row.what },
      { title: 'warps', of: (row) => row.accesses }, { title: 'ideal', of: (row) => row.ideal }, { title: 'conflicts', of: (row) => row.before },
      ...(hashed ? [{ title: 'with the hash', of: (row) => row.after }] : []),
    ];
    put(this.sites, h('h3', null, 'Accesses'), table(columns, rows, { filter: rows.length > 8, sort: rows.length > 1 ? 4 : -1, onpick: (row) => { this.state.line = row.line; this.changed(); } }));
  }

  // The ladder of fixes, in a worker of its own; the button cancels meanwhile.
  async solve() {
    const button = this.remedy.querySelector('#solve');
    if (this.long.isBusy) return this.long.cancel();
    const limit = 10, begin = performance.now();
    const bar = h('progress', { max: limit, 'aria-label': 'time of the search' });
    const timer = setInterval(() => { bar.value = Math.min(limit, (performance.now() - begin) / 1000); }, 100);
    put(button, 'Cancel');
    put(this.ladder, bar);
    try {
      const files = { 'input.trace': await this.traceText() };
      this.showLadder(await this.long.json(['solve', 'input.trace', '--time-limit', `${limit}`, '--machine', this.state.machine], files));
    } catch (error) {
      put(this.ladder, h('p', { class: 'dim' }, error instanceof Cancelled ? 'Cancelled.' : error.message));
    } finally {
      clearInterval(timer);
      put(button, 'Solve');
    }
  }

  take(hash) {
    Object.assign(this.state.remedy, remedyOf(hash));
    this.drawRemedy();
    this.changed();
  }

  showLadder(found) {
    const rung = (one) => h('li', { class: one.name === found.recommended ? 'rung best' : 'rung' },
      h('button', { type: 'button', class: 'quiet', onclick: () => this.take(one.hash) }, one.hash),
      h('span', null, `${counted(one.conflicts, 'conflict')}`),
      h('small', { class: 'dim' }, `${one.name}${one.proven ? ', proven best of its kind' : ''}; ${counted(one.instructions, 'instruction')}, ${counted(one.bytes_wasted, 'byte')} unused`));
    put(this.ladder, h('p', null, h('strong', null, found.recommended), `: ${found.reason}.`), h('ol', null, found.ladder.map(rung)));
    announce(`Recommended: ${found.recommended}, ${found.hash}.`);
    this.take(found.hash);
  }
}
