// The remedy: which hash the sliders stand for, and the sliders of each kind.
import { h, put, choice, field } from './dom.js';

const kinds = [['none', 'nothing'], ['pad', 'padding'], ['cute', 'CuTe Swizzle<B,M,S>'], ['xor', 'XOR of address bits'], ['tma', 'TMA swizzle mode'], ['text', 'any hash, as text']];

// Sliders of a kind: name, label, least, most, and what it begins with.
const sliders = {
  pad: [['row', 'words in a row', 1, 128, 32], ['words', 'unused words behind it', 0, 32, 1]],
  cute: [['b', 'B: bits', 0, 6, 5], ['m', 'M: lowest bit of the byte offset', 2, 7, 2], ['s', 'S: shift', 1, 8, 5]],
  xor: [['from', 'bank bits begin at word bit', 0, 6, 0], ['with', 'XOR with bits from', 1, 14, 5], ['mask', 'mask', 0, 31, 31]],
};

export const remedyDefaults = { kind: 'none', row: 32, words: 1, b: 5, m: 2, s: 5, from: 0, with: 5, mask: 31, tma: '128', text: 'fixed' };

// The hash as the program's options take it.
export function hashOf(remedy) {
  switch (remedy.kind) {
    case 'pad': return remedy.words ? `pad:${remedy.row}+${remedy.words}` : 'none';
    case 'cute': return remedy.b ? `cute:${remedy.b},${remedy.m},${remedy.s}` : 'none';
    case 'xor': return `xor:${remedy.from},${remedy.with},${remedy.mask}`;
    case 'tma': return `tma:${remedy.tma}`;
    case 'text': return remedy.text.trim() || 'none';
    default: return 'none';
  }
}

// The remedy that stands for a hash.
export function remedyOf(hash) {
  const numbers = (hash.match(/\d+/g) ?? []).map(Number);
  const [kind] = hash.split(':');
  if (hash === 'none') return { kind: 'none' };
  if (kind === 'pad') return { kind, row: numbers[0], words: numbers[1] };
  if (kind === 'cute' && numbers.length === 3) return { kind, b: numbers[0], m: numbers[1], s: numbers[2] };
  if (kind === 'xor') return { kind, from: numbers[0], with: numbers[1], mask: numbers[2] };
  if (kind === 'tma') return { kind, tma: String(numbers[0]) };
  return { kind: 'text', text: hash };
}

function slider(remedy, [key, label, least, most], onchange) {
  const shown = h('output', null, `${remedy[key]}`);
  const range = h('input', { type: 'range', min: least, max: most, value: remedy[key], oninput: () => {
    remedy[key] = Number(range.value);
    shown.textContent = range.value;
    onchange();
  } });
  const made = field(label, range);
  made.querySelector('label').append(' ', shown);
  return made;
}

// The controls; remedy is changed in place, and onchange called.
export function remedyControls(remedy, onchange) {
  const inside = h('div', { class: 'sliders' });
  const hash = h('code', { class: 'hash' });
  const changed = () => {
    hash.textContent = hashOf(remedy);
    onchange();
  };
  const draw = () => {
    hash.textContent = hashOf(remedy);
    if (sliders[remedy.kind]) put(inside, sliders[remedy.kind].map((one) => slider(remedy, one, changed)));
    else if (remedy.kind === 'tma') put(inside, field('bytes', choice([['32', '32'], ['64', '64'], ['128', '128']], remedy.tma, (value) => { remedy.tma = value; changed(); })));
    else if (remedy.kind === 'text') put(inside, field('hash', h('input', { type: 'text', value: remedy.text, spellcheck: 'false', oninput: (event) => { remedy.text = event.target.value; changed(); } }), 'fixed, perm:5, bits:0^5,1^6,…, rows:…'));
    else put(inside);
  };
  const select = choice(kinds, remedy.kind, (kind) => { remedy.kind = kind; draw(); onchange(); });
  draw();
  return h('div', { class: 'remedy' }, field('remedy', select), inside, h('p', null, h('span', { class: 'dim' }, 'hash '), hash));
}
