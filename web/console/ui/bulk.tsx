import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../state';
import { words } from './load';

/** Which rows of a list are chosen; one that left the list is not. */
export function useChosen<T extends { id: string }>(rows: T[]) {
  const [chosen, set] = useState<ReadonlySet<string>>(new Set());
  const marked = rows.filter((r) => chosen.has(r.id));
  const all = rows.length > 0 && marked.length === rows.length;
  return {
    marked,
    all,
    has: (id: string) => chosen.has(id),
    clear: () => set(new Set()),
    toggle: (id: string) => {
      const next = new Set(chosen);
      next.has(id) ? next.delete(id) : next.add(id);
      set(next);
    },
    toggleAll: () => set(all ? new Set() : new Set(rows.map((r) => r.id))),
  };
}

/** One call for each row: how many were done, and what the last refused one said. */
export async function each<T extends { name: string; headline: string }>(
  rows: T[],
  does: (r: T) => Promise<unknown>,
) {
  let done = 0,
    problem = '';
  for (const r of rows) {
    try {
      await does(r);
      done++;
    } catch (e) {
      problem = `${r.name || r.headline}: ${words(e)}`;
    }
  }
  return { done, problem };
}

/** What can be done with the chosen rows, and what came of it. */
export function Bulk({
  n,
  said,
  children,
}: {
  n: number;
  said: string;
  children: ComponentChildren;
}) {
  return (
    <div class="bulk" role="group" aria-label={t().bulk}>
      <span>{t().chosen(n)}</span>
      {children}
      <output aria-live="polite">{said}</output>
    </div>
  );
}
