import { signal } from '@preact/signals';
import { base, info, user } from '../state';
import type { Place } from './snippets';

/** The addresses of this installation. */
export function place(): Place {
  const { base_url, packages, snippet } = info.value!;
  const at = base_url || location.origin + base;
  return { at, npm: packages.npm, python: packages.python, script: snippet };
}

export type Kind = 'publisher' | 'browser';

/** The secrets that this tab has seen, of one account. The server shows a key once. */
const kept = signal<{ owner: string; keys: Partial<Record<Kind, string>> }>({
  owner: '',
  keys: {},
});

export const keptKey = (kind: Kind) =>
  kept.value.owner === user.value?.id ? (kept.value.keys[kind] ?? '') : '';

/** Keeps a key for the snippets until the page is left or loaded anew. */
export function keepKey(kind: Kind, key: string) {
  const owner = user.value?.id ?? '';
  const keys = kept.value.owner === owner ? kept.value.keys : {};
  kept.value = { owner, keys: { ...keys, [kind]: key } };
}
