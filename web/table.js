// Tables that can be sorted, filtered, and copied as CSV.
import { h, put, number, announce } from './dom.js';

// A value as a field of CSV.
function csvField(value) {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(columns, rows) {
  const lines = [columns.map((column) => csvField(column.title)), ...rows.map((row) => columns.map((column) => csvField(column.of(row))))];
  return `${lines.map((line) => line.join(',')).join('\n')}\n`;
}

function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a ?? '').localeCompare(String(b ?? ''), 'en', { numeric: true });
}

function shown(value) {
  if (typeof value === 'number') return Number.isInteger(value) ? number(value) : value.toPrecision(4);
  return value ?? '';
}

// columns: {title, of(row), show(row) -> node (optional), text (bool: left-aligned)}; options: caption, onpick(row),
// filter (bool), sort (index), most (rows shown at first).
export function table(columns, rows, options = {}) {
  let by = options.sort ?? -1, down = true, wanted = '', most = options.most ?? 200;
  const body = h('tbody');
  const heads = columns.map((column, index) => h('th', { scope: 'col', class: column.text ? 'text' : 'figure-column' },
    h('button', { type: 'button', class: 'sort', onclick: () => sortBy(index) }, column.title)));
  const more = h('p', { class: 'dim' });
  const kept = () => rows.filter((row) => !wanted || columns.some((column) => String(column.of(row) ?? '').toLowerCase().includes(wanted)));
  const sorted = () => {
    const list = kept();
    if (by >= 0) list.sort((a, b) => (down ? -1 : 1) * compare(columns[by].of(a), columns[by].of(b)));
    return list;
  };
  const line = (row) => {
    const pick = options.onpick && { tabindex: 0, class: 'pick', onclick: () => options.onpick(row), onkeydown: (event) => event.key === 'Enter' && options.onpick(row) };
    return h('tr', pick ?? null, columns.map((column) => h('td', { class: column.text ? 'text' : 'figure-column' }, column.show ? column.show(row) : shown(column.of(row)))));
  };
  const draw = () => {
    const list = sorted();
    heads.forEach((head, index) => head.setAttribute('aria-sort', index === by ? (down ? 'descending' : 'ascending') : 'none'));
    put(body, list.slice(0, most).map(line));
    put(more, list.length > most && h('button', { type: 'button', class: 'quiet', onclick: () => { most = Infinity; draw(); } }, `show all ${number(list.length)} rows`));
  };
  const sortBy = (index) => {
    down = by === index ? !down : !columns[index].text;
    by = index;
    draw();
  };
  const copy = async () => {
    await navigator.clipboard.writeText(csv(columns, sorted()));
    announce('The table is in the clipboard as CSV.');
  };
  draw();
  return h('div', { class: 'table' },
    h('div', { class: 'table-tools' }, options.caption && h('span', { class: 'caption' }, options.caption),
      options.filter && h('input', { type: 'search', placeholder: 'filter', 'aria-label': 'filter rows', oninput: (event) => { wanted = event.target.value.toLowerCase(); draw(); } }),
      h('button', { type: 'button', class: 'quiet', onclick: copy }, 'Copy CSV')),
    h('div', { class: 'scroller' }, h('table', null, h('thead', null, h('tr', null, heads)), body)), more);
}
