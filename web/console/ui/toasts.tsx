import { useEffect } from 'preact/hooks';
import { decisions, forget, resume, retry, undo } from '../decided';
import { t, user } from '../state';

/** The decisions that can be undone, and those that the server refused, on every screen. */
export function Toasts() {
  useEffect(resume, [user.value?.id]);
  const shown = decisions().filter((d) => d.state === 'waiting' || d.state === 'failed');
  if (shown.length === 0) return null;
  return (
    <section class="toasts" aria-label={t().decisionsMade}>
      {shown.map((d) =>
        d.state === 'waiting' ? (
          <div class="toast" key={d.key} data-toast="waiting">
            <span>{d.text}</span>
            <button type="button" class="small" data-act="undo" onClick={() => undo(d.key)}>
              {t().undo} <span class="hidden">{d.text}</span>
            </button>
          </div>
        ) : (
          <div class="toast" key={d.key} data-toast="failed" role="alert">
            <span>
              {t().notStored(d.text)} {d.problem}
            </span>
            <button type="button" class="small" onClick={() => void retry(d.key)}>
              {t().tryAgain}
            </button>
            <button type="button" class="small" onClick={() => forget([d.key])}>
              {t().dismiss}
            </button>
          </div>
        ),
      )}
    </section>
  );
}
