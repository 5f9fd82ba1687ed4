// Small helpers for elements. All text goes in as text nodes: what users paste is never markup.

const svgSpace = 'http://www.w3.org/2000/svg';

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'selected') element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// h('p', {class: 'dim'}, 'text', element): an element of HTML.
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

// The same for SVG.
export function s(tag, props, ...children) {
  return fill(document.createElementNS(svgSpace, tag), props, children);
}

// Puts children in the place of what an element holds.
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

// Thousands set apart.
export function number(value) {
  return Math.round(value).toLocaleString('en-US');
}

// "1 lane", "2 lanes".
export function counted(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

// A share as a percentage.
export function percent(part, whole) {
  return whole ? `${Math.round((100 * part) / whole)} %` : '0 %';
}

// The last part of a path.
export function baseName(path) {
  return (path ?? '').split('/').at(-1);
}

let lastId = 0;

// A label above a control. The control gets an id where it has none.
export function field(label, control, hint) {
  control.id ||= `field${++lastId}`;
  return h('div', { class: 'field' }, h('label', { for: control.id }, label), control, hint && h('small', { class: 'dim' }, hint));
}

// A drop-down list of [value, text] pairs.
export function choice(pairs, value, onchange, props) {
  return h('select', { ...props, onchange: (event) => onchange(event.target.value) },
    pairs.map(([key, text]) => h('option', { value: key, selected: key === value }, text)));
}

// Hands a file to the user.
export function download(name, content, type = 'text/plain') {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

let announced;

// Says something to everyone, also to screen readers, for a moment.
export function announce(text) {
  const status = document.getElementById('status');
  status.textContent = text;
  clearTimeout(announced);
  announced = setTimeout(() => { status.textContent = ''; }, 4000);
}
