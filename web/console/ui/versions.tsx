import { useState } from 'preact/hooks';
import { choices } from '../i18n/choices';
import { t } from '../state';
import { differing, labelOf, merged, type Draft } from './draft';

/** A value as the form shows it. */
function shown(name: keyof Draft, value: string): string {
  const titles: Partial<Record<keyof Draft, Record<string, string>>> = {
    billing_model: t().goals,
    billing_event: t().paidEvents,
    aim: t().aims,
    pacing: t().pacings,
    format: t().formats,
    targeting: choices().targeting,
    click_id: choices().clickID,
  };
  return titles[name]?.[value] ?? (value || choices().empty);
}

/**
 * The present state of a campaign beside the input of somebody who changed from into mine. The
 * reader chooses a version of each field.
 */
export function Versions({
  from,
  mine,
  present,
  onLoad,
}: {
  from: Draft;
  mine: Draft;
  present: Draft;
  /** own reports whether some of the input is kept. */
  onLoad: (draft: Draft, own: boolean) => void;
}) {
  const [chosen, choose] = useState(() => merged(mine, from, present));
  const names = differing(mine, present);
  const option = (name: keyof Draft, of: Draft, title: string) => (
    <td>
      <label>
        <input
          type="radio"
          name={`version-${name}`}
          checked={chosen[name] === of[name]}
          aria-label={`${labelOf(name)}: ${title}`}
          onChange={() => choose((was) => ({ ...was, [name]: of[name] }))}
        />{' '}
        <span class="lines">{shown(name, of[name])}</span>
      </label>
    </td>
  );
  return (
    <div class="notice" role="alert" data-stale="">
      <p>{t().stale(differing(present, from).map(labelOf).join(', '))}</p>
      {names.length > 0 && (
        <>
          <p>{choices().choose}</p>
          <div class="scroll">
            <table class="versions">
              <thead>
                <tr>
                  <th scope="col">{choices().field}</th>
                  <th scope="col">{choices().theirs}</th>
                  <th scope="col">{choices().mine}</th>
                </tr>
              </thead>
              <tbody>
                {names.map((name) => (
                  <tr key={name} data-version={name}>
                    <th scope="row">{labelOf(name)}</th>
                    {option(name, present, choices().theirs)}
                    {option(name, mine, choices().mine)}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      <div class="row">
        <button
          type="button"
          data-act="keep"
          onClick={() => onLoad(chosen, differing(chosen, present).length > 0)}
        >
          {t().staleKeep}
        </button>
        <button type="button" data-act="drop" onClick={() => onLoad(present, false)}>
          {t().staleDrop}
        </button>
      </div>
    </div>
  );
}
