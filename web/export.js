// Pictures as files: the <svg> of the page with its styles written into it, or as PNG.
import { download } from './dom.js';

const kept = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-family', 'font-size', 'font-weight', 'text-anchor', 'opacity'];

// The picture as a document of its own.
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')], to = [copy, ...copy.querySelectorAll('*')];
  from.forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of kept) to[index].setAttribute(name, style.getPropertyValue(name));
    to[index].removeAttribute('class');
  });
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const paper = copy.ownerDocument.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [name, value] of Object.entries({ width: '100%', height: '100%', fill: getComputedStyle(document.body).backgroundColor })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(svg, name) {
  download(`${name}.svg`, svgText(svg), 'image/svg+xml');
}

// Twice as large as on the page.
export async function pngOf(svg) {
  const url = URL.createObjectURL(new Blob([svgText(svg)], { type: 'image/svg+xml' }));
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * svg.width.baseVal.value;
  canvas.height = 2 * svg.height.baseVal.value;
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}

export async function savePng(svg, name) {
  download(`${name}.png`, await pngOf(svg));
}
