import { base } from '../state';
import { st } from '../i18n/start';
import { Icon } from './icons';
import { Card } from './page';

type Name = keyof ReturnType<typeof st>['steps'];
export interface Begin {
  name: Name;
  done: boolean;
  /** Where the step is done, below /console/. */
  at: string;
}

/** The first steps of an account, at most five. The API shows which are done, and with the last one
 *  the list is gone. */
export function Start({ lead, steps }: { lead: string; steps: Begin[] }) {
  const next = steps.find((s) => !s.done);
  if (!next) return null;
  const done = steps.filter((s) => s.done).length;
  return (
    <Card wide>
      <div class="row spread">
        <h2>{st().begin}</h2>
        <span class="note">{st().doneOf(done, steps.length)}</span>
      </div>
      <p class="note">{lead}</p>
      <ol class="begin">
        {steps.map((s) => (
          <li key={s.name} data-begin={s.name} data-done={s.done}>
            <span class="tick">
              {s.done && <Icon name="check" />}
              <span class="hidden">{s.done ? st().done : st().open}</span>
            </span>
            <div>
              {s.done ? (
                <b>{st().steps[s.name]}</b>
              ) : (
                <a
                  class={s === next ? 'button primary small' : undefined}
                  href={`${base}/console/${s.at}`}
                >
                  {st().steps[s.name]}
                </a>
              )}
              {!s.done && <p class="note">{st().helps[s.name]}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}
