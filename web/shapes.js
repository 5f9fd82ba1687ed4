// What an access may be given as: an index, a stride, a CuTe layout, the box of a tensor copy, rows of matrices for ldmatrix,
// a trace. Each becomes lines of a trace, which the program counts.

const elementBytes = { float: 4, int: 4, unsigned: 4, double: 8, __half: 2, __nv_bfloat16: 2, short: 2, char: 1, float2: 8, float4: 16 };
export const elementTypes = Object.keys(elementBytes);
export const boxModes = { none: 0, 32: 1, 64: 2, 128: 3 }; // bits that Swizzle<B,4,3> XORs
export const matrixOps = { ldmatrix1: 8, ldmatrix2: 16, ldmatrix4: 32, ldmatrixt4: 32, stmatrix4: 32 }; // lanes that give rows

// Expressions, one to a line.
export function expressions(text) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean).slice(0, 16);
}

// A tile "64x32" as rows and columns.
function sizesOf(text) {
  const found = /^\s*(\d+)\s*[x×]\s*(\d+)\s*$/.exec(text);
  if (!found) throw new Error(`${text.trim() || 'nothing'} is no size: write rows x columns, such as 64x32`);
  return [Number(found[1]), Number(found[2])];
}

// ---- CuTe's layouts ----

// A tuple of whole numbers, "((4,8),_2)", as nested arrays.
function tupleOf(text, what) {
  const words = text.replace(/Int<(\d+)>\s*(\{\})?/g, '$1').replace(/_(\d)/g, '$1').match(/\d+|[(),]|\S/g) ?? [];
  let at = 0;
  const read = () => {
    const word = words[at++];
    if (/^\d+$/.test(word ?? '')) return Number(word);
    if (word !== '(') throw new Error(`${what}: expected a number or (, not ${word ?? 'its end'}`);
    const parts = [read()];
    for (; words[at] === ','; parts.push(read())) at++;
    if (words[at++] !== ')') throw new Error(`${what}: expected ) or ,`);
    return parts;
  };
  const tuple = read();
  if (at < words.length) throw new Error(`${what}: ${words[at]} is too much`);
  return tuple;
}

const sizeOf = (shape) => (Array.isArray(shape) ? shape.reduce((product, part) => product * sizeOf(part), 1) : shape);

// Strides that lie without gaps, the first mode innermost.
function compact(shape, from = 1) {
  if (!Array.isArray(shape)) return from;
  return shape.map((part) => {
    const own = compact(part, from);
    from *= sizeOf(part);
    return own;
  });
}

// The offset of an index into a shape: its first mode runs fastest.
function offsetOf(shape, stride, index) {
  if (!Array.isArray(shape)) {
    if (Array.isArray(stride)) throw new Error('shape and stride do not have the same form');
    return index * stride;
  }
  if (!Array.isArray(stride) || stride.length !== shape.length) throw new Error('shape and stride do not have the same form');
  let sum = 0;
  shape.forEach((part, mode) => {
    const size = sizeOf(part), isLast = mode === shape.length - 1;
    sum += offsetOf(part, stride[mode], isLast ? index : index % size);
    index = Math.floor(index / size);
  });
  return sum;
}

// "Swizzle<3,4,3> o (8,4):(4,1)" as {swizzle, shape, stride}.
export function layoutOf(text) {
  const swizzled = /^\s*(?:Swizzle|Sw)\s*<\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*>\s*(?:\{\}\s*)?(?:o|∘)\s*(.*)$/s.exec(text);
  const [shapeText, strideText, more] = (swizzled ? swizzled[4] : text).replace(/_0\s*o/, '').split(':');
  if (more !== undefined) throw new Error('one : stands between shape and stride');
  const shape = tupleOf(shapeText, 'shape');
  if (sizeOf(shape) < 1 || sizeOf(shape) > 65536) throw new Error('a layout has 1 to 65536 elements here');
  return { swizzle: swizzled && swizzled.slice(1, 4).map(Number), shape, stride: strideText === undefined ? compact(shape) : tupleOf(strideText, 'stride') };
}

// An offset with bits B from M + S XORed into those from M, as CuTe has it.
export function swizzled([b, m, s], offset) {
  return offset ^ ((offset >> s) & (((1 << b) - 1) << m));
}

// Lines of a trace for a layout of (thread, value): each warp does its values, `each` of them at a time.
export function layoutTrace({ cute, element, each, op }) {
  const { swizzle, shape, stride } = layoutOf(cute);
  const isPair = Array.isArray(shape) && shape.length > 1;
  const threads = isPair ? sizeOf(shape[0]) : sizeOf(shape), values = isPair ? sizeOf(shape.slice(1)) : 1;
  const bytes = elementBytes[element], step = Math.max(1, Number(each) || 1);
  const at = (thread, value) => {
    const plain = offsetOf(shape, stride, thread + threads * value);
    return swizzle ? swizzled(swizzle, plain) : plain;
  };
  const lines = [];
  for (let warp = 0; 32 * warp < threads; warp++)
    for (let value = 0; value < values; value += step) {
      const lanes = Array.from({ length: Math.min(32, threads - 32 * warp) }, (unused, lane) => 32 * warp + lane);
      for (const thread of lanes)
        for (let more = 1; more < step; more++)
          if (value + more >= values || at(thread, value + more) !== at(thread, value) + more) throw new Error(`values ${value} and ${value + more} of thread ${thread} are not neighbours: take fewer at a time`);
      const mask = (lanes.length === 32 ? 0xffffffff : 2 ** lanes.length - 1).toString(16);
      lines.push(`${op} ${bytes * step} ${mask} ${lanes.map((thread) => bytes * at(thread, value)).join(' ')} @values-${value}${step > 1 ? `-${value + step - 1}` : ''}`);
    }
  return lines.join('\n');
}

// ---- What the program makes of an expression, changed ----

// Arguments of explain.
export function explainArguments(state, given = {}) {
  const { index, type, block, op } = { ...state, ...given };
  const params = state.param.split(/[\s,]+/).filter(Boolean).flatMap((one) => ['--param', one]);
  return ['explain', ...expressions(index), '--type', type, '--block', block, '--op', op, ...params, '--machine', state.machine];
}

// Lines with each access given another operation and width, and its addresses led through change.
function changed(text, head, most, change = (address) => address) {
  return text.split('\n').filter(Boolean).map((line) => {
    const words = line.split(' '), site = words.filter((word) => word.startsWith('@'));
    const addresses = words.slice(3).filter((word) => /^\d/.test(word)).slice(0, most).map((word) => change(Number(word)));
    return [head, (addresses.length >= 32 ? 0xffffffff : 2 ** addresses.length - 1).toString(16), ...addresses, ...site].join(' ');
  }).join('\n');
}

// A box of a tensor copy lies row behind row, 16-byte pieces XORed by the mode.
async function boxTrace(state, run) {
  const [rows, columns] = sizesOf(state.box), bytes = elementBytes[state.element], bits = boxModes[state.mode] ?? 0;
  if (bits && columns * bytes > Number(state.mode)) throw new Error(`a box of this mode has rows of at most ${state.mode} bytes; these have ${columns * bytes}`);
  const made = await run(explainArguments(state, { index: `box[${state.row}][${state.column}]`, type: `${state.element}[${rows}][${columns}]`, op: 'ld' }));
  return changed(made, `${state.op} ${state.bytes}`, 32, (address) => swizzled([bits, 4, 3], address));
}

async function matrixTrace(state, run) {
  const made = await run(explainArguments(state, { op: 'ld' }));
  return changed(made, `${state.matrix} 16`, matrixOps[state.matrix]);
}

// The trace that a state stands for; run(argv) gives what the program prints.
export async function traceOf(state, run) {
  switch (state.form) {
    case 'trace': return `${state.trace}\n`;
    case 'stride': return `${state.op} ${state.bytes} ffffffff stride:${state.stride}${Number(state.offset) ? `+${state.offset}` : ''}\n`;
    case 'layout': return `${layoutTrace(state)}\n`;
    case 'box': return `${await boxTrace(state, run)}\n`;
    case 'matrix': return `${await matrixTrace(state, run)}\n`;
    default:
      if (!expressions(state.index).length) throw new Error('type an index, such as tile[threadIdx.x][0]');
      return run(explainArguments(state));
  }
}
