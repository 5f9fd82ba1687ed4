// The worker: runs the program, once for each message.
import { runProgram } from './wasi.js';

let program;

// A trap of the program (it ran out of stack or memory) is an answer like a bad exit status.
function answer({ argv, files }) {
  const decoder = new TextDecoder();
  try {
    const result = runProgram(program, argv, files);
    return { status: result.status, output: decoder.decode(result.output), errors: decoder.decode(result.errors), files: result.files };
  } catch (error) {
    return { status: 2, output: '', errors: `bankfold: error: this is too large for a browser (${error.message})\n`, files: new Map() };
  }
}

onmessage = ({ data }) => {
  if (data.program) program = data.program;
  else postMessage({ id: data.id, ...answer(data) });
};
