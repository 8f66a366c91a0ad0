import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { ApiError } from '../../shared/api';
import { t } from '../state';

export type State<T> =
  | { is: 'loading' }
  | { is: 'loaded'; data: T; at: Date }
  | { is: 'failed'; error: ApiError };

export type Loading<T> = State<T> & { reload: () => void };

/**
 * Loads the data of a screen, and again when one of keys changes. Outdated answers are dropped.
 */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[]): Loading<T> {
  const [state, set] = useState<State<T>>({ is: 'loading' });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    load().then(
      (data) => {
        if (current) set({ is: 'loaded', data, at: new Date() });
      },
      (error) => {
        if (current)
          set({
            is: 'failed',
            error: error instanceof ApiError ? error : new ApiError(0, 'internal', String(error)),
          });
      },
    );
    return () => {
      current = false;
    };
  }, [...keys, turn]);
  return { ...state, reload: () => setTurn((n) => n + 1) };
}

/**
 * The message for an error: the API's, or a message of the console if the API did not answer.
 */
export function words(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error);
  if (error.code === 'unreachable') return t().errorUnreachable;
  if (error.status === 403) return error.message || t().forbidden;
  if (error.status === 429) return t().errorBusy(error.retryAfter ?? 60);
  return error.message || t().errorUnknown;
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
  return <>{children(of.data)}</>;
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
