// The page: views, theme, the address, and what is in the page's data.
import { h, put, announce } from './dom.js';
import { startEngine, Line } from './engine.js';
import { AccessView, accessDefaults } from './access.js';
import { pack, unpack } from './state.js';

const views = { access: 'Access' };
const state = { view: 'access', access: structuredClone(accessDefaults) };

// Members of given that have the kind of value that the state has there.
function merge(into, given) {
  for (const key of Object.keys(into)) {
    const value = given?.[key];
    if (value === undefined || typeof value !== typeof into[key]) continue;
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

async function begin() {
  startEngine(bytesOf('program'), document.getElementById('worker').textContent);
  const quick = new Line();
  const machines = (await quick.json(['machines'])).machines;
  merge(state, (await unpack(location.hash)) ?? {});
  const main = document.getElementById('main');
  const view = new AccessView(state.access, machines, save);
  put(main, view.element);
  view.refresh();
  document.getElementById('theme').addEventListener('click', () => setTheme(isDark() ? 'light' : 'dark'));
  document.getElementById('share').addEventListener('click', share);
}

begin().catch((error) => put(document.getElementById('main'), h('p', { class: 'problem', role: 'alert' }, `The page cannot start: ${error.message}`)));
