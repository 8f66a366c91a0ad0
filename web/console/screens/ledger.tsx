import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { ApiError, api, need, type Schemas } from '../../shared/api';
import type { Amount } from '../../shared/money';
import { s } from '../i18n/system';
import { base, count, t, time, usd } from '../state';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Page } from '../ui/page';

type Movement = Schemas['Movement'];
type Run = Schemas['VerificationRun'];
type Query = {
  account?: string;
  subject?: string;
  auction?: string;
  kind?: Kind;
  since?: string;
  until?: string;
  before?: string;
};
type Kind = (typeof kinds)[number];
const kinds = [
  'charge',
  'mint',
  'credit_fund',
  'credit_release',
  'credit_available',
  'credit_take_back',
  'credit_expire',
  'deposit',
  'refund',
  'dispute',
  'dispute_won',
  'refund_failed',
  'parked_credit',
  'parked_debit',
  'mint_release',
  'mint_clawback',
  'traffic_refund',
] as const;
const texts = ['account', 'subject', 'auction'] as const,
  days = ['since', 'until'] as const;
const fields = [...texts, ...days] as const;

/** The ledger: its invariants, its movements, and the heads of its chains. */
export default function Ledger() {
  const { query, path, route } = useLocation();
  const kind = kinds.find((k) => k === query.kind);
  const q: Query = kind ? { kind } : {};
  for (const name of [...fields, 'before'] as const) if (query[name]) q[name] = query[name];
  const of = useLoad(
    () => need(api.GET('/api/admin/ledger', { params: { query: { limit: 25, ...q } } })),
    [JSON.stringify(q)],
  );
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...q });
    for (const [key, value] of Object.entries({ before: undefined, ...changes }))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''));
  };
  const search = (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    set(
      Object.fromEntries(
        [...fields, 'kind'].map((name) => [name, String(form.get(name) ?? '').trim() || undefined]),
      ),
    );
  };
  return (
    <Page title={s().ledger} lead={s().ledgerLead}>
      <Verify />
      <Card title={s().movements} wide>
        <form class="filters three" role="search" onSubmit={search} key={JSON.stringify(q)}>
          {texts.map((name) => (
            <label key={name}>
              {s()[name]}
              <input
                name={name}
                maxLength={64}
                defaultValue={q[name] ?? ''}
                placeholder={name === 'account' ? 'house:revenue' : undefined}
              />
            </label>
          ))}
          {days.map((name) => (
            <label key={name}>
              {s()[name]}
              <input name={name} type="date" defaultValue={q[name] ?? ''} />
            </label>
          ))}
          <label>
            {s().kind}
            <select name="kind" defaultValue={kind ?? ''}>
              <option value="">{s().all}</option>
              {kinds.map((k) => (
                <option key={k} value={k} selected={k === kind}>
                  {s().kinds[k]}
                </option>
              ))}
            </select>
          </label>
          <div class="row">
            <button data-act="search">{s().search}</button>
          </div>
        </form>
        <p class="note">{s().auctionHelp}</p>
        <Loaded of={of}>
          {({ movements, next }) =>
            movements.length === 0 ? (
              <Empty title={s().noMovements} />
            ) : (
              <>
                <div class="scroll flush" tabIndex={0} role="region" aria-label={s().movements}>
                  <table class="rows">
                    <thead>
                      <tr>
                        <th scope="col">{s().when}</th>
                        <th scope="col">{s().kind}</th>
                        <th scope="col">{s().entries}</th>
                      </tr>
                    </thead>
                    <tbody>
                      {movements.map((m) => (
                        <Row key={m.id} m={m} />
                      ))}
                    </tbody>
                  </table>
                </div>
                <nav class="pages" aria-label={t().pages}>
                  <button type="button" disabled={!q.before} onClick={() => set({})}>
                    {s().newest}
                  </button>
                  <button
                    type="button"
                    disabled={next === null}
                    onClick={() => set({ before: next! })}
                  >
                    {s().older}
                  </button>
                </nav>
              </>
            )
          }
        </Loaded>
      </Card>
      <Heads account={q.account} />
    </Page>
  );
}

/** An amount in the unit of its asset. */
const amount = (asset: string, n: Amount) =>
  asset === 'USD' ? usd(BigInt(n)) : `${count(n)} Credits`;

function Row({ m }: { m: Movement }) {
  return (
    <tr data-id={m.id}>
      <td>{time(m.at)}</td>
      <td>
        {s().kinds[m.kind] ?? m.kind}
        <br />
        <span class="note mono break">{m.ref}</span>
        {m.reverses && (
          <>
            <br />
            <span class="note">
              {s().reverses} <span class="mono">{m.reverses}</span>
            </span>
          </>
        )}
      </td>
      <td>
        <ul>
          {m.entries.map((e) => (
            <li key={e.account + e.seq}>
              <a
                class="mono"
                href={`${base}/console/ledger?account=${encodeURIComponent(e.account)}`}
              >
                {e.account}
              </a>{' '}
              <b>{amount(e.asset, e.amount)}</b>{' '}
              <span class="note">
                {amount(e.asset, e.balance_after)} · {count(e.seq)}
              </span>
            </li>
          ))}
        </ul>
      </td>
    </tr>
  );
}

/** The last findings of verify, with a button to run it again. */
function Verify() {
  const of = useLoad(
    () => need(api.GET('/api/admin/verify', { params: { query: { limit: 10 } } })),
    [],
  );
  const [said, setSaid] = useState(''),
    [problem, setProblem] = useState('');
  const ask = async () => {
    setSaid('');
    setProblem('');
    try {
      await need(api.POST('/api/admin/verify'));
      setSaid(s().asked);
      of.reload();
      setTimeout(of.reload, 4000);
    } catch (e) {
      setProblem(e instanceof ApiError ? words(e) : String(e));
    }
  };
  return (
    <Card title={s().verify} wide>
      <p class="note">{s().verifyHelp}</p>
      <div class="row">
        <button type="button" data-act="verify" onClick={ask}>
          {s().runNow}
        </button>
        <output aria-live="polite" class="good">
          {said}
        </output>
      </div>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Loaded of={of}>
        {({ runs }) => {
          const ended = runs.find((r) => r.ended_at);
          return runs.length === 0 ? (
            <p>{s().noRuns}</p>
          ) : (
            <>
              <ul class="changes" aria-label={s().runs}>
                {runs.slice(0, 5).map((r) => (
                  <li key={r.id}>
                    <time>{time(r.ended_at ?? r.started_at ?? r.asked_at)}</time>
                    <State of={r} /> <span class="note">{r.asked_by ?? s().nightly}</span>
                    {r.problem && <span>{r.problem}</span>}
                  </li>
                ))}
              </ul>
              {ended && ended.checks.length > 0 && <Checks of={ended} />}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}

const State = ({ of }: { of: Run }) => (
  <b
    class={
      `status ` +
      `${of.state === 'clean' ? 'active' : of.state === 'waiting' || of.state === 'running' ? 'in_review' : 'rejected'}`
    }
    data-run={of.state}
  >
    {s().runStates[of.state]}
  </b>
);

function Checks({ of }: { of: Run }) {
  return (
    <div class="scroll flush" tabIndex={0} role="region" aria-label={`${s().run} ${of.id}`}>
      <table class="rows" data-table="checks">
        <thead>
          <tr>
            <th scope="col">{s().promise}</th>
            <th scope="col" class="num">
              {s().expected}
            </th>
            <th scope="col" class="num">
              {s().found}
            </th>
            <th scope="col">{time(of.ended_at)}</th>
          </tr>
        </thead>
        <tbody>
          {of.checks.map((c) => (
            <tr key={c.name}>
              <th scope="row">
                {c.name}
                {c.detail && (
                  <>
                    <br />
                    <span class="note break">{c.detail}</span>
                  </>
                )}
              </th>
              <td class="num">{count(c.want)}</td>
              <td class="num">{count(c.got)}</td>
              <td>
                <span class={`status ${c.ok ? 'active' : 'rejected'}`}>
                  {c.ok ? s().holds : s().broken}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heads({ account }: { account?: string }) {
  const [after, setAfter] = useState('');
  const of = useLoad(
    () =>
      need(
        api.GET('/api/admin/ledger/heads', {
          params: { query: { limit: 25, ...(account ? { account } : after ? { after } : {}) } },
        }),
      ),
    [account, after],
  );
  return (
    <Card title={s().heads} wide>
      <p class="note">{s().headsHelp}</p>
      <Loaded of={of}>
        {({ heads, next }) =>
          heads.length === 0 ? (
            <p>{s().noMovements}</p>
          ) : (
            <>
              <div class="scroll flush" tabIndex={0} role="region" aria-label={s().heads}>
                <table class="rows" data-table="heads">
                  <thead>
                    <tr>
                      <th scope="col">{s().account}</th>
                      <th scope="col" class="num">
                        {s().number}
                      </th>
                      <th scope="col" class="num">
                        {s().balance}
                      </th>
                      <th scope="col">{s().hash}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {heads.map((h) => (
                      <tr key={h.account + h.asset}>
                        <th scope="row" class="mono">
                          {h.account}
                        </th>
                        <td class="num">{count(h.seq)}</td>
                        <td class="num">{amount(h.asset, h.balance)}</td>
                        <td class="mono">{h.hash}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <nav class="pages" aria-label={s().heads}>
                <button type="button" disabled={!after} onClick={() => setAfter('')}>
                  {s().first}
                </button>
                <button type="button" disabled={next === null} onClick={() => setAfter(next!)}>
                  {s().next}
                </button>
              </nav>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
