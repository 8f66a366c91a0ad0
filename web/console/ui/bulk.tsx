import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../state';
import { words } from './load';

/** The selected rows of a list. A row that left the list is not selected. */
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

/** Makes one call for each row. It returns the number of successes and the last error. */
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

/** The actions on the selected rows and their result. */
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
