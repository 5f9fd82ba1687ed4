// The state of the page, in the address: JSON, deflated, in base64url, behind #1. Nothing leaves the machine.

async function through(bytes, transform) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer());
}

export async function pack(value) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream('deflate-raw'));
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `#1${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

// The value in an address, or undefined where it holds none that can be read.
export async function unpack(hash) {
  if (!hash.startsWith('#1')) return undefined;
  try {
    const text = atob(hash.slice(2).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = await through(Uint8Array.from(text, (letter) => letter.charCodeAt(0)), new DecompressionStream('deflate-raw'));
    const value = JSON.parse(new TextDecoder().decode(bytes));
    return value && typeof value === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}
