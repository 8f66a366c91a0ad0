import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { l } from '../i18n/log';
import { isAdmin, t, time, user } from '../state';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page } from '../ui/page';

type Entry = Schemas['AuditEntry'];
const kinds = [
  'campaign',
  'user',
  'key',
  'deposit',
  'dead_letter',
  'parked_payment',
  'store',
  'quarantine',
  'publisher',
  'appeal',
  'ad_report',
] as const;

/** The audit log of the account, or of the network for administrators. */
export default function Audit() {
  const { query, path, route } = useLocation();
  const kind = kinds.find((k) => k === query.kind),
    before = Number(query.before ?? 0) || 0,
    mine = !isAdmin.value || query.whose === 'mine';
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries({ before: undefined, ...changes }))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''));
  };
  const of = useLoad(
    () =>
      need(
        api.GET('/api/audit', {
          params: {
            query: {
              limit: 50,
              ...(kind ? { target_kind: kind } : {}),
              ...(before ? { before } : {}),
              ...(mine ? { owner_id: user.value!.id } : {}),
            },
          },
        }),
      ),
    [kind, before, mine, user.value?.id],
  );
  return (
    <Page title={l().title} lead={mine ? l().leadOwn : l().leadAll}>
      <form class="filters" onSubmit={(e) => e.preventDefault()}>
        <label>
          {l().kind}
          <select value={kind ?? ''} onChange={(e) => set({ kind: e.currentTarget.value })}>
            <option value="">{l().all}</option>
            {kinds.map((k) => (
              <option key={k} value={k}>
                {l().kinds[k]}
              </option>
            ))}
          </select>
        </label>
        {isAdmin.value && (
          <label class="pick">
            <input
              type="checkbox"
              checked={mine}
              onChange={(e) => set({ whose: e.currentTarget.checked ? 'mine' : undefined })}
            />{' '}
            <span>{l().mine}</span>
          </label>
        )}
      </form>
      <Loaded of={of}>
        {({ entries, next }) =>
          entries.length === 0 ? (
            <Empty title={l().none} />
          ) : (
            <>
              <div class="scroll card flush" tabIndex={0} role="region" aria-label={l().title}>
                <table class="rows">
                  <thead>
                    <tr>
                      <th scope="col">{l().when}</th>
                      <th scope="col">{l().who}</th>
                      <th scope="col">{l().what}</th>
                      <th scope="col">{l().fields}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((e) => (
                      <Row key={e.seq} e={e} />
                    ))}
                  </tbody>
                </table>
              </div>
              <nav class="pages" aria-label={t().pages}>
                <button type="button" disabled={!before} onClick={() => set({})}>
                  {l().newest}
                </button>
                <button
                  type="button"
                  disabled={next === null}
                  onClick={() => set({ before: String(next) })}
                >
                  {l().older}
                </button>
              </nav>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function Row({ e }: { e: Entry }) {
  const nobody = /^0{8}-/.test(e.actor.account_id);
  const who =
    e.actor.account_id === user.value?.id
      ? user.value!.email
      : nobody
        ? e.actor.name || (e.actor.via === 'system' ? l().system : e.actor.via)
        : e.actor.account_id.slice(0, 13) + '…';
  return (
    <tr>
      <td>{time(e.at)}</td>
      <td class="break" title={nobody ? undefined : e.actor.account_id}>
        {who}
        <br />
        <span class="note mono">
          {e.actor.action} {e.actor.network}
        </span>
      </td>
      <td>
        {l().kinds[e.target_kind] ?? e.target_kind}
        <br />
        <span class="note mono break">{e.target_id}</span>
      </td>
      <td class="break">
        <Changes of={e.changes} />
      </td>
    </tr>
  );
}

/** The names of the changed fields; their values are read on demand, so that a row has few lines. */
function Changes({ of }: { of: Entry['changes'] }) {
  const names = Object.keys(of);
  if (names.length === 1 && brief(of[names[0]!])) {
    return (
      <>
        <b>{names[0]}</b> {short(of[names[0]!]!.before)} → {short(of[names[0]!]!.after)}
      </>
    );
  }
  return (
    <details>
      <summary>
        {names.slice(0, 3).join(', ') + (names.length > 3 ? ` +${names.length - 3}` : '')}
      </summary>
      <ul>
        {Object.entries(of).map(([name, c]) => (
          <li key={name}>
            <b>{name}</b> {short(c.before)} → {short(c.after)}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Whether a change fits on a line. */
function brief(c: Entry['changes'][string] | undefined): boolean {
  return !!c && short(c.before).length + short(c.after).length <= 60;
}

/** A value as a text shortened to fit a row. */
function short(value: unknown): string {
  if (value === null || value === undefined) return '–';
  const text =
    typeof value === 'string'
      ? value
      : JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v));
  return text.length > 120 ? text.slice(0, 120) + '…' : text;
}
