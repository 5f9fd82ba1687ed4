// What a user does on the page, for tests.

// Types into a control, as one who replaces all of its text.
export const type = (page, selector, text) => page.evaluate(`(() => { const own = document.querySelector(${JSON.stringify(selector)});
  own.value = ${JSON.stringify(text)}; own.dispatchEvent(new Event('input', { bubbles: true })); own.dispatchEvent(new Event('change', { bubbles: true })); })()`);
export const click = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
export const text = (page, selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ''`);
export const has = (selector, words) => `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '').includes(${JSON.stringify(words)})`;

export const example = async (page, number) => {
  await page.until(`document.querySelector('[data-view=examples]')`);
  await click(page, '[data-view=examples]');
  await page.until(`document.querySelector('.examples button')`);
  await page.evaluate(`[...document.querySelectorAll('.examples button')].at(${number}).click()`);
};
// Gives files to a control.
export const give = (page, selector, files) => page.evaluate(`(() => { const list = new DataTransfer();
  for (const [name, content] of ${JSON.stringify(files)}) list.items.add(new File([content], name));
  const own = document.querySelector(${JSON.stringify(selector)}); own.files = list.files; own.dispatchEvent(new Event('change')); })()`);
