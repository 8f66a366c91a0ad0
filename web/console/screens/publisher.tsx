import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { p } from '../i18n/publish';
import { st } from '../i18n/start';
import { base, count, isAdmin, percent, t, usd, user } from '../state';
import { Chart } from '../ui/chart';
import { CSV } from '../ui/csv';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';
import { Start, type Begin } from '../ui/start';
import { PeriodPicker, usePeriod } from '../ui/period';
import { measures, type Measure } from './measures';
import { Waits } from './waits';

const shownHere: Measure[] = ['impressions', 'credits', 'clicks', 'ctr'];

interface Seen {
  s: Schemas['Stats'];
  earned: Schemas['Earnings'];
  asked: Schemas['RequestStats'];
  waiting: Schemas['WaitingCredits'];
  keys: Schemas['Key'][];
}

/** The first steps of a publisher. Credits of any age show that all of them were done. */
function begins({ s, earned, asked, waiting, keys }: Seen): Begin[] {
  const credits = s.credits + earned.available + earned.held + waiting.credits_pending > 0;
  const shown = credits || s.impressions > 0;
  return [
    { name: 'key', done: shown || keys.length > 0, at: 'keys' },
    { name: 'request', done: shown || asked.requests + s.sandbox > 0, at: 'integrate' },
    { name: 'shown', done: shown, at: 'integrate' },
    { name: 'earned', done: credits, at: 'publisher' },
  ];
}

/** The performance and earnings of a publisher's ads. */
export default function Publisher() {
  const [measure, setMeasure] = useState<Measure>('impressions');
  const { since, until } = usePeriod();
  const of = useLoad(async () => {
    const who = { developer_id: user.value!.developer_id };
    const [stats, earned, asked, waiting, keys] = await Promise.all([
      need(
        api.GET('/api/stats', {
          params: { query: { type: 'developer', ...who, since, until, breakdown: ['host_app'] } },
        }),
      ),
      need(api.GET('/api/billing/earnings', { params: { query: { ...who, since, until } } })),
      need(api.GET('/api/stats/requests', { params: { query: { ...who, since, until } } })),
      need(api.GET('/api/billing/credits', { params: { query: who } })),
      need(api.GET('/api/keys')),
    ]);
    return { stats, earned, asked, waiting, keys: keys.keys };
  }, [user.value?.id, since, until]);
  return (
    <Page
      title={t().publisherOverview}
      lead={t().publisherLead}
      asOf={of.is === 'loaded' ? of.data.stats.as_of : undefined}
      actions={
        <>
          <PeriodPicker compare={false} />
          <a class="button primary" href={`${base}/console/integrate`}>
            {t().integrate}
          </a>
        </>
      }
    >
      <Loaded of={of}>
        {({ stats: s, earned, asked, waiting, keys }) => {
          const steps = begins({ s, earned, asked, waiting, keys });
          const start = user.value?.side !== 'advertise' && !isAdmin.value && (
            <Start lead={st().beginPublish} steps={steps} />
          );
          if (
            waiting.waits.length +
              asked.requests +
              s.impressions +
              s.invalid_impressions +
              s.sandbox ===
            0
          )
            return (
              <>
                {start}
                <Empty title={t().noTraffic}>
                  <p>{t().noTrafficHelp}</p>
                  <a class="button" href={`${base}/console/integrate`}>
                    {t().integrate}
                  </a>
                </Empty>
              </>
            );
          const shown = measures()[measure];
          return (
            <>
              {start}
              <dl class="figures">
                <Figure
                  id="requests"
                  name={t().requests}
                  value={count(asked.requests)}
                  note={t().fillRate(percent(asked.fill_rate))}
                />
                <Figure id="impressions" name={t().impressions30} value={count(s.impressions)} />
                <Figure
                  id="clicks"
                  name={t().clicks}
                  value={count(s.clicks)}
                  note={percent(s.ctr)}
                />
                <Figure
                  id="credits"
                  name={t().creditsEarned}
                  value={count(s.credits)}
                  note={p().worth(usd(earned.credit_value_usd))}
                />
                <Figure
                  id="available"
                  name={t().creditsAvailable}
                  value={count(earned.available)}
                />
                <Figure
                  id="pending"
                  name={p().pending}
                  value={count(waiting.credits_pending)}
                  note={p().pendingHelp}
                />
                <Figure
                  id="held"
                  name={t().creditsHeld}
                  value={count(earned.held)}
                  note={t().creditsHeldHelp}
                />
                <Figure
                  id="own-ecpm"
                  name={p().ownECPM}
                  value={usd(s.publisher_ecpm ?? 0)}
                  note={p().ownECPMHelp}
                />
                <Figure id="ecpm" name={p().paidECPM} value={usd(s.ecpm)} />
              </dl>
              <Card wide>
                <div class="row spread">
                  <h2>{t().byDay}</h2>
                  <div class="row">
                    <CSV
                      of={`/api/stats?type=developer&developer_id=${user.value!.developer_id}&since=${since}&until=${until}`}
                    />
                    <label class="pick">
                      <span>{t().measure}</span>
                      <select
                        name="measure"
                        value={measure}
                        onChange={(e) => setMeasure(e.currentTarget.value as Measure)}
                      >
                        {shownHere.map((m) => (
                          <option key={m} value={m}>
                            {measures()[m].name}
                          </option>
                        ))}
                      </select>
                    </label>
                  </div>
                </div>
                <Chart
                  title={shown.name}
                  since={since}
                  until={until}
                  write={shown.write}
                  points={s.daily.map((d) => ({
                    date: d.date,
                    value: Number(d[measure]),
                    shown: shown.show(d[measure]),
                  }))}
                />
              </Card>
              <Waits of={waiting} />
              <div class="columns">
                <Card title={t().breakdowns.host_app}>
                  <div
                    class="scroll"
                    tabIndex={0}
                    role="region"
                    aria-label={t().breakdowns.host_app}
                  >
                    <table class="rows" data-table="host_app">
                      <thead>
                        <tr>
                          <th scope="col">{t().breakdowns.host_app}</th>
                          <th scope="col" class="num">
                            {t().impressions}
                          </th>
                          <th scope="col" class="num">
                            {t().credits}
                          </th>
                        </tr>
                      </thead>
                      <tbody>
                        {(s.breakdown ?? []).map((g) => (
                          <tr key={g.key}>
                            <th scope="row">{g.key || t().unknown}</th>
                            <td class="num">{count(g.impressions)}</td>
                            <td class="num">{count(g.credits)}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </Card>
                <Card title={t().noFill}>
                  {asked.no_fill.length === 0 ? (
                    <p>{t().alwaysFilled}</p>
                  ) : (
                    <dl class="facts">
                      {asked.no_fill.map((r) => (
                        <>
                          <dt>{t().noFillReasons[r.reason] ?? r.reason}</dt>
                          <dd>{count(r.requests)}</dd>
                        </>
                      ))}
                    </dl>
                  )}
                </Card>
                <Card title={t().notPaid}>
                  <dl class="facts">
                    <dt>{t().houseShown}</dt>
                    <dd>{count(s.house.impressions)}</dd>
                    <dt>{t().selfServed}</dt>
                    <dd>{count(s.self_served.impressions)}</dd>
                    <dt>{t().mintCapped}</dt>
                    <dd>{count(s.mint_capped)}</dd>
                    <dt>{t().mintHeld}</dt>
                    <dd>{count(s.mint_held)}</dd>
                    {s.invalid_by_reason.map((r) => (
                      <>
                        <dt class="mono">{r.reason}</dt>
                        <dd>{count(r.impressions + r.clicks + r.other)}</dd>
                      </>
                    ))}
                  </dl>
                  <p class="note">{t().notPaidHelp}</p>
                </Card>
              </div>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
