import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { s } from '../i18n/system';
import { base, count, date, day, percent, t, usd } from '../state';
import { CSV } from '../ui/csv';
import { Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';

type Counted = {
  impressions: number;
  clicks: number;
  spend_usd: number | string;
  credits: number;
  invalid_traffic: number;
  ctr: number;
};
const periods = [1, 7, 31] as const;
const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The whole network: today and this month, reasons for unfilled requests, and invalid traffic.
 */
export default function Network() {
  const { query, path, route } = useLocation();
  const days = periods.find((n) => String(n) === query.days) ?? 31,
    publisher = id.test(query.publisher ?? '') ? query.publisher : undefined;
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries(changes))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''), true);
  };
  const month = day().slice(0, 8) + '01';
  const all = useLoad(async () => {
    const counts = (since: string) =>
      need(api.GET('/api/stats', { params: { query: { type: 'overview', since } } }));
    const asked = (since: string) =>
      need(api.GET('/api/admin/requests', { params: { query: { since } } }));
    const [today, whole, requests, monthly] = await Promise.all([
      counts(day()),
      counts(month),
      asked(day()),
      asked(month),
    ]);
    return { today, whole, requests, monthly };
  }, []);
  const traffic = useLoad(
    () =>
      need(
        api.GET('/api/stats', {
          params: {
            query: {
              since: day(days - 1),
              breakdown: ['publisher'],
              ...(publisher
                ? { type: 'developer', developer_id: publisher }
                : { type: 'overview' }),
            },
          },
        }),
      ),
    [days, publisher],
  );
  return (
    <Page
      title={s().network}
      lead={s().networkLead}
      asOf={all.is === 'loaded' ? all.data.today.as_of : undefined}
    >
      <Loaded of={all}>
        {(d) => (
          <>
            <Figures title={s().today} of={d.today as Counted} asked={d.requests} part="today" />
            <Figures title={s().month} of={d.whole as Counted} asked={d.monthly} part="month" />
            <Card title={`${s().noFill} · ${s().month}`} wide>
              {d.monthly.no_fill.length === 0 ? (
                <p>{s().noneUnfilled}</p>
              ) : (
                <div class="scroll flush" tabIndex={0} role="region" aria-label={s().noFill}>
                  <table class="rows" data-table="nofill">
                    <thead>
                      <tr>
                        <th scope="col">{s().reason}</th>
                        <th scope="col" class="num">
                          {s().requests}
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {d.monthly.no_fill.map((r) => (
                        <tr key={r.reason}>
                          <th scope="row">{t().noFillReasons[r.reason] ?? r.reason}</th>
                          <td class="num">{count(r.requests)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </Card>
          </>
        )}
      </Loaded>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {s().publisher}
          <input
            type="search"
            name="publisher"
            maxLength={36}
            defaultValue={query.publisher ?? ''}
            onInput={(e) => {
              const text = e.currentTarget.value.trim();
              if (!text || id.test(text)) set({ publisher: text || undefined });
            }}
          />
        </label>
        <label>
          {s().period}
          <select value={String(days)} onChange={(e) => set({ days: e.currentTarget.value })}>
            {periods.map((n) => (
              <option key={n} value={n}>
                {n === 1 ? s().today : s().days(n)}
              </option>
            ))}
          </select>
        </label>
      </form>
      <Loaded of={traffic}>
        {(r) => (
          <>
            <div class="row">
              <CSV
                of={`/api/stats?since=${day(days - 1)}&breakdown=publisher&${publisher ? `type=developer&developer_id=${publisher}` : 'type=overview'}`}
              />
            </div>
            <Invalid of={r} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({
  title,
  of,
  asked,
  part,
}: {
  title: string;
  of: Counted;
  asked: Schemas['RequestStats'];
  part: string;
}) {
  return (
    <Card title={title} wide>
      <dl class="figures" data-part={part}>
        <Figure id="requests" name={s().requests} value={count(asked.requests)} />
        <Figure id="fill" name={s().fill} value={percent(asked.fill_rate)} />
        <Figure id="impressions" name={s().impressions} value={count(of.impressions)} />
        <Figure
          id="clicks"
          name={s().clicks}
          value={count(of.clicks)}
          note={`${s().ctr} ${percent(of.ctr)}`}
        />
        <Figure id="spend" name={s().spend} value={usd(of.spend_usd)} />
        <Figure id="credits" name={s().credits} value={count(of.credits)} />
        <Figure id="invalid" name={s().invalid} value={count(of.invalid_traffic)} />
      </dl>
    </Card>
  );
}

/** Invalid traffic by reason, by publisher and by day. */
function Invalid({ of }: { of: Schemas['Stats'] }) {
  const publishers = (of.breakdown ?? []).filter((p) => p.invalid_traffic > 0),
    daily = of.daily.filter((d) => d.invalid_traffic > 0);
  return (
    <>
      <Card title={s().byReason} wide>
        {of.invalid_by_reason.length === 0 ? (
          <p>{s().noInvalid}</p>
        ) : (
          <div class="scroll flush" tabIndex={0} role="region" aria-label={s().byReason}>
            <table class="rows" data-table="reasons">
              <thead>
                <tr>
                  <th scope="col">{s().reason}</th>
                  <th scope="col" class="num">
                    {s().impressions}
                  </th>
                  <th scope="col" class="num">
                    {s().clicks}
                  </th>
                  <th scope="col" class="num">
                    {s().other}
                  </th>
                </tr>
              </thead>
              <tbody>
                {of.invalid_by_reason.map((r) => (
                  <tr key={r.reason}>
                    <th scope="row" class="mono">
                      {r.reason}
                    </th>
                    <td class="num">{count(r.impressions)}</td>
                    <td class="num">{count(r.clicks)}</td>
                    <td class="num">{count(r.other)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Card>
      <Table
        title={s().byPublisher}
        rows={publishers.map(
          (p) =>
            [
              p.key,
              <a
                class={p.name ? undefined : 'mono'}
                title={p.key}
                href={`${base}/console/network?publisher=${p.key}`}
              >
                {p.name || p.key}
              </a>,
              p,
            ] as const,
        )}
      />
      <Table title={s().byDay} rows={daily.map((d) => [d.date, date(d.date), d] as const)} />
    </>
  );
}

function Table({
  title,
  rows,
}: {
  title: string;
  rows: (readonly [
    string,
    preact.ComponentChildren,
    { impressions: number; invalid_traffic: number },
  ])[];
}) {
  return (
    <Card title={title} wide>
      {rows.length === 0 ? (
        <p>{s().noInvalid}</p>
      ) : (
        <div class="scroll flush" tabIndex={0} role="region" aria-label={title}>
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">{title}</th>
                <th scope="col" class="num">
                  {s().invalid}
                </th>
                <th scope="col" class="num">
                  {s().impressions}
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([key, name, n]) => (
                <tr key={key}>
                  <th scope="row">{name}</th>
                  <td class="num">{count(n.invalid_traffic)}</td>
                  <td class="num">{count(n.impressions)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  );
}
