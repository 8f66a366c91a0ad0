import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, count, day, lang, percent, t, time, usd } from '../state';
import { suits, titles } from '../i18n/suits';
import { Chart } from '../ui/chart';
import { CSV } from '../ui/csv';
import { Loaded, useLoad, words, type Loading } from '../ui/load';
import { Card, Figure, Gauge, Page } from '../ui/page';
import { st } from '../i18n/start';
import { CampaignStatus } from '../ui/delivery';
import { PeriodPicker, usePeriod } from '../ui/period';
import { Preview } from '../ui/preview';
import { barred, Stopped } from '../ui/stopped';
import { Took } from '../ui/took';
import { atField, label } from '../ui/words';
import { measures, type Measure } from './measures';

type Campaign = Schemas['Campaign'];
type Act = 'pause' | 'resume' | 'submit' | 'archive';
const acts: Record<string, Act[]> = {
  active: ['pause', 'archive'],
  paused: ['resume', 'archive'],
  draft: ['submit', 'archive'],
  rejected: ['submit', 'archive'],
  in_review: ['archive'],
};
const breakdowns = [
  'host_app',
  'publisher',
  'surface',
  'region',
  'language',
  'format',
  'integration_method',
] as const;

type Split = (typeof breakdowns)[number];
const minute = 60_000;

/** One campaign: its status, numbers, delivery diagnosis and changes. */
export default function CampaignScreen() {
  const id = useRoute().params.id!;
  return <Screen key={id} id={id} />; // no numbers of another one stay on the page
}

function Screen({ id }: { id: string }) {
  const { since, until, before } = usePeriod();
  const [by, setBy] = useState<Split>('host_app');
  const campaign = useLoad(
    () => need(api.GET('/api/campaigns/{id}', { params: { path: { id } } })),
    [id],
  );
  const counted = (period: { since: string; until: string; breakdown?: Split }) =>
    need(
      api.GET('/api/stats', {
        params: {
          query: {
            type: 'campaign',
            campaign_id: id,
            ...period,
            breakdown: period.breakdown && [period.breakdown],
          },
        },
      }),
    );
  const stats = useLoad(
    async () => {
      const [now, past] = await Promise.all([counted({ since, until }), counted(before)]);
      return { ...now, before: past };
    },
    [id, since, until],
    minute,
  );
  // Apart from the totals, which another breakdown does not change.
  const split = useLoad(
    () => counted({ since, until, breakdown: by }),
    [id, since, until, by],
    minute,
  );
  const name =
    campaign.is === 'loaded'
      ? campaign.data.campaign.name || campaign.data.campaign.headline
      : t().campaign;
  return (
    <Page
      title={name}
      asOf={stats.is === 'loaded' ? stats.data.as_of : undefined}
      lead={
        campaign.is === 'loaded' ? (
          <>
            <CampaignStatus of={campaign.data.campaign} /> <span class="note mono">{id}</span>
          </>
        ) : undefined
      }
      actions={
        campaign.is === 'loaded' ? (
          <Acts of={campaign.data.campaign} reload={campaign.reload} />
        ) : undefined
      }
    >
      <p>
        <a href={`${base}/console/campaigns`}>← {t().campaigns}</a>
      </p>
      <Loaded of={campaign}>
        {({ campaign: c }) => (
          <>
            {barred(c) && <Stopped of={c} />}
            <Violations of={c} />
            <Bound of={c} />
            <Unreviewed of={c} />
            <Loaded of={stats}>{(s) => <Numbers id={id} s={s} />}</Loaded>
            <Breakdown id={id} of={split} since={since} until={until} by={by} setBy={setBy} />
            <div class="columns">
              <Card title={t().budgets}>
                <p>{t().today}</p>
                <Gauge
                  label={t().spentToday}
                  used={micros(c.spent_today)}
                  of={micros(c.daily_budget)}
                  text={t().ofBudget(usd(c.spent_today), usd(c.daily_budget))}
                />
                <p>{t().total}</p>
                <Gauge
                  label={t().spentTotal}
                  used={micros(c.spent_total)}
                  of={micros(c.total_budget)}
                  text={
                    micros(c.total_budget) > 0n
                      ? t().ofBudget(usd(c.spent_total), usd(c.total_budget))
                      : `${usd(c.spent_total)} · ${t().noTotal}`
                  }
                />
                <dl class="facts">
                  <dt>{t().bid}</dt>
                  <dd>
                    {usd(c.bid_amount)} {c.billing_model.toUpperCase()}
                  </dd>
                  <dt>{t().pacing}</dt>
                  <dd>{t().pacings[c.pacing]}</dd>
                  <dt>{t().starts}</dt>
                  <dd>{c.start_at ? time(c.start_at) : t().atOnce}</dd>
                  <dt>{t().ends}</dt>
                  <dd>{c.end_at ? time(c.end_at) : t().never}</dd>
                  <dt>{t().words}</dt>
                  <dd>{c.target_intent_tokens.join(', ') || t().everybody}</dd>
                  <dt>{label('trades')}</dt>
                  <dd data-part="trades">{titles(c.trades, suits().trades)}</dd>
                  <dt>{label('sensitive_contexts')}</dt>
                  <dd>{titles(c.sensitive_contexts, suits().subjects)}</dd>
                </dl>
              </Card>
              <Diagnose
                id={id}
                version={c.config_version}
                status={c.status}
                held={barred(c)}
                reload={campaign.reload}
              />
            </div>
            <Preview ad={c} />
            <Changes id={id} version={c.config_version} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Violations({ of: c }: { of: Campaign }) {
  if (c.policy_violations.length === 0 && !(c.status === 'rejected' && c.review)) return null;
  return (
    <div class="notice" role="note">
      <h2>{c.status === 'rejected' ? t().rejectedTitle : t().violationsTitle}</h2>
      {c.review?.notes && <p>{c.review.notes}</p>}
      <ul>
        {c.policy_violations.map((v) => (
          <li key={v.rule + v.field}>{atField(v)}</li>
        ))}
      </ul>
      <p>
        <a href={`${base}/console/campaigns/${c.id}/edit`}>{t().editIt}</a>
      </p>
    </div>
  );
}

/** Why a campaign shows in few of its auctions, and what to do. */
function Bound({ of: c }: { of: Campaign }) {
  if (!c.delivery_bound) return null;
  return (
    <div class="notice" role="note" data-part="bound">
      <p>
        {t().bound[c.delivery_bound.reason]} {t().bound.cure}
      </p>
    </div>
  );
}

/** Where a live campaign delivers until a reviewer has approved its current version. */
function Unreviewed({ of: c }: { of: Campaign }) {
  if (c.reviewed || c.status !== 'active') return null;
  const held = c.policy_violations.length > 0;
  if (!c.approved && (c.delivers === 'everywhere' || held)) return null;
  return (
    <div class="notice" role="note" data-part="reach">
      <p>
        {c.approved ? t().reach.before : t().reach[c.delivers === 'pages' ? 'pages' : 'nowhere']}
      </p>
      {c.approved && (
        <p>
          <b>{c.approved.headline}</b> {c.approved.subtext}
        </p>
      )}
    </div>
  );
}

function Acts({ of: c, reload }: { of: Campaign; reload: () => void }) {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const names: Record<Act, string> = {
    pause: t().pause,
    resume: t().resume,
    submit: t().submit,
    archive: t().archive,
  };
  const { route } = useLocation();
  const copy = async () => {
    setBusy(true);
    try {
      const made = await need(api.POST('/api/campaigns/copy', { body: { id: c.id } }));
      route(`${base}/console/campaigns/${made.campaign.id}/edit`);
    } catch (e) {
      setProblem(words(e));
      setBusy(false);
    }
  };
  const act = async (a: Act) => {
    if (a === 'archive' && !confirm(t().archiveSure)) return;
    setBusy(true);
    setProblem('');
    const body = { id: c.id };
    try {
      await need(
        a === 'pause'
          ? api.POST('/api/campaigns/pause', { body })
          : a === 'resume'
            ? api.POST('/api/campaigns/resume', { body })
            : a === 'submit'
              ? api.POST('/api/campaigns/submit', { body })
              : api.POST('/api/campaigns/archive', { body }),
      );
      reload();
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  return (
    <>
      {(acts[c.status] ?? [])
        .filter((a) => a !== 'resume' || !barred(c))
        .map((a) => (
          <button key={a} type="button" data-act={a} disabled={busy} onClick={() => void act(a)}>
            {names[a]}
          </button>
        ))}
      <button type="button" data-act="copy" disabled={busy} onClick={() => void copy()}>
        {t().copyCampaign}
      </button>
      {c.status !== 'archived' && (
        <a class="button primary" href={`${base}/console/campaigns/${c.id}/edit`}>
          {t().edit}
        </a>
      )}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

interface NumbersProps {
  id: string;
  s: Schemas['Stats'] & { before: Schemas['Stats'] };
}

function Numbers({ id, s }: NumbersProps) {
  const [measure, setMeasure] = useState<Measure>('impressions');
  const [hourly, setHourly] = useState(false);
  const hours = useLoad(
    async () =>
      hourly
        ? need(
            api.GET('/api/stats', {
              params: {
                query: {
                  type: 'campaign',
                  campaign_id: id,
                  since: day(6),
                  until: day(),
                  breakdown: ['hour'],
                },
              },
            }),
          )
        : null,
    [hourly, id],
  );
  const shown = measures()[measure];
  const b = s.before;
  return (
    <>
      <dl class="figures">
        <Figure
          id="impressions"
          name={t().impressions}
          value={count(s.impressions)}
          note={t().before(count(b.impressions))}
        />
        <Figure
          id="clicks"
          name={t().clicks}
          value={count(s.clicks)}
          note={t().before(count(b.clicks))}
        />
        <Figure id="ctr" name={t().ctr} value={percent(s.ctr)} note={t().before(percent(b.ctr))} />
        <Figure
          id="spend"
          name={t().spend}
          value={usd(s.spend_usd)}
          note={t().before(usd(b.spend_usd))}
        />
        <Figure id="ecpm" name={t().ecpm} value={usd(s.ecpm)} note={t().before(usd(b.ecpm))} />
        <Figure
          id="conversions"
          name={t().conversions}
          value={count(s.conversions)}
          note={t().before(count(b.conversions))}
        />
        <Figure
          id="invalid"
          name={t().invalid}
          value={count(s.invalid_impressions + s.invalid_clicks)}
          note={t().invalidHelp}
        />
      </dl>
      <Card wide>
        <div class="row spread">
          <h2>{hourly ? t().byHour : t().byDay}</h2>
          <div class="row">
            <label class="pick">
              <span>{t().step}</span>
              <select
                name="step"
                value={hourly ? 'hour' : 'day'}
                onChange={(e) => setHourly(e.currentTarget.value === 'hour')}
              >
                <option value="day">{t().steps.day}</option>
                <option value="hour">{t().steps.hour}</option>
              </select>
            </label>
            <PeriodPicker compare={false} />
            <label class="pick">
              <span>{t().measure}</span>
              <select
                name="measure"
                value={measure}
                onChange={(e) => setMeasure(e.currentTarget.value as Measure)}
              >
                {Object.entries(measures()).map(([k, m]) => (
                  <option key={k} value={k}>
                    {m.name}
                  </option>
                ))}
              </select>
            </label>
          </div>
        </div>
        {hourly ? (
          <Loaded of={hours}>
            {(h) =>
              h && (
                <Chart
                  key={lang.value + 'h'}
                  hourly
                  title={shown.name}
                  since={day(6)}
                  until={day()}
                  write={shown.write}
                  points={(h.breakdown ?? []).map((g) => ({
                    date: g.key,
                    value: Number(g[measure]),
                    shown: shown.show(g[measure]),
                  }))}
                />
              )
            }
          </Loaded>
        ) : (
          <Chart
            key={lang.value}
            title={shown.name}
            since={s.since}
            until={s.until}
            write={shown.write}
            points={s.daily.map((d) => ({
              date: d.date,
              value: Number(d[measure]),
              shown: shown.show(d[measure]),
            }))}
          />
        )}
      </Card>
    </>
  );
}

interface BreakdownProps {
  id: string;
  of: Loading<Schemas['Stats']>;
  since: string;
  until: string;
  by: Split;
  setBy: (by: Split) => void;
}

function Breakdown({ id, of, since, until, by, setBy }: BreakdownProps) {
  return (
    <Card wide>
      <div class="row spread">
        <h2>{t().breakdown}</h2>
        <div class="row">
          <CSV
            of={`/api/stats?type=campaign&campaign_id=${id}&since=${since}&until=${until}&breakdown=${by}`}
          />
          <label class="pick">
            <span>{t().by}</span>
            <select name="by" value={by} onChange={(e) => setBy(e.currentTarget.value as Split)}>
              {breakdowns.map((b) => (
                <option key={b} value={b}>
                  {t().breakdownsMore[b]}
                </option>
              ))}
            </select>
          </label>
        </div>
      </div>
      <Loaded of={of}>
        {(s) =>
          (s.breakdown ?? []).length === 0 ? (
            <p class="note">{t().noEvents}</p>
          ) : (
            <div class="scroll" tabIndex={0} role="region" aria-label={t().breakdown}>
              <table class="rows" data-table={s.breakdown_by}>
                <thead>
                  <tr>
                    <th scope="col">{t().breakdownsMore[(s.breakdown_by ?? by) as 'format']}</th>
                    <th scope="col" class="num">
                      {t().impressions}
                    </th>
                    <th scope="col" class="num">
                      {t().clicks}
                    </th>
                    <th scope="col" class="num">
                      {t().ctr}
                    </th>
                    <th scope="col" class="num">
                      {t().spend}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {s.breakdown!.map((g) => (
                    <tr key={g.key}>
                      <th scope="row" title={g.name ? g.key : undefined}>
                        {g.name || g.key || t().unknown}
                      </th>
                      <td class="num">{count(g.impressions)}</td>
                      <td class="num">{count(g.clicks)}</td>
                      <td class="num">{percent(g.ctr)}</td>
                      <td class="num">{usd(g.spend_usd)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}

/** The action that resolves a cause, if there is one. */
function Cure({
  id,
  cause,
  status,
  held,
  reload,
}: {
  id: string;
  cause: string;
  status: string;
  held: boolean;
  reload: () => void;
}) {
  const edit = (name: string) => (
    <a class="button small" href={`${base}/console/campaigns/${id}/edit`}>
      {name}
    </a>
  );
  const act = (name: string, does: () => Promise<unknown>) => (
    <button
      type="button"
      class="small"
      data-cure={cause}
      onClick={() => void does().then(reload, reload)}
    >
      {name}
    </button>
  );
  switch (cause) {
    case 'unfunded':
      return (
        <a class="button small" href={`${base}/console/billing`}>
          {t().payIn}
        </a>
      );
    case 'not_started':
    case 'ended':
      return edit(t().changeDates);
    case 'unpaid':
    case 'policy_violations':
    case 'daily_budget_spent':
    case 'total_budget_spent':
      return edit(t().editIt);
    case 'outbid':
    case 'below_floor':
      return edit(t().raiseBid);
    case 'no_matching_requests':
    case 'irrelevant':
      return edit(t().widen);
    case 'not_active':
      if (held)
        return (
          <a class="button small" href={`${base}/console/decisions`}>
            {t().stoppedAppeal}
          </a>
        );
      if (status === 'paused')
        return act(t().resumeIt, () => need(api.POST('/api/campaigns/resume', { body: { id } })));
      if (status === 'draft' || status === 'rejected')
        return act(t().submitIt, () => need(api.POST('/api/campaigns/submit', { body: { id } })));
  }
  return null;
}

function Diagnose({
  id,
  version,
  status,
  held,
  reload,
}: {
  id: string;
  version: number;
  status: string;
  held: boolean;
  reload: () => void;
}) {
  const of = useLoad(
    () => need(api.GET('/api/campaigns/{id}/diagnose', { params: { path: { id } } })),
    [id, version],
  );
  return (
    <Card title={t().diagnose}>
      <Loaded of={of}>
        {(d) => (
          <>
            <p>
              <b>{d.delivers ? t().delivers : t().deliversNot}</b>
            </p>
            <ul class="causes">
              {d.causes.map((c) => (
                <li key={c.cause}>
                  <span>{t().causes[c.cause] ?? c.message}</span>
                  <span class="row">
                    {c.count != null && <b>{count(c.count)}</b>}
                    <Cure id={id} cause={c.cause} status={status} held={held} reload={reload} />
                  </span>
                </li>
              ))}
            </ul>
            <p class="note">
              {(isNew(d.window) ? st().newer : t().diagnoseWindow)(
                count(d.window.auctions),
                count(d.window.won),
              )}
            </p>
            <Took of={d.refused.subjects} since={d.refused.since} until={d.refused.until} />
            {d.state.click_rate !== null && (
              <p class="note" data-part="click-rate">
                {t().clicksAt(percent(d.state.click_rate))}
              </p>
            )}
            {d.state.conversion_rate !== null && (
              <p class="note" data-part="conversion-rate">
                {t().convertsAt(percent(d.state.conversion_rate))}
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Reports whether a window begins with the campaign: it is shorter than an hour. */
const isNew = (w: { since: string; until: string }) =>
  Date.parse(w.until) - Date.parse(w.since) < 3_600_000;

function Changes({ id, version }: { id: string; version: number }) {
  const of = useLoad(
    () => need(api.GET('/api/audit', { params: { query: { target_id: id, limit: 20 } } })),
    [id, version],
  );
  return (
    <Card title={t().changes} wide>
      <Loaded of={of}>
        {(log) =>
          log.entries.length === 0 ? (
            <p class="note">{t().noChanges}</p>
          ) : (
            <ol class="changes">
              {log.entries.map((e) => (
                <li key={e.seq}>
                  <time dateTime={e.at}>{time(e.at)}</time>{' '}
                  <span>
                    {e.actor.role || e.actor.via} · <span class="mono">{e.actor.action}</span>
                  </span>
                  <span class="note">{Object.keys(e.changes).join(', ')}</span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </Card>
  );
}
