// A kernel: PTX that is pasted or dropped, its accesses by line, runs on the emulator, and what mends it.
import { h, put, field, choice, number, counted, announce, download, baseName } from './dom.js';
import { Line, Cancelled, latest } from './engine.js';
import { pictureFigure, stepper } from './picture.js';
import { saveSvg, savePng } from './export.js';
import { codeEditor } from './editor.js';
import { chainsOf } from './chains.js';
import { listing } from './listing.js';
import { table } from './table.js';

export const kernelDefaults = { name: '', ptx: '', source: '', sourceName: '', launch: '', block: '32x8', machine: 'hopper', hash: '', site: '' };

const mostPtxLines = 30000;

// Parameters of the kernels of PTX text, for a launch description to begin with.
export function kernelsOf(ptx) {
  const kernels = [];
  for (const [, name, list] of ptx.matchAll(/\.entry\s+([\w$]+)\s*\(([^)]*)\)/g))
    kernels.push({ name, params: [...list.matchAll(/\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)/g)].map(([, type]) => type) });
  return kernels;
}

// A launch description with a buffer for every 64-bit parameter and 256 for every other.
export function launchTemplate(ptx, block) {
  const [kernel] = kernelsOf(ptx);
  if (!kernel) return '';
  const words = kernel.params.map((type, index) => (/64/.test(type) ? `b${index}` : `${type.replace('b', 'u')}:256`));
  const buffers = words.filter((word) => /^b\d/.test(word)).map((word) => `buffer ${word} f32 65536 random 0 1`);
  return [...buffers, `launch ${kernel.name} grid 8 8 block ${block.split('x').join(' ')} with ${words.join(' ')}`.replace(/ with $/, ''), ''].join('\n');
}

// Accesses as analysis has them, all kernels together.
function sitesOf(analysis) {
  return analysis.kernels.flatMap((kernel) => (kernel.sites ?? []).map((site) => ({ ...site, kernel: kernel.name })));
}

// A line that was counted, with where it was inlined.
export function lineText(row) {
  if (row.ptx_line) return `PTX ${row.ptx_line}`;
  return [`${baseName(row.file)}:${row.line}`, row.inlined_file && `${baseName(row.inlined_file)}:${row.inlined_line}`, row.inlined_further?.replaceAll(', inlined at', ' ←')].filter(Boolean).join(' ← ');
}

export class KernelView {
  constructor(state, machines, onchange) {
    Object.assign(this, { state, machines, onchange, quick: new Line(), long: new Line(true) });
    this.refresh = latest(() => this.analyze());
    this.controls = h('section', { class: 'panel controls', 'aria-label': 'the kernel' });
    this.result = h('section', { class: 'results', 'aria-label': 'what its lines cost' });
    this.element = h('div', { class: 'split', ondragover: (event) => event.preventDefault(), ondrop: (event) => this.drop(event) }, this.controls, this.result);
    this.drawControls();
    this.layOutResult();
  }

  changed(isNew) {
    this.onchange();
    if (isNew) this.refresh();
  }

  text(key, label, props = {}) {
    const oninput = (event) => {
      this.state[key] = event.target.value;
      this.changed(key === 'ptx' || key === 'block');
    };
    if (props.rows) return codeEditor({ value: this.state[key], label, id: key, ...props, oninput });
    return h('input', { spellcheck: 'false', value: this.state[key], ...props, oninput });
  }

  drawControls() {
    const { state } = this;
    const machines = this.machines.map((one) => [one.name, one.title]);
    const file = h('input', { type: 'file', multiple: true, class: 'file', id: 'file', onchange: () => this.take(file.files) });
    put(this.controls, h('h2', null, 'Kernel'),
      field('PTX, fat binary, program, .cu beside it', file, 'or drop them anywhere; they stay on this machine'),
      field('PTX', this.editor = this.text('ptx', 'PTX', { rows: 8, numbers: true, hint: 'paste PTX here' })),
      field('block', this.text('block', 'block', { id: 'kernel-block' })),
      field('machine', choice(machines, state.machine, (value) => { state.machine = value; this.changed(true); })),
      h('h2', null, 'Run'),
      field('launches', this.text('launch', 'launches', { rows: 5, numbers: true }), 'buffers and launches, as bankfold profile takes them'),
      h('div', { class: 'buttons' },
        h('button', { type: 'button', class: 'primary', id: 'run', onclick: () => this.run() }, 'Run on the emulator'),
        h('button', { type: 'button', id: 'rewrite', onclick: () => this.rewrite() }, 'Rewrite'),
        h('button', { type: 'button', id: 'cancel', hidden: true, onclick: () => this.long.cancel() }, 'Cancel')),
      this.bar ??= h('progress', { hidden: true, 'aria-label': 'at work' }), this.note ??= h('p', { class: 'dim', 'aria-live': 'polite' }));
  }

  layOutResult() {
    for (const name of ['problem', 'totals', 'code', 'picture', 'sites', 'ran', 'fixes', 'rewritten']) this[name] = h('div');
    this.problem = h('pre', { class: 'problem', role: 'alert', hidden: true });
    this.totals.className = 'totals';
    put(this.result, this.problem, this.totals, h('div', { class: 'beside' }, this.code, this.picture), this.ran, this.sites, this.fixes, this.rewritten);
  }

  say(error) {
    if (error instanceof Cancelled) return put(this.note, 'Cancelled.');
    this.problem.textContent = error.message;
    this.problem.hidden = false;
    if (error.line && /^line /.test(error.message)) this.editor.mark(error.line, error.column);
  }

  // Files that were dropped or chosen.
  drop(event) {
    event.preventDefault();
    this.take(event.dataTransfer.files);
  }

  async take(files) {
    for (const file of files) {
      const bytes = new Uint8Array(await file.arrayBuffer());
      try {
        await this.takeFile(file.name, bytes);
      } catch (error) {
        this.say(error);
      }
    }
    this.drawControls();
    this.changed(true);
  }

  async takeFile(name, bytes) {
    const { state } = this;
    if (/\.(cu|cuh|h|hpp|cpp)$/.test(name)) Object.assign(state, { source: new TextDecoder().decode(bytes), sourceName: name });
    else if (/\.launch$/.test(name)) state.launch = new TextDecoder().decode(bytes);
    else {
      const shown = await this.quick.run(['ptx', 'show', 'input.bin'], { 'input.bin': bytes });
      if (shown.status) throw new Error(shown.errors.trim());
      Object.assign(state, { name, ptx: shown.output, launch: launchTemplate(shown.output, state.block), site: '' });
    }
  }

  get files() {
    const files = { 'input.ptx': this.state.ptx, 'input.launch': this.state.launch };
    if (this.state.source) files[this.state.sourceName] = this.state.source;
    return files;
  }

  get machine() {
    return ['--machine', this.state.machine];
  }

  async analyze() {
    const { state } = this;
    if (!state.ptx.trim()) return this.showNothing();
    if (!state.launch.trim()) {
      state.launch = launchTemplate(state.ptx, state.block);
      this.controls.querySelector('#launch').value = state.launch;
    }
    try {
      this.analysis = await this.quick.json(['analyze', 'input.ptx', '--block', state.block, ...this.machine], this.files);
      this.problem.hidden = true;
      this.editor.mark();
      this.chains = chainsOf(state.ptx);
      this.showAnalysis();
      await this.suggest();
    } catch (error) {
      this.say(error);
    }
    this.result.dataset.done = String(Number(this.result.dataset.done ?? 0) + 1);
  }

  showNothing() {
    put(this.code, h('div', { class: 'empty ready' }, h('p', null, 'Paste PTX, or drop a .ptx, a program or a fat binary here.'),
      h('p', { class: 'dim' }, 'nvcc -ptx -lineinfo app.cu makes PTX that names its source lines; drop the .cu too to see them.')));
  }

  showAnalysis() {
    const sites = sitesOf(this.analysis);
    const sum = (key) => sites.reduce((total, site) => total + (site[key] ?? 0), 0);
    const figure = (label, value, kind) => h('div', { class: `total ${kind ?? ''}` }, h('span', { class: 'value' }, value), h('span', { class: 'label' }, label));
    const conflicts = sum('conflicts');
    put(this.totals, figure('kernels', number(this.analysis.kernels.length)), figure('shared accesses in the code', number(sites.length)),
      figure('wavefronts a block', number(sum('wavefronts'))), figure('conflicts a block', number(conflicts), conflicts ? 'bad' : 'good'));
    this.showCode(sites.map((site) => ({ line: site.line, conflicts: site.conflicts, label: `${site.formula}: ${site.explanation}` })));
    const columns = [
      { title: 'kernel', text: true, of: (site) => site.kernel }, { title: 'PTX line', of: (site) => site.line }, { title: 'source', text: true, of: (site) => this.chainText(site) },
      { title: 'op', text: true, of: (site) => `${site.op} ${site.width}` }, { title: 'address', text: true, of: (site) => site.formula },
      { title: 'wavefronts', of: (site) => site.wavefronts }, { title: 'ideal', of: (site) => site.ideal }, { title: 'conflicts', of: (site) => site.conflicts },
    ];
    put(this.sites, h('h3', null, 'Accesses, from the PTX alone'), table(columns, sites, { filter: true, sort: 7, onpick: (site) => this.pick(site) }));
    const worst = sites.reduce((most, site) => (site.conflicts > (most?.conflicts ?? 0) ? site : most), undefined);
    if (worst) this.pick(worst, true);
    else put(this.picture);
  }

  // Where a site comes from: its source line, and where that was inlined, outwards.
  chainOf(site) {
    const chain = this.chains.get(site.line);
    return chain?.length ? chain : site.source_line ? [{ file: site.source_file, line: site.source_line }] : [];
  }

  chainText(site) {
    return this.chainOf(site).map((own) => `${baseName(own.file)}:${own.line}`).join(' ← ');
  }

  // PTX and source with heat by line; a line of one leads to the other. Lines that calls were inlined at have what they
  // cost too, set apart.
  showCode(marks) {
    const { state } = this;
    const heat = (places) => {
      const lines = new Map();
      for (const mark of marks)
        places(mark).forEach(({ line, isCall }) => {
          const own = lines.get(line) ?? { conflicts: 0, labels: [], isCall };
          own.conflicts += mark.conflicts;
          own.isCall &&= isCall;
          own.labels.push(isCall ? `inlined here: ${mark.label}` : mark.label);
          lines.set(line, own);
        });
      return lines;
    };
    const inSource = (mark) => {
      const own = this.chainOf({ ...mark, source_line: mark.sourceLine }).filter((place) => baseName(place.file) === baseName(state.sourceName));
      return own.filter((place, index) => own.findIndex((other) => other.line === place.line) === index).map((place, index) => ({ line: place.line, isCall: index > 0 }));
    };
    const lines = state.ptx.split('\n').slice(0, mostPtxLines);
    this.ptxList = listing(lines, heat((mark) => [{ line: mark.line }]), { name: state.name || 'PTX', onpick: (line) => this.pickLine(line) });
    this.sourceList = state.source && listing(state.source.split('\n'), heat(inSource), { name: state.sourceName, onpick: (line) => this.pickSource(line) });
    put(this.code, this.sourceList && this.sourceList.element, this.ptxList.element);
  }

  pickLine(line) {
    const site = sitesOf(this.analysis).find((own) => own.line === line);
    if (site) this.pick(site);
  }

  pickSource(line) {
    const site = sitesOf(this.analysis).filter((own) => this.chainOf(own).some((place) => place.line === line)).sort((a, b) => b.conflicts - a.conflicts)[0];
    if (site) this.pick(site);
  }

  // Draws the access of a site: its trace is what analysis writes for it.
  async pick(site, isQuiet) {
    this.ptxList.show(site.line, isQuiet);
    if (this.sourceList) this.sourceList.show(site.source_line, isQuiet);
    const made = await this.quick.run(['analyze', 'input.ptx', '--block', this.state.block, '--kernel', site.kernel, '--save-trace', 'out.trace', ...this.machine], this.files);
    const text = new TextDecoder().decode(made.files.get('out.trace') ?? new Uint8Array(0));
    const own = text.split('\n').filter((line) => line.includes(`:${site.source_line || site.line}`) || !line.includes('@'));
    const trace = (own.some((line) => line.startsWith(site.op)) ? own.filter((line) => line.startsWith(site.op)) : text.split('\n')).join('\n');
    if (!trace.trim()) return put(this.picture, h('p', { class: 'dim' }, `${site.formula}: its addresses are not known without running it.`));
    const drawn = await this.quick.json(['draw', 'input.trace', ...this.machine], { 'input.trace': `${trace}\n` });
    const lanes = this.machines.find((one) => one.name === this.state.machine)?.lanes ?? 32;
    const figure = pictureFigure(drawn.pictures[0], drawn.banks, `${site.kernel}, PTX line ${site.line}`, lanes);
    const file = `${site.kernel}_${site.line}`;
    put(this.picture, this.chainLinks(site), figure.figure, h('div', { class: 'tools' }, stepper([figure]), h('span', { class: 'spacer' }),
      h('button', { type: 'button', class: 'quiet', onclick: () => saveSvg(figure.svg, file) }, 'SVG'), h('button', { type: 'button', class: 'quiet', onclick: () => savePng(figure.svg, file) }, 'PNG')));
  }

  // The chain of inlined calls as links into the source.
  chainLinks(site) {
    const chain = this.chainOf(site);
    if (!chain.length) return null;
    const link = (own, index) => [index > 0 && h('span', { class: 'dim' }, ' inlined at '), h('button', { type: 'button', class: 'quiet small', onclick: () => this.sourceList?.show(own.line) }, `${baseName(own.file)}:${own.line}`)];
    return h('p', { class: 'chain' }, chain.map(link));
  }

  // Work that may take long, in a worker that can be ended.
  async work(label, task) {
    if (this.long.isBusy) return;
    const cancel = this.controls.querySelector('#cancel'), begin = performance.now();
    cancel.hidden = this.bar.hidden = false;
    put(this.note, label);
    try {
      await task();
      put(this.note, `${((performance.now() - begin) / 1000).toFixed(2)} s`);
      this.problem.hidden = true;
    } catch (error) {
      put(this.note);
      this.say(error);
    }
    cancel.hidden = this.bar.hidden = true;
  }

  run() {
    return this.work('Running …', async () => {
      const ran = await this.long.json(['profile', 'input.ptx', '--launch', 'input.launch', ...this.machine], this.files);
      const rows = ran.kernels.flatMap((kernel) => kernel.lines.map((line) => ({ ...line, kernel: kernel.name })));
      const columns = [
        { title: 'kernel', text: true, of: (row) => row.kernel }, { title: 'line', text: true, of: (row) => lineText(row) },
        { title: 'accesses', of: (row) => row.accesses }, { title: 'wavefronts', of: (row) => row.wavefronts }, { title: 'ideal', of: (row) => row.ideal },
        { title: 'conflicts', of: (row) => row.conflicts }, { title: 'why', text: true, of: (row) => row.explanation },
      ];
      const fixes = ran.kernels.filter((kernel) => kernel.fix).map((kernel) => h('p', null, h('strong', null, kernel.name), `: ${kernel.fix.name} `, h('code', null, kernel.fix.hash), ` leaves ${counted(kernel.fix.conflicts_after, 'conflict')} of ${number(kernel.fix.conflicts_before)}`));
      put(this.ran, h('h3', null, 'Counted on the emulator'), fixes, table(columns, rows, { filter: true, sort: 5 }));
      announce('The kernels have run.');
    });
  }

  // Fixes as code, where the source is known.
  async suggest() {
    const { state } = this;
    if (!state.source) return put(this.fixes);
    const made = await this.quick.run(['suggest', 'input.ptx', '--source', state.sourceName, '--block', state.block, '--time-limit', '1', '--patch', 'out.diff', ...this.machine], this.files);
    const patch = new TextDecoder().decode(made.files.get('out.diff') ?? new Uint8Array(0));
    put(this.fixes, h('h3', null, 'In the source'), h('pre', { class: 'code-box' }, made.output || made.errors),
      patch && h('div', { class: 'code-box' }, h('pre', null, patch)),
      patch && h('button', { type: 'button', onclick: () => download('bankfold.diff', patch) }, 'Download the patch'));
  }

  rewrite() {
    return this.work('Rewriting …', async () => {
      const result = await this.long.run(['rewrite', 'input.ptx', '--launch', 'input.launch', '--check', '--output', 'out.ptx', '--json', ...this.machine], this.files);
      if (result.status > 1 || !result.output) throw new Error(result.errors.trim());
      const told = JSON.parse(result.output), ptx = result.files.get('out.ptx');
      const columns = [
        { title: 'kernel', text: true, of: (row) => row.name }, { title: 'hash', text: true, of: (row) => row.hash ?? '' }, { title: 'hashed accesses', of: (row) => row.hashed },
        { title: 'instructions added', of: (row) => row.added_instructions }, { title: 'cycles before', of: (row) => row.predicted?.cycles_before ?? '' }, { title: 'after', of: (row) => row.predicted?.cycles_after ?? '' },
        { title: 'left alone because', text: true, of: (row) => row.reason ?? '' },
      ];
      put(this.rewritten, h('h3', null, 'Rewritten'),
        told.checked && h('p', null, `Run before and after: ${number(told.checked.bytes)} bytes of memory are equal.`), table(columns, told.kernels),
        ptx && told.changed && h('button', { type: 'button', id: 'save-ptx', onclick: () => download(`hashed_${this.state.name || 'kernel.ptx'}`, new TextDecoder().decode(ptx)) }, 'Download the rewritten PTX'));
    });
  }
}
