// Drives Chromium over its DevTools protocol, by a pipe: needs no package.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const waitMs = 30000;

export class Browser {
  constructor(path) {
    this.folder = mkdtempSync(join(tmpdir(), 'bankfold-web-'));
    this.process = spawn(path, ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe',
      '--disable-background-networking', '--no-first-run', `--user-data-dir=${this.folder}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.waiting = new Map();
    this.listeners = [];
    this.count = 0;
    let rest = '';
    this.process.stdio[4].on('data', (piece) => {
      const parts = (rest + piece).split('\0');
      rest = parts.pop();
      for (const part of parts) this.receive(JSON.parse(part));
    });
  }

  receive(message) {
    const own = this.waiting.get(message.id);
    if (!own) return this.listeners.forEach((listener) => listener(message));
    this.waiting.delete(message.id);
    if (message.error) own.reject(new Error(`${own.method}: ${message.error.message}`));
    else own.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, method });
      this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  // A page of its own, that has loaded the address.
  async open(address, options = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    await page.begin(address, options);
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.send('Browser.close').catch(() => {});
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, complaints: [] });
    browser.listeners.push((message) => message.sessionId === session && this.notice(message));
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  // Errors, and what the content security policy refused.
  notice({ method, params }) {
    if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(params.entry.text);
  }

  async begin(address, { width = 1280, height = 900, theme = 'light', before = '' }) {
    for (const domain of ['Page', 'Runtime', 'Log']) await this.send(`${domain}.enable`);
    await this.resize(width, height);
    await this.setTheme(theme);
    if (before) await this.send('Page.addScriptToEvaluateOnNewDocument', { source: before });
    await this.send('Page.navigate', { url: address });
  }

  resize(width, height) {
    return this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  }

  setTheme(theme, isCalm = false) {
    return this.send('Emulation.setEmulatedMedia', { features: [
      { name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: isCalm ? 'reduce' : 'no-preference' }] });
  }

  // The value of an expression in the page; promises are waited for.
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // Waits until an expression is true, and gives its value.
  async until(expression, ms = waitMs) {
    const end = Date.now() + ms;
    for (;;) {
      const value = await this.evaluate(expression).catch((error) => { if (!/context|navigat/i.test(error.message)) throw error; });
      if (value) return value;
      if (Date.now() > end) throw new Error(`waited ${ms} ms for: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async screenshot(isWhole = false) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: isWhole });
    return Buffer.from(data, 'base64');
  }

  async press(key) {
    for (const type of ['keyDown', 'keyUp']) await this.send('Input.dispatchKeyEvent', { type, key, code: key });
  }

  close() {
    return this.browser.send('Target.closeTarget', { targetId: this.target });
  }
}
