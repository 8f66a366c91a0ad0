import { useEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { ApiError } from '../../shared/api';
import { t } from '../state';
import { words } from './words';

export { words };

export type State<T> =
  | { is: 'loading' }
  /** problem: the latest try failed, and the data are those of the one before */
  | { is: 'loaded'; data: T; at: Date; problem?: ApiError }
  | { is: 'failed'; error: ApiError };

export type Loading<T> = State<T> & { reload: () => void };

/** Reports whether an error is one of the moment: what the page has stays true. */
const passes = (e: ApiError) => e.code === 'unreachable' || e.status === 429 || e.status >= 500;

/**
 * Loads the data of a screen, and again when one of keys changes. Outdated answers are dropped. The
 * answers of the last keep milliseconds are not asked for again. Errors of the moment leave the data
 * on the page.
 */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[], keep = 0): Loading<T> {
  const [state, set] = useState<State<T>>({ is: 'loading' });
  const [turn, setTurn] = useState(0);
  const kept = useRef(new Map<string, { at: number; data: Promise<T> }>());
  useEffect(() => {
    let current = true;
    const key = JSON.stringify(keys),
      known = kept.current.get(key);
    const fresh = known && Date.now() - known.at < keep;
    const data = fresh ? known.data : load();
    if (!fresh && keep > 0) kept.current.set(key, { at: Date.now(), data });
    data.then(
      (data) => {
        if (current) set({ is: 'loaded', data, at: new Date() });
      },
      (e) => {
        kept.current.delete(key);
        if (!current) return;
        const error = e instanceof ApiError ? e : new ApiError(0, 'internal', String(e));
        set((was) =>
          was.is === 'loaded' && passes(error)
            ? { ...was, problem: error }
            : { is: 'failed', error },
        );
      },
    );
    return () => {
      current = false;
    };
  }, [...keys, turn]);
  const reload = () => {
    kept.current.clear();
    setTurn((n) => n + 1);
  };
  return { ...state, reload };
}

/** Shows the data of a screen in each loading state. */
export function Loaded<T>({
  of,
  children,
}: {
  of: Loading<T>;
  children: (data: T) => ComponentChildren;
}) {
  if (of.is === 'loading')
    return (
      <div class="skeleton" role="status">
        <span class="hidden">{t().loading}</span>
        <i />
        <i />
        <i />
      </div>
    );
  if (of.is === 'failed') {
    const forbidden = of.error.status === 403 || of.error.status === 404;
    return (
      <div class="state" role="alert" data-state={forbidden ? 'forbidden' : 'error'}>
        <h2>{forbidden ? t().forbiddenTitle : t().errorTitle}</h2>
        <p>{words(of.error)}</p>
        {!forbidden && (
          <button type="button" onClick={of.reload}>
            {t().tryAgain}
          </button>
        )}
      </div>
    );
  }
  return (
    <>
      {of.problem && (
        <div class="notice" role="alert" data-state="kept">
          <p>
            {words(of.problem)} {t().errorKept}
          </p>
          <button type="button" onClick={of.reload}>
            {t().tryAgain}
          </button>
        </div>
      )}
      {children(of.data)}
    </>
  );
}

/** The placeholder of an empty list, with a way to begin. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state" data-state="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}
