import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, save, need, type Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, count, t, time, usd, user } from '../state';
import { Deposit } from '../ui/deposit';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';

type Entry = Schemas['HistoryEntry'];

/** Money: balances, deposits, and the ledger entries with the balance after each. */
export default function Billing() {
  const { query } = useLocation();
  const me = { advertiser_id: user.value!.id };
  const balance = useLoad(
    () => need(api.GET('/api/billing/balance', { params: { query: me } })),
    [user.value?.id],
  );
  return (
    <Page title={t().billing} lead={t().billingLead}>
      {query.deposit && (
        <p class="notice" role="status">
          {t().depositReturned}
        </p>
      )}
      <Loaded of={balance}>
        {(b) => (
          <>
            <dl class="figures">
              <Figure
                id="balance"
                name={t().balance}
                value={b.balance === undefined ? '–' : usd(b.balance)}
                note={b.funding === 'postpaid' ? t().postpaid : t().prepaid}
              />
              <Figure
                id="available"
                name={t().available}
                value={b.available === undefined ? '–' : usd(b.available)}
              />
              {micros(b.owed) > 0n && <Figure id="owed" name={t().owed} value={usd(b.owed)} />}
              <Figure
                id="credits"
                name={t().credits}
                value={count(b.credits as unknown as number)}
                note={t().creditsHelp}
              />
            </dl>
            <div class="columns">
              <Card title={t().payIn}>
                <Deposit back="billing?deposit=done" />
              </Card>
              <Statement />
            </div>
          </>
        )}
      </Loaded>
      <History />
    </Page>
  );
}

function Statement() {
  const now = new Date();
  const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
    .toISOString()
    .slice(0, 7);
  const [month, setMonth] = useState(last);
  const [problem, setProblem] = useState('');
  const get = async (e: Event) => {
    e.preventDefault();
    setProblem('');
    try {
      await save(
        `/api/billing/statement?month=${encodeURIComponent(month)}&format=csv&bom=1&advertiser_id=${user.value!.id}`,
        `adnet-${month}.csv`,
      );
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <Card title={t().statement}>
      <form onSubmit={get} class="stack">
        <label>
          {t().month}
          <input
            type="month"
            required
            max={last}
            value={month}
            onInput={(e) => setMonth(e.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button>{t().downloadCSV}</button>
        <p class="note">{t().statementHelp}</p>
      </form>
    </Card>
  );
}

function History() {
  const [asset, setAsset] = useState<'USD' | 'CREDIT'>('USD');
  const [older, setOlder] = useState<{ of: string; entries: Entry[]; next: string | null } | null>(
    null,
  );
  const [busy, setBusy] = useState(false);
  const fetchPage = (before?: string) =>
    need(
      api.GET('/api/billing/history', {
        params: {
          query: { advertiser_id: user.value!.id, asset, limit: 50, ...(before ? { before } : {}) },
        },
      }),
    );
  const of = useLoad(() => fetchPage(), [asset]);
  const first = of.is === 'loaded' ? of.data : undefined;
  const more = older?.of === asset ? older : null;
  const next = more ? more.next : (first?.next ?? null);
  const load = async () => {
    setBusy(true);
    try {
      const page = await fetchPage(next!);
      setOlder({
        of: asset,
        entries: [...(more?.entries ?? []), ...page.entries],
        next: page.next,
      });
    } finally {
      setBusy(false);
    }
  };
  const amount = (e: Entry, v: number) => (e.asset === 'USD' ? usd(v) : count(v));
  return (
    <Card wide>
      <div class="row spread">
        <h2>{t().history}</h2>
        <label class="pick">
          <span>{t().asset}</span>
          <select value={asset} onChange={(e) => setAsset(e.currentTarget.value as 'USD')}>
            <option value="USD">USD</option>
            <option value="CREDIT">Credits</option>
          </select>
        </label>
      </div>
      <Loaded of={of}>
        {(page) => {
          const entries = [...page.entries, ...(more?.entries ?? [])];
          if (entries.length === 0) return <Empty title={t().noHistory} />;
          return (
            <>
              <div class="scroll" tabIndex={0} role="region" aria-label={t().history}>
                <table class="rows">
                  <thead>
                    <tr>
                      <th scope="col">{t().when}</th>
                      <th scope="col">{t().kind}</th>
                      <th scope="col">{t().campaign}</th>
                      <th scope="col" class="num">
                        {t().amount}
                      </th>
                      <th scope="col" class="num">
                        {t().balanceAfter}
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((e) => (
                      <tr key={e.id + e.amount} data-entry={e.id}>
                        <td>{time(e.at)}</td>
                        <th scope="row">{t().kinds[e.kind]}</th>
                        <td>
                          {e.campaign_id ? (
                            <a href={`${base}/console/campaigns/${e.campaign_id}`} class="mono">
                              {e.campaign_id.slice(0, 8)}
                            </a>
                          ) : (
                            '–'
                          )}
                        </td>
                        <td class="num">{amount(e, e.amount)}</td>
                        <td class="num">{amount(e, e.balance)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {next && (
                <button type="button" disabled={busy} onClick={() => void load()}>
                  {t().older}
                </button>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
