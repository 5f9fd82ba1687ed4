// The program behind the page. Each line of work has a worker of its own, so that typing does not wait
// for a search; ending a worker is how work is cancelled.

let compiled;      // promise of the module
let threaded;      // promise of the program with threads, or of nothing
let workerAddress; // of the worker's code

// The program with threads, from beside the page, where the browser lets workers share memory. Without it all goes on.
async function loadThreaded() {
  const cores = navigator.hardwareConcurrency ?? 1;
  if (!globalThis.crossOriginIsolated || cores < 2) return undefined;
  try {
    const packed = await fetch('threads.bin');
    if (!packed.ok) return undefined;
    const bytes = await new Response(packed.body.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
    return { program: await WebAssembly.compile(bytes), workers: 2 * (Math.min(cores, 16) - 1), address: workerAddress };
  } catch {
    return undefined;
  }
}

// How many threads a command may have; 1 where there are none.
export async function threadCount() {
  const own = await threaded;
  return own ? own.workers / 2 + 1 : 1;
}

// Starts from the gzip-compressed program and the text of the worker.
export function startEngine(packed, workerText) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  compiled = new Response(stream).arrayBuffer().then((bytes) => WebAssembly.compile(bytes));
  workerAddress = URL.createObjectURL(new Blob([workerText], { type: 'text/javascript' }));
  threaded = loadThreaded();
  return compiled;
}

export class Cancelled extends Error {}

// isLong: of commands that take long, which get threads where there are.
export class Line {
  constructor(isLong = false) {
    this.isLong = isLong;
    this.waiting = new Map();
    this.count = 0;
  }

  async begin() {
    const worker = new Worker(workerAddress);
    worker.onmessage = ({ data }) => {
      this.waiting.get(data.id)?.resolve(data);
      this.waiting.delete(data.id);
    };
    worker.onerror = (event) => this.cancel(event.message);
    worker.postMessage({ program: await compiled, threaded: this.isLong ? await threaded : undefined });
    return worker;
  }

  // Runs a command line; files maps names to text or bytes. The promise gives status, output, errors, files.
  async run(argv, files = {}) {
    const encoder = new TextEncoder();
    const bytes = new Map(Object.entries(files).map(([name, content]) =>
      [name, typeof content === 'string' ? encoder.encode(content) : content]));
    const id = ++this.count;
    const result = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.worker ??= this.begin();
    const worker = await this.worker;
    if (this.waiting.has(id)) worker.postMessage({ id, argv: ['bankfold', ...argv], files: bytes, wantsThreads: this.isLong });
    return result;
  }

  // The same for a command that prints JSON: the object. An error has what the program said.
  async json(argv, files) {
    const result = await this.run([...argv, '--json'], files);
    if (!result.output || result.status > 1) throw complaint(result);
    return JSON.parse(result.output);
  }

  // Ends what runs; all who wait for it get Cancelled.
  cancel() {
    const worker = this.worker;
    this.worker = undefined;
    worker?.then((own) => own.terminate());
    for (const { reject } of this.waiting.values()) reject(new Cancelled());
    this.waiting.clear();
  }

  get isBusy() {
    return this.waiting.size > 0;
  }
}

// What the program complains of, as an error with line and column where it says them.
export function complaint(result) {
  const error = new Error(plainError(result.errors));
  try {
    const { line, column } = JSON.parse(result.output).error;
    Object.assign(error, { line, column });
  } catch {
    // It printed no JSON: the words say it.
  }
  return error;
}

// The program's complaint without what only a terminal needs.
export function plainError(errors) {
  return errors.replace(/^bankfold: error: /, '').replace(/^input\.\w+:/gm, 'line ').replace(/: error: /g, ': ').trimEnd() || 'no answer';
}

// A function that calls work(...), which returns a promise, with the last arguments only: calls that come
// while it works are kept until it has ended, and only the last of them is made.
export function latest(work) {
  let isBusy = false, next;
  return async function call(...given) {
    if (isBusy) {
      next = given;
      return;
    }
    isBusy = true;
    try {
      await work(...given);
    } finally {
      isBusy = false;
      const kept = next;
      next = undefined;
      if (kept) call(...kept);
    }
  };
}
