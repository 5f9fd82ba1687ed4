// An editor for code: CodeMirror (web/editor/) in a shadow root, where its styles need no exception from the content
// security policy. It has a value like a text area, and tells of input by the same event.
import { h } from './dom.js';

const kit = globalThis.editorKit; // of web/editor/codemirror.js, which the page holds before its modules

// Words that say how code reads, for all languages of the page: CUDA, PTX, traces, launches.
const patterns = [
  ['comment', /^(\/\/|#(?!\w)).*/], ['string', /^"[^"]*"/], ['meta', /^@[^\s]+/], ['meta', /^%[\w.$]+/], ['keyword', /^\.[a-zA-Z_][\w]*/],
  ['number', /^(0[xX][0-9a-fA-F]+|0[fFdD][0-9a-fA-F]{8,16}|\d[\w.]*)/],
  ['keyword', /^(ld|st|atom|red|ldmatrix[124]|ldmatrixt4|stmatrix4|cp4|cp8|cp16|stride|block|buffer|launch|grid|with|random|zero|threadIdx|blockIdx|blockDim|warpSize|lane|tid|float[234]?|double|int|short|char|__half|unsigned)\b/],
  ['name', /^[a-zA-Z_$][\w$]*/],
];

const language = kit.StreamLanguage.define({
  startState: () => ({ inComment: false }),
  token(stream, state) {
    if (state.inComment || stream.match('/*')) {
      state.inComment = !stream.match(/^.*?\*\//);
      if (state.inComment) stream.skipToEnd();
      return 'comment';
    }
    for (const [kind, pattern] of patterns) if (stream.match(pattern)) return kind === 'name' ? null : kind;
    stream.next();
    return null;
  },
});

const colours = kit.HighlightStyle.define([
  { tag: kit.tags.comment, color: 'var(--dim)' }, { tag: kit.tags.string, color: 'var(--good)' }, { tag: kit.tags.meta, color: 'var(--dim)' },
  { tag: kit.tags.keyword, color: 'var(--accent)' }, { tag: kit.tags.number, color: 'var(--ink)' },
]);

const theme = kit.EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--paper)', border: '1px solid var(--line)', borderRadius: '6px', fontSize: '13px', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { padding: '6px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 8px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--paper)', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': { backgroundColor: 'var(--accent-faint)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'var(--accent-soft)' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--accent-soft)' },
  '.wrong': { textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px', textDecorationSkipInk: 'none' },
  '.wrong-line': { backgroundColor: 'var(--bad-soft)' },
});

// The place that is wrong: one at a time, and gone with the next change.
const setWrong = kit.StateEffect.define();
const wrong = kit.StateField.define({
  create: () => kit.Decoration.none,
  update(marks, change) {
    let next = change.docChanged ? kit.Decoration.none : marks;
    for (const effect of change.effects) if (effect.is(setWrong)) next = effect.value;
    return next;
  },
  provide: (field) => kit.EditorView.decorations.from(field),
});

// Marks of a line, and of what begins at a column of it (0: the line alone).
function marksOf(doc, line, column) {
  if (!(line >= 1 && line <= doc.lines)) return kit.Decoration.none;
  const own = doc.line(line), marks = [kit.Decoration.line({ class: 'wrong-line' }).range(own.from)];
  const from = own.from + column - 1;
  const word = column >= 1 && from < own.to ? /^[\w.$%]+|^./.exec(own.text.slice(column - 1)) : null;
  if (word) marks.push(kit.Decoration.mark({ class: 'wrong' }).range(from, from + word[0].length));
  return kit.Decoration.set(marks);
}

// An element with value, mark(line, column) and focus(). rows: how high it is at first; numbers: of lines.
export function codeEditor({ value, label, id, rows = 4, numbers = false, hint = '', oninput }) {
  const host = h('div', { class: 'editor', id, oninput });
  host.style.setProperty('--rows', rows);
  const root = host.attachShadow({ mode: 'open', delegatesFocus: true });
  let isOwn = false; // a change that the page makes is no input
  const view = new kit.EditorView({
    root, parent: root,
    state: kit.EditorState.create({ doc: value, extensions: [
      kit.history(), kit.drawSelection(), kit.highlightSpecialChars(), kit.highlightActiveLine(), kit.bracketMatching(), numbers ? kit.lineNumbers() : [],
      kit.keymap.of([...kit.defaultKeymap, ...kit.historyKeymap]), kit.placeholder(hint), language, kit.syntaxHighlighting(colours), theme, wrong,
      numbers ? [] : kit.EditorView.lineWrapping, kit.EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off' }),
      kit.EditorView.updateListener.of((update) => {
        if (update.docChanged && !isOwn) host.dispatchEvent(new Event('input', { bubbles: true }));
      }),
    ] }),
  });
  Object.defineProperty(host, 'value', {
    get: () => view.state.doc.toString(),
    set(text) {
      isOwn = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      isOwn = false;
    },
  });
  host.mark = (line = 0, column = 0) => view.dispatch({ effects: setWrong.of(marksOf(view.state.doc, line, column)) });
  return host;
}
