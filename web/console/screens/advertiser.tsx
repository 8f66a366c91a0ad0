import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, count, day, isAdmin, percent, t, usd, user } from '../state';
import { Chart } from '../ui/chart';
import { Icon } from '../ui/icons';
import { CSV } from '../ui/csv';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';
import { CampaignStatus } from '../ui/delivery';
import { Start, type Begin } from '../ui/start';
import { finding } from '../ui/words';
import { st } from '../i18n/start';
import { measures, type Measure } from './measures';

type Campaign = Schemas['Campaign'];

/** The advertiser's overview: money, days left, and campaigns that need attention. */
export default function Advertiser() {
  const [measure, setMeasure] = useState<Measure>('spend_usd');
  const since = day(29),
    until = day();
  const of = useLoad(async () => {
    const [stats, balance, campaigns] = await Promise.all([
      need(api.GET('/api/stats', { params: { query: { type: 'overview', since, until } } })),
      need(
        api.GET('/api/billing/balance', {
          params: { query: isAdmin.value ? {} : { advertiser_id: user.value!.id } },
        }),
      ),
      need(
        api.GET('/api/campaigns/list', {
          params: {
            query: { limit: 500, ...(isAdmin.value ? {} : { advertiser_id: user.value!.id }) },
          },
        }),
      ),
    ]);
    return { stats, balance, campaigns };
  }, [user.value?.id]);
  const asOf = of.is === 'loaded' ? of.data.stats.as_of : undefined;
  return (
    <Page
      title={t().advertiserOverview}
      lead={t().advertiserLead}
      asOf={asOf}
      actions={
        <a class="button primary" href={`${base}/console/campaigns/new`}>
          <Icon name="plus" /> {t().newCampaign}
        </a>
      }
    >
      <Loaded of={of}>
        {({ stats, balance, campaigns }) => {
          const spend = (from: string) =>
            stats.daily
              .filter((d) => d.date >= from)
              .reduce((sum, d) => sum + micros(d.spend_usd), 0n);
          const today = spend(until),
            month = spend(until.slice(0, 8) + '01');
          const week = spend(day(7)) - today;
          const left = week > 0n ? Number((micros(balance.balance ?? 0) * 7n) / week) : null;
          const shown = measures()[measure];
          return (
            <>
              <Waiting campaigns={campaigns.campaigns} balance={balance.balance} />
              <Needs campaigns={campaigns.campaigns} />
              {!isAdmin.value && user.value?.side !== 'publish' && (
                <Start lead={st().beginAdvertise} steps={begins(campaigns.campaigns, balance)} />
              )}
              <dl class="figures">
                <Figure
                  id="spend-today"
                  name={t().spendToday}
                  value={usd(today)}
                  note={t().utcDay}
                />
                <Figure id="spend-month" name={t().spendMonth} value={usd(month)} />
                <Figure
                  id="balance"
                  name={t().balance}
                  value={balance.balance === undefined ? '–' : usd(balance.balance)}
                  note={<a href={`${base}/console/billing`}>{t().payIn}</a>}
                />
                <Figure
                  id="days-left"
                  name={t().daysLeft}
                  value={
                    balance.funding === 'postpaid'
                      ? t().unlimited
                      : left === null
                        ? '–'
                        : count(left)
                  }
                  note={balance.funding === 'postpaid' ? t().postpaid : t().daysLeftHelp}
                />
                <Figure
                  id="impressions"
                  name={t().impressions30}
                  value={count(stats.impressions)}
                />
                <Figure id="ctr" name={t().ctr} value={percent(stats.ctr)} />
              </dl>
              <Card wide>
                <div class="row spread">
                  <h2>{t().last30}</h2>
                  <div class="row">
                    <CSV
                      of={`/api/stats?type=overview&since=${since}&until=${until}&breakdown=campaign`}
                    />
                    <label class="pick">
                      <span>{t().measure}</span>
                      <select
                        name="measure"
                        value={measure}
                        onChange={(e) => setMeasure(e.currentTarget.value as Measure)}
                      >
                        {Object.entries(measures()).map(([key, m]) => (
                          <option key={key} value={key}>
                            {m.name}
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
                  points={stats.daily.map((d) => ({
                    date: d.date,
                    value: Number(d[measure]),
                    shown: shown.show(d[measure]),
                  }))}
                />
              </Card>
              {campaigns.total === 0 && (
                <Empty title={t().noCampaigns}>
                  <p>{t().noCampaignsHelp}</p>
                  <a class="button primary" href={`${base}/console/campaigns/new`}>
                    {t().newCampaign}
                  </a>
                </Empty>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** The first steps of an advertiser. */
function begins(campaigns: Campaign[], balance: Schemas['Balance']): Begin[] {
  const spent = campaigns.some((c) => micros(c.spent_total) > 0n);
  const steps: Begin[] = [{ name: 'campaign', done: campaigns.length > 0, at: 'campaigns/new' }];
  if (balance.funding === 'prepaid')
    steps.push({
      name: 'deposit',
      done: spent || micros(balance.balance ?? 0) > 0n,
      at: 'billing',
    });
  const passed = campaigns.some((c) => c.status === 'active' || c.status === 'paused');
  return [
    ...steps,
    { name: 'review', done: spent || passed, at: 'campaigns' },
    { name: 'shown', done: spent, at: 'campaigns' },
  ];
}

/** The campaigns that are not shown for lack of a deposit, with the act that cures it. */
function Waiting({ campaigns, balance }: { campaigns: Campaign[]; balance?: number }) {
  const waiting = campaigns.filter((c) => c.delivery === 'unfunded');
  if (waiting.length === 0) return null;
  return (
    <section class="card wide notice" data-part="unfunded">
      <h2>{st().unfunded(waiting.length)}</h2>
      <p>
        {waiting.slice(0, 6).map((c, n) => (
          <>
            {n > 0 && ' · '}
            <a href={`${base}/console/campaigns/${c.id}`}>{c.name || c.headline}</a>
          </>
        ))}
      </p>
      {waiting.length > 6 && <p class="note">{t().andMore(waiting.length - 6)}</p>}
      <p>{st().unfundedHelp(usd(balance ?? 0))}</p>
      <p>
        <a class="button primary" href={`${base}/console/billing`}>
          {t().payIn}
        </a>
      </p>
    </section>
  );
}

function Needs({ campaigns }: { campaigns: Campaign[] }) {
  const needs = campaigns.flatMap((c) => {
    const spent = (of: number, all: number) => micros(all) > 0n && micros(of) >= micros(all);
    if (c.status === 'rejected') return [{ c, why: t().needRejected(c.review?.notes ?? '') }];
    if (c.status === 'in_review' && c.policy_violations.length > 0)
      return [{ c, why: t().needViolations(finding(c.policy_violations[0]!)) }];
    if (c.delivery === 'ended') return [{ c, why: st().needEnded }];
    if (c.delivery === 'held_back') return [{ c, why: st().needHeld }];
    if (c.status === 'active' && spent(c.spent_total, c.total_budget))
      return [{ c, why: t().needTotal }];
    if (c.status === 'active' && spent(c.spent_today, c.daily_budget))
      return [{ c, why: t().needDaily }];
    if (c.status === 'draft') return [{ c, why: t().needSubmit }];
    return [];
  });
  if (needs.length === 0) return null;
  return (
    <Card title={t().needsYou(needs.length)} wide>
      <ul class="needs">
        {needs.slice(0, 6).map(({ c, why }) => (
          <li key={c.id}>
            <Icon name="alert" />
            <div>
              <a href={`${base}/console/campaigns/${c.id}`}>{c.name || c.headline}</a>{' '}
              <CampaignStatus of={c} />
              <p>{why}</p>
            </div>
          </li>
        ))}
      </ul>
      {needs.length > 6 && <p class="note">{t().andMore(needs.length - 6)}</p>}
    </Card>
  );
}
