// What the page takes of CodeMirror; build.sh makes codemirror.js of it.
export { EditorState, Compartment, StateEffect, StateField } from '@codemirror/state';
export { EditorView, Decoration, keymap, lineNumbers, placeholder, drawSelection, highlightActiveLine, highlightSpecialChars } from '@codemirror/view';
export { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
export { StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching } from '@codemirror/language';
export { tags } from '@lezer/highlight';
