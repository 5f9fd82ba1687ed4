// A listing of code with line numbers, and beside lines that cost something a bar and the number.
import { h, number } from './dom.js';

// heat: a Map of line numbers to {conflicts, labels, isCall (of a line that only has calls which were inlined)}. show(line) marks a line and brings it into view.
export function listing(lines, heat, { name, onpick }) {
  const most = Math.max(1, ...[...heat.values()].map((own) => own.conflicts));
  const rows = lines.map((text, index) => {
    const own = heat.get(index + 1);
    const row = h('div', { class: own ? `code-line ${own.conflicts ? 'hot' : 'warm'} ${own.isCall ? 'call' : ''}` : 'code-line', role: own && 'button', tabindex: own && 0, title: own?.labels.slice(0, 8).join('\n'), 'data-line': index + 1 },
      h('span', { class: 'code-number' }, `${index + 1}`),
      h('span', { class: 'code-heat' }, own && `${own.isCall ? '↳ ' : ''}${own.conflicts ? number(own.conflicts) : '✓'}`),
      h('span', { class: 'code-text' }, text || ' '));
    if (own) row.style.setProperty('--share', `${(100 * own.conflicts) / most}%`);
    return row;
  });
  const pick = (event) => {
    const row = event.target.closest('.hot, .warm');
    if (row && (event.type === 'click' || event.key === 'Enter')) onpick(Number(row.dataset.line));
  };
  const body = h('div', { class: 'listing', onclick: pick, onkeydown: pick }, rows);
  return {
    element: h('section', { class: 'code-panel', 'aria-label': name }, h('header', null, h('strong', null, name), h('span', { class: 'dim' }, ` ${number(lines.length)} lines`)), body),
    show(line) {
      for (const row of body.querySelectorAll('.here')) row.classList.remove('here');
      const row = rows[line - 1];
      if (!row) return;
      row.classList.add('here');
      body.scrollTop = row.offsetTop - body.clientHeight / 3; // the body is what offsets are from
    },
  };
}
