import type { Schemas } from '../../shared/api';
import { p } from '../i18n/publish';
import { base, count, date, time } from '../state';
import { Card } from '../ui/page';

/** The Credits of a publisher that cannot be spent yet, with reasons and times. */
export function Waits({ of: w }: { of: Schemas['WaitingCredits'] }) {
  return (
    <Card title={p().waits} wide>
      <p class="note">{p().waitsHelp}</p>
      {w.frozen && (
        <p class="notice" role="note">
          <span>
            {p().frozen} <a href={`${base}/console/decisions`}>{p().toDecisions}</a>
          </span>
        </p>
      )}
      {w.waits.length === 0 ? (
        <p>{p().nothing}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={p().waits}>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col" class="num">
                  Credits
                </th>
                <th scope="col">{p().reason}</th>
                <th scope="col">{p().until}</th>
                <th scope="col">{p().minted}</th>
              </tr>
            </thead>
            <tbody>
              {w.waits.map((r) => (
                <tr key={r.reason + r.until} data-wait={r.reason}>
                  <td class="num">{count(r.credits)}</td>
                  <th scope="row">{p().reasons[r.reason]}</th>
                  <td>
                    {r.until === null ? (
                      p().undecided
                    ) : (
                      <>
                        {r.expires && p().expires + ' '}
                        <time dateTime={r.until}>{time(r.until)}</time>
                      </>
                    )}
                  </td>
                  <td>{date(r.since)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
