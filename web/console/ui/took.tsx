import type { Schemas } from '../../shared/api';
import { r } from '../i18n/refusals';
import { suits } from '../i18n/suits';
import { count, date } from '../state';

/** Requests lost to refused conversations at a campaign's placements, by subject. */
export function Took({
  of,
  since,
  until,
}: {
  of: Schemas['RefusedPlaces'];
  since: string;
  until: string;
}) {
  const title = (id: string) =>
    (suits().subjects as Record<string, string>)[id] ?? (id || r().earlier);
  return (
    <div data-part="took">
      <h3>{r().took}</h3>
      {of.length === 0 ? (
        <p class="note">{r().tookNone}</p>
      ) : (
        <dl class="facts">
          {of.map((x) => (
            <>
              <dt>
                {title(x.subject)} ({r().reasons[x.reason] ?? x.reason})
              </dt>
              <dd>{count(x.requests)}</dd>
            </>
          ))}
        </dl>
      )}
      <p class="note">{r().tookHelp(date(since), date(until))}</p>
    </div>
  );
}
