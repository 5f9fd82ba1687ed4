// The system that the program sees in a browser: arguments, a clock, and files in memory. Of WASI's
// calls (wasi_snapshot_preview1) it has those that the program makes; all others answer "not supported".

const errno = { badFile: 8, exists: 20, invalid: 28, notDirectory: 54, missing: 44, notSupported: 52 };
const fileKind = { directory: 3, regular: 4 };
const mostDescriptors = 64;

// Thrown by proc_exit, to leave the program.
class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`);
    this.status = status;
  }
}

// A file: bytes that grow, read and written at a place.
class MemoryFile {
  constructor(bytes = new Uint8Array(0)) {
    this.bytes = bytes;
    this.size = bytes.length;
  }

  write(at, piece) {
    const end = at + piece.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.bytes.length, 1024));
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    }
    this.bytes.set(piece, at);
    this.size = Math.max(this.size, end);
  }

  content() {
    return this.bytes.subarray(0, this.size);
  }
}

// The imports of a run with these arguments and files (a Map of names to bytes); connect gives it the
// memory of the instance. Names are relative: "a.ptx" is also "/a.ptx" and "./a.ptx".
export class System {
  constructor(argv, files) {
    const encoder = new TextEncoder();
    this.argv = argv.map((text) => encoder.encode(`${text}\0`));
    this.files = new Map([...files].map(([name, bytes]) => [name, new MemoryFile(bytes)]));
    const stream = (name) => ({ file: new MemoryFile(this.files.get(name)?.content()), at: 0, isStream: true });
    this.open = [stream('-'), stream(''), stream(''), { isRoot: true }];
    this.decoder = new TextDecoder();
  }

  connect(memory) {
    this.memory = memory;
  }

  get view() {
    return new DataView(this.memory.buffer);
  }

  bytes(at, size) {
    return new Uint8Array(this.memory.buffer, at, size);
  }

  name(at, size) {
    const path = this.decoder.decode(this.bytes(at, size).slice());
    return path.split('/').filter((part) => part && part !== '.').join('/');
  }

  // What the program has written to standard output (1) or standard error (2).
  printed(number) {
    return this.open[number].file.content();
  }

  // ---- Calls ----

  putTexts(texts, pointers, buffer) {
    for (const text of texts) {
      this.view.setUint32(pointers, buffer, true);
      this.bytes(buffer, text.length).set(text);
      pointers += 4;
      buffer += text.length;
    }
    return 0;
  }

  args_sizes_get(count, size) {
    this.view.setUint32(count, this.argv.length, true);
    this.view.setUint32(size, this.argv.reduce((sum, text) => sum + text.length, 0), true);
    return 0;
  }

  args_get(pointers, buffer) {
    return this.putTexts(this.argv, pointers, buffer);
  }

  environ_sizes_get(count, size) {
    this.view.setUint32(count, 0, true);
    this.view.setUint32(size, 0, true);
    return 0;
  }

  environ_get() {
    return 0;
  }

  clock_time_get(kind, precision, result) {
    this.view.setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  }

  random_get(at, size) {
    for (let done = 0; done < size; done += 65536) // into memory of its own: shared memory is refused
      this.bytes(at + done, Math.min(65536, size - done)).set(crypto.getRandomValues(new Uint8Array(Math.min(65536, size - done))));
    return 0;
  }

  proc_exit(status) {
    throw new Exit(status);
  }

  fd_prestat_get(number, result) {
    if (!this.open[number]?.isRoot) return errno.badFile;
    this.view.setUint32(result, 0, true);
    this.view.setUint32(result + 4, 1, true);
    return 0;
  }

  fd_prestat_dir_name(number, at) {
    this.bytes(at, 1)[0] = 47; // "/"
    return 0;
  }

  fd_fdstat_get(number, result) {
    const entry = this.open[number];
    if (!entry) return errno.badFile;
    this.bytes(result, 24).fill(0);
    this.view.setUint8(result, entry.isRoot ? fileKind.directory : fileKind.regular);
    this.view.setBigUint64(result + 8, ~0n, true);
    this.view.setBigUint64(result + 16, ~0n, true);
    return 0;
  }

  fd_fdstat_set_flags() {
    return 0;
  }

  putStatus(file, result) {
    this.bytes(result, 64).fill(0);
    this.view.setUint8(result + 16, file ? fileKind.regular : fileKind.directory);
    this.view.setBigUint64(result + 24, 1n, true);
    this.view.setBigUint64(result + 32, BigInt(file ? file.size : 0), true);
    return 0;
  }

  fd_filestat_get(number, result) {
    const entry = this.open[number];
    return entry ? this.putStatus(entry.file, result) : errno.badFile;
  }

  path_filestat_get(folder, flags, path, size, result) {
    const name = this.name(path, size);
    const file = this.files.get(name);
    return file || name === '' ? this.putStatus(file, result) : errno.missing;
  }

  path_open(folder, lookup, path, size, how, rights, inherited, flags, result) {
    const create = 1, folderOnly = 2, exclusive = 4, truncate = 8;
    const name = this.name(path, size);
    let file = this.files.get(name);
    if (how & folderOnly) return errno.notDirectory;
    if (file && how & create && how & exclusive) return errno.exists;
    if (!file && !(how & create)) return errno.missing;
    if (!file || how & truncate) {
      file = new MemoryFile();
      this.files.set(name, file);
    }
    let number = this.open.indexOf(undefined);
    if (number < 0) number = this.open.length;
    if (number >= mostDescriptors) return errno.badFile;
    this.open[number] = { file, at: 0, appends: (flags & 1) !== 0 };
    this.view.setUint32(result, number, true);
    return 0;
  }

  fd_close(number) {
    if (number > 3) this.open[number] = undefined;
    return 0;
  }

  fd_seek(number, offset, from, result) {
    const entry = this.open[number];
    if (!entry?.file) return errno.badFile;
    const base = [0, entry.at, entry.file.size][from];
    const at = base + Number(offset);
    if (at < 0) return errno.invalid;
    entry.at = at;
    this.view.setBigUint64(result, BigInt(at), true);
    return 0;
  }

  fd_tell(number, result) {
    return this.fd_seek(number, 0n, 1, result);
  }

  // Calls use(bytes) for each piece of a list of buffers, until it gives less than there is room for.
  eachPiece(list, count, result, use) {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const size = this.view.getUint32(list + 8 * i + 4, true);
      const done = use(this.bytes(this.view.getUint32(list + 8 * i, true), size));
      total += done;
      if (done < size) break;
    }
    this.view.setUint32(result, total, true);
    return 0;
  }

  fd_read(number, list, count, result) {
    const entry = this.open[number];
    if (!entry?.file) return errno.badFile;
    return this.eachPiece(list, count, result, (room) => {
      const piece = entry.file.content().subarray(entry.at, entry.at + room.length);
      room.set(piece);
      entry.at += piece.length;
      return piece.length;
    });
  }

  fd_write(number, list, count, result) {
    const entry = this.open[number];
    if (!entry?.file) return errno.badFile;
    return this.eachPiece(list, count, result, (piece) => {
      if (entry.appends) entry.at = entry.file.size;
      entry.file.write(entry.at, piece);
      entry.at += piece.length;
      return piece.length;
    });
  }

  path_rename(folder, path, size, other, to, toSize) {
    const name = this.name(path, size), file = this.files.get(name);
    if (!file) return errno.missing;
    this.files.delete(name);
    this.files.set(this.name(to, toSize), file);
    return 0;
  }

  path_unlink_file(folder, path, size) {
    return this.files.delete(this.name(path, size)) ? 0 : errno.missing;
  }

  path_create_directory() {
    return 0;
  }

  sched_yield() {
    return 0;
  }

  imports() {
    return new Proxy({}, {
      get: (target, call) => (typeof this[call] === 'function' ? this[call].bind(this) : () => errno.notSupported),
    });
  }
}

// An instance of the program (a compiled module) with a system; memory is given to a program that imports it.
export function instantiate(module, system, memory) {
  const wasi = system.imports();
  const names = WebAssembly.Module.imports(module).filter((one) => one.module === 'wasi_snapshot_preview1').map((one) => one.name);
  const instance = new WebAssembly.Instance(module, {
    wasi_snapshot_preview1: Object.fromEntries(names.map((name) => [name, wasi[name]])), ...(memory && { env: { memory } }),
  });
  system.connect(memory ?? instance.exports.memory);
  return instance;
}

// Runs the program of an instance. The result has its exit status, what it printed, and its files, old and new.
export function runInstance(instance, system) {
  let status = 0;
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    status = error.status;
  }
  const content = [...system.files].map(([name, file]) => [name, file.content()]);
  return { status, output: system.printed(1), errors: system.printed(2), files: new Map(content) };
}

// Runs a program once. files is a Map of names to bytes.
export function runProgram(module, argv, files = new Map()) {
  const system = new System(argv, files);
  return runInstance(instantiate(module, system), system);
}
