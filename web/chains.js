// Where the code of PTX lines comes from: the source line, and the calls around it that were inlined, as .loc says it.

const place = /^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?/;

// By number of the PTX line: places {file, line}, innermost first.
export function chainsOf(ptx) {
  const files = new Map([...ptx.matchAll(/^\s*\.file\s+(\d+)\s+"([^"]*)"/gm)].map(([, number, path]) => [number, path]));
  const around = new Map(); // the place that a place was last inlined at
  const chains = new Map();
  const resolve = (key, outer) => {
    const places = [];
    for (const seen = new Set(); key && !seen.has(key); key = outer, outer = around.get(key)) {
      seen.add(key);
      const [file, line] = key.split(' ');
      places.push({ file: files.get(file) ?? '', line: Number(line) });
    }
    return places;
  };
  let current;
  ptx.split('\n').forEach((text, index) => {
    const found = place.exec(text);
    if (found) {
      const own = found.slice(1, 4).join(' '), outer = found[4] && found.slice(4, 7).join(' ');
      around.set(own, outer);
      current = resolve(own, outer);
    } else if (/\.entry|\.func/.test(text)) current = undefined;
    else if (current && /;\s*(\/\/.*)?$/.test(text)) chains.set(index + 1, current);
  });
  return chains;
}
