// The page: views, theme, the address, and what is in the page's data.
import { h, put, announce } from './dom.js';
import { startEngine, threadCount, Line } from './engine.js';
import { AccessView, accessDefaults } from './access.js';
import { KernelView, kernelDefaults } from './kernel.js';
import { TimeView, timeDefaults } from './time.js';
import { ReportView, reportDefaults } from './report.js';
import { ExamplesView, examplesDefaults } from './examples.js';
import { pack, unpack } from './state.js';

const views = { access: ['Access', AccessView], kernel: ['Kernel', KernelView], time: ['Time', TimeView], report: ['Report', ReportView], examples: ['Examples', ExamplesView] };
const state = structuredClone({ view: 'access', access: accessDefaults, kernel: kernelDefaults, time: timeDefaults, report: reportDefaults, examples: examplesDefaults });
const made = {}; // views that were shown, by name
let machines;
const shared = { kernel: state.kernel, take, gpus: [] }; // what views know of each other

// Members of given that have the kind of value that the state has there.
function merge(into, given) {
  for (const key of Object.keys(into)) {
    const value = given?.[key];
    if (value === undefined || (into[key] !== null && typeof value !== typeof into[key])) continue;
    if (into[key] && typeof into[key] === 'object' && !Array.isArray(into[key])) merge(into[key], value);
    else into[key] = value;
  }
}

function bytesOf(id) {
  return Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
}

let saving;

// Puts the state into the address, a moment after the last change.
function save() {
  clearTimeout(saving);
  saving = setTimeout(async () => history.replaceState(null, '', await pack(state)), 300);
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function isDark() {
  return (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
}

async function share() {
  const address = location.href.split('#')[0] + (await pack(state));
  history.replaceState(null, '', address);
  await navigator.clipboard.writeText(address);
  announce('The address of what you see is in the clipboard.');
}

// Shows a view; it is made when it is first shown.
function show(name) {
  state.view = views[name] ? name : 'access';
  const isNew = !made[state.view];
  made[state.view] ??= new views[state.view][1](state[state.view], machines, save, shared);
  put(document.getElementById('main'), made[state.view].element);
  for (const button of document.querySelectorAll('#views button'))
    if (button.dataset.view === state.view) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  if (isNew || state.view === 'time') made[state.view].refresh();
}

// Shows what an example stands for.
function take(given) {
  merge(state, given);
  for (const name of Object.keys(given)) delete made[name];
  if (given.kernel) delete made.time;
  show(given.view);
  save();
}

function drawViews() {
  put(document.getElementById('views'), Object.entries(views).map(([name, [title]]) =>
    h('button', { type: 'button', 'data-view': name, onclick: () => { show(name); save(); } }, title)));
}

async function begin() {
  startEngine(bytesOf('program'), document.getElementById('worker').textContent);
  const quick = new Line();
  ({ machines, gpus: shared.gpus } = await quick.json(['machines']));
  shared.kernelExample = { view: 'kernel', kernel: JSON.parse(document.getElementById('kernel-example').textContent) };
  const given = JSON.parse(document.getElementById('given').textContent);
  if (given) merge(state, given);
  merge(state, (await unpack(location.hash)) ?? {});
  drawViews();
  show(state.view);
  document.getElementById('theme').addEventListener('click', () => setTheme(isDark() ? 'light' : 'dark'));
  document.getElementById('share').addEventListener('click', share);
  document.documentElement.dataset.threads = await threadCount();
}

begin().catch((error) => put(document.getElementById('main'), h('p', { class: 'problem', role: 'alert' }, `The page cannot start: ${error.message}`)));
