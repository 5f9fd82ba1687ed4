// The worker: runs the program, once for each message; with threads where it was given a program that has them, and workers of
// its own (this same code) that serve as threads.
import { System, instantiate, runInstance, runProgram } from './wasi.js';

const memoryPages = { initial: 2048, maximum: 32768, shared: true }; // as web/build.sh links it

let program, threaded; // compiled modules; threaded: {program, workers, address}
let crew = [];

// What a worker says once.
function said(worker) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
}

// Runs the program with threads: workers get its memory, and wait in it for work.
async function runThreaded(argv, files) {
  const memory = new WebAssembly.Memory(memoryPages), system = new System(argv, files);
  const instance = instantiate(threaded.program, system, memory);
  if (!crew.length) crew = Array.from({ length: threaded.workers }, () => new Worker(threaded.address));
  const ready = crew.map(said);
  crew.forEach((worker, index) => worker.postMessage({ serve: threaded.program, memory, index }));
  await Promise.all(ready);
  instance.exports.bf_threads_begin(crew.length);
  try {
    return runInstance(instance, system);
  } finally {
    instance.exports.bf_threads_end();
  }
}

// A thread: until the program is over.
function serve({ serve: module, memory, index }) {
  const { exports } = instantiate(module, new System([], new Map()), memory);
  exports.__stack_pointer.value = exports.bf_thread_stack(index);
  postMessage('ready');
  try {
    exports.bf_thread_serve(index);
  } catch {
    exports.bf_thread_trapped();
  }
}

// A trap of the program (it ran out of stack or memory) is an answer like a bad exit status.
async function answer({ argv, files, wantsThreads }) {
  const decoder = new TextDecoder();
  try {
    const result = wantsThreads && threaded ? await runThreaded(argv, files) : runProgram(program, argv, files);
    return { status: result.status, output: decoder.decode(result.output), errors: decoder.decode(result.errors), files: result.files };
  } catch (error) {
    return { status: 2, output: '', errors: `bankfold: error: this is too large for a browser (${error.message})\n`, files: new Map() };
  }
}

onmessage = async ({ data }) => {
  if (data.serve) serve(data);
  else if (data.program) ({ program, threaded } = data);
  else postMessage({ id: data.id, ...(await answer(data)) });
};
