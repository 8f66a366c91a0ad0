import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { q } from '../i18n/report';
import { base, count, date, isAdmin, percent, t, time, user } from '../state';
import { Chart, type Line, type Point } from '../ui/chart';
import { CSV } from '../ui/csv';
import { Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';
import { PeriodPicker, usePeriod, useQuery, type Days } from '../ui/period';
import { measures, type Measure } from './measures';

type Event = Schemas['EventDimension'];
type Request = Schemas['RequestDimension'];
type Row = { key: string; name?: string; second?: string; second_name?: string };
type Counted = Schemas['GroupCounts'];
type Asked = Row & { requests: number; filled: number; fill_rate: number };

/** The definitions of the figures, in docs/figures.md. */
const events = {
  impressions: 'impressions',
  clicks: 'clicks',
  ctr: 'ctr',
  spend_usd: 'spend',
  conversions: 'conversions',
};
const asked = { requests: 'requests', filled: 'filled', fill: 'fill' };

const ofRequests: Request[] = [
  'day',
  'reason',
  'surface',
  'host_app',
  'integration_method',
  'format',
];
const ofPlaces: Event[] = [
  'day',
  'hour',
  'advertiser',
  'host_app',
  'surface',
  'format',
  'integration_method',
  'region',
  'language',
];
const ofAds: Event[] = ['campaign', 'publisher', ...ofPlaces.filter((b) => b !== 'advertiser')];

/** The dimensions of each subject; those of an administrator have more. */
const dimensions = (about: string): string[] => {
  if (about === 'requests') return ofRequests;
  if (about === 'network') return ['publisher', ...ofRequests];
  if (about === 'places') return ofPlaces;
  return [...ofAds, 'term', ...(isAdmin.value ? ['advertiser'] : [])];
};

/** The questions that one call answers. */
const questions = (): [string, Record<string, string>][] =>
  isAdmin.value
    ? [
        ['spend', { about: 'ads', by: 'advertiser', second: 'day' }],
        ['ctr', { about: 'ads', by: 'language' }],
        ['terms', { about: 'ads', by: 'term' }],
        ['fill', { about: 'network', by: 'publisher' }],
        ['nofill', { about: 'network', by: 'reason', second: 'day' }],
      ]
    : [
        ['campaigns', { about: 'ads', by: 'campaign', second: 'day' }],
        ['ctr', { about: 'ads', by: 'language' }],
        ['terms', { about: 'ads', by: 'term' }],
        ['advertisers', { about: 'places', by: 'advertiser' }],
        ['reasons', { about: 'requests', by: 'reason', second: 'day' }],
      ];

/** Whether the second dimension may stand beside the first. */
const joins = (about: string, by: string, then: string) =>
  by !== then &&
  by !== 'term' &&
  then !== 'term' &&
  (about !== 'places' ||
    isAdmin.value ||
    (by !== 'advertiser' && then !== 'advertiser') ||
    by === 'day' ||
    then === 'day');

/** Reports by one or two dimensions, of a period and the one before. */
export default function Answers() {
  const { query, set } = useQuery();
  const abouts = ['ads', 'places', 'requests', ...(isAdmin.value ? ['network'] : [])];
  const about = abouts.find((a) => a === query.about) ?? 'ads';
  const all = dimensions(about);
  const by = all.find((b) => b === query.by) ?? all[0]!;
  const then = all.find((b) => b === query.second && joins(about, by, b)) ?? '';
  const asks = about === 'requests' || about === 'network';
  return (
    <Page title={q().answers} lead={q().lead}>
      <nav class="row" aria-label={q().questions}>
        {questions().map(([name, of]) => (
          <button
            key={name}
            type="button"
            class="small"
            data-question={name}
            onClick={() => set({ second: undefined, filter: undefined, ...of })}
          >
            {q().question[name]}
          </button>
        ))}
      </nav>
      <div class="row" data-part="question">
        <Pick name="about" label={q().about} value={about} all={abouts} names={q().abouts} />
        <Pick name="by" label={q().by} value={by} all={all} names={q().dims} />
        <Pick
          name="second"
          label={q().andBy}
          value={then}
          all={['', ...all.filter((b) => joins(about, by, b))]}
          names={{ ...q().dims, '': q().nothing }}
        />
        <PeriodPicker />
      </div>
      {asks ? (
        <Requests key={about} about={about} by={by} second={then} />
      ) : (
        <Events key={about} about={about} by={by} second={then} />
      )}
      {about === 'places' && !isAdmin.value && [by, then].includes('advertiser') && (
        <p class="note">{q().closed}</p>
      )}
      {by === 'term' && <p class="note">{q().terms}</p>}
    </Page>
  );
}

interface PickProps {
  name: string;
  label: string;
  value: string;
  all: string[];
  names: Record<string, string>;
}

function Pick({ name, label, value, all, names }: PickProps) {
  const { set } = useQuery();
  return (
    <label class="pick">
      <span>{label}</span>
      <select
        name={name}
        value={value}
        onChange={(e) => set({ [name]: e.currentTarget.value || undefined })}
      >
        {all.map((a) => (
          <option key={a} value={a}>
            {names[a] ?? a}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Of {
  about: string;
  by: string;
  second: string;
}

/** A publisher's own advertisers are shown up to yesterday. */
const closed = (of: Of, days: Days, yesterday: string): Days =>
  of.about === 'places' && !isAdmin.value && [of.by, of.second].includes('advertiser')
    ? {
        since: days.since > yesterday ? yesterday : days.since,
        until: days.until > yesterday ? yesterday : days.until,
      }
    : days;

function Events(of: Of) {
  const period = usePeriod();
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const days = closed(of, period, yesterday);
  const breakdown = (of.second ? [of.by, of.second] : [of.by]) as Event[];
  const type = of.about === 'places' ? ('developer' as const) : ('overview' as const);
  const whose = type === 'developer' ? { developer_id: user.value!.developer_id } : {};
  const load = (d: Days) =>
    need(
      api.GET('/api/stats', {
        params: { query: { type, ...whose, since: d.since, until: d.until, breakdown } },
      }),
    );
  const key = [of.by, of.second, days.since, days.until, period.compare];
  const loading = useLoad(
    async () => {
      const [now, before] = await Promise.all([
        load(days),
        period.compare ? load(period.before) : undefined,
      ]);
      return { now, before };
    },
    key,
    60_000,
  );
  const path =
    `/api/stats?type=${type}${type === 'developer' ? `&developer_id=${user.value!.developer_id}` : ''}` +
    `&since=${days.since}&until=${days.until}&breakdown=${breakdown.join(',')}`;
  return (
    <Loaded of={loading}>
      {({ now, before }) => (
        <>
          <Totals now={now} before={before} />
          <ByDay now={now} before={before} />
          <Table
            of={{ ...of, by: now.breakdown_by ?? of.by, second: now.second_by ?? '' }}
            path={path}
            rows={now.breakdown ?? []}
            columns={(['impressions', 'clicks', 'ctr', 'spend_usd', 'ecpm'] as const).map((m) => [
              m,
              measures()[m].name,
              (r: Counted) => measures()[m].show(r[m]),
            ])}
            before={before?.breakdown}
          />
        </>
      )}
    </Loaded>
  );
}

function Totals({ now, before }: { now: Schemas['Stats']; before?: Schemas['Stats'] }) {
  return (
    <dl class="figures">
      {(['impressions', 'clicks', 'ctr', 'spend_usd', 'conversions'] as const).map((m) => (
        <Figure
          key={m}
          id={events[m]}
          name={measures()[m].name}
          value={measures()[m].show(now[m])}
          note={before && q().before(measures()[m].show(before[m]))}
        />
      ))}
    </dl>
  );
}

const pointsOf = (s: Schemas['Stats'], m: Measure): Point[] =>
  s.daily.map((d) => ({ date: d.date, value: Number(d[m]), shown: measures()[m].show(d[m]) }));

/** One or two measures by day, each with the period before. */
function ByDay({ now, before }: { now: Schemas['Stats']; before?: Schemas['Stats'] }) {
  const [one, setOne] = useState<Measure>('spend_usd');
  const [two, setTwo] = useState<Measure | ''>('');
  const lines: Line[] = [];
  const add = (s: Schemas['Stats'], m: Measure, own: boolean, past: boolean) =>
    lines.push({
      title: past ? q().beforeName(measures()[m].name) : measures()[m].name,
      points: pointsOf(s, m),
      since: s.since,
      write: measures()[m].write,
      own,
      past,
    });
  if (before) add(before, one, false, true);
  if (two) add(now, two, true, false);
  if (two && before) add(before, two, true, true);
  const pick = (name: string, label: string, value: string, to: (m: Measure) => void) => (
    <label class="pick">
      <span>{label}</span>
      <select name={name} value={value} onChange={(e) => to(e.currentTarget.value as Measure)}>
        {name === 'measure2' && <option value="">{q().nothing}</option>}
        {Object.entries(measures()).map(([k, m]) => (
          <option key={k} value={k}>
            {m.name}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Card wide>
      <div class="row spread">
        <h2>{t().byDay}</h2>
        <div class="row">
          {pick('measure', q().measure, one, setOne)}
          {pick('measure2', q().second, two, setTwo)}
        </div>
      </div>
      <Chart
        title={measures()[one].name}
        since={now.since}
        until={now.until}
        write={measures()[one].write}
        points={pointsOf(now, one)}
        lines={lines}
      />
    </Card>
  );
}

function Requests(of: Of) {
  const period = usePeriod();
  const breakdown = (of.second ? [of.by, of.second] : [of.by]) as Request[];
  const load = (d: Days) => {
    const query = { since: d.since, until: d.until, breakdown };
    return need(
      of.about === 'network'
        ? api.GET('/api/admin/requests', { params: { query } })
        : api.GET('/api/stats/requests', {
            params: { query: { ...query, developer_id: user.value!.developer_id } },
          }),
    );
  };
  const loading = useLoad(
    async () => {
      const [now, before] = await Promise.all([
        load(period),
        period.compare ? load(period.before) : undefined,
      ]);
      return { now, before };
    },
    [of.by, of.second, period.since, period.until, period.compare],
    60_000,
  );
  const path =
    (of.about === 'network'
      ? '/api/admin/requests?'
      : `/api/stats/requests?developer_id=${user.value!.developer_id}&`) +
    `since=${period.since}&until=${period.until}&breakdown=${breakdown.join(',')}`;
  return (
    <Loaded of={loading}>
      {({ now, before }) => (
        <>
          <dl class="figures">
            {(
              [
                ['requests', q().requests, (r) => count(r.requests)],
                ['filled', q().filled, (r) => count(r.filled)],
                ['fill', q().fill, (r) => percent(r.fill_rate)],
              ] as [keyof typeof asked, string, (r: Schemas['RequestStats']) => string][]
            ).map(([id, name, show]) => (
              <Figure
                key={id}
                id={asked[id]}
                name={name}
                value={show(now)}
                note={before && q().before(show(before))}
              />
            ))}
          </dl>
          <Table
            of={{ ...of, by: now.breakdown_by ?? of.by, second: now.second_by ?? '' }}
            path={path}
            rows={(now.breakdown ?? []) as Asked[]}
            before={before?.breakdown as Asked[] | undefined}
            columns={[
              ['requests', q().requests, (r) => count(r.requests)],
              ['filled', q().filled, (r) => count(r.filled)],
              ['fill_rate', q().fill, (r) => percent(r.fill_rate)],
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

/** The value of a dimension as it is shown, with a link where it has a page. */
function Value({ by, value, name }: { by: string; value: string; name?: string }) {
  const shown = shownValue(by, value, name);
  if (by === 'campaign' && value.length === 36)
    return (
      <a href={`${base}/console/campaigns/${value}`} title={value}>
        {shown}
      </a>
    );
  return <span title={name ? value : undefined}>{shown}</span>;
}

function shownValue(by: string, value: string, name?: string): string {
  if (value === 'others') return q().others;
  if (by === 'reason') return value ? (t().noFillReasons[value] ?? value) : q().ad;
  if (by === 'day') return date(value);
  if (by === 'hour') return time(value);
  return name || value || q().unknown;
}

interface TableProps<R extends Row> {
  of: Of;
  path: string;
  rows: R[];
  before?: R[];
  columns: [string, string, (row: R) => string][];
}

/** The rows of the breakdown, those that match the filter of the address. */
function Table<R extends Row>({ of, path, rows, before, columns }: TableProps<R>) {
  const { query, set } = useQuery();
  const wanted = (query.filter ?? '').trim().toLowerCase();
  const of2 = (r: Row) => r.key + '\n' + (r.second ?? '');
  const was = new Map(before?.map((r) => [of2(r), r]));
  const shown = rows.filter((r) =>
    [r.key, r.name, r.second, r.second_name, shownValue(of.by, r.key, r.name)].some((text) =>
      text?.toLowerCase().includes(wanted),
    ),
  );
  const byDay = of.by !== 'day' && of.second !== 'day';
  return (
    <Card wide>
      <div class="row spread">
        <h2>
          {[of.by, of.second]
            .filter(Boolean)
            .map((b) => q().dims[b])
            .join(' · ')}
        </h2>
        <div class="row">
          <label class="pick">
            <span>{q().filter}</span>
            <input
              type="search"
              name="filter"
              placeholder={q().filterHelp}
              value={query.filter ?? ''}
              onInput={(e) => set({ filter: e.currentTarget.value || undefined })}
            />
          </label>
          <CSV of={path} />
        </div>
      </div>
      {shown.length === 0 ? (
        <p data-state="empty">{rows.length === 0 ? q().empty : q().noMatch}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={q().dims[of.by]}>
          <table class="rows" data-table="answers">
            <thead>
              <tr>
                <th scope="col">{q().dims[of.by]}</th>
                {of.second && <th scope="col">{q().dims[of.second]}</th>}
                {columns.map(([id, name]) => (
                  <th key={id} scope="col" class="num">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((r) => {
                const b = byDay ? was.get(of2(r)) : undefined;
                return (
                  <tr key={of2(r)} data-key={r.key} data-second={r.second}>
                    <th scope="row">
                      <Value by={of.by} value={r.key} name={r.name} />
                    </th>
                    {of.second && (
                      <td>
                        <Value by={of.second} value={r.second ?? ''} name={r.second_name} />
                      </td>
                    )}
                    {columns.map(([id, , show]) => (
                      <td key={id} class="num">
                        {show(r)}
                        {b && <div class="note">{q().before(show(b))}</div>}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
          <p class="note">{q().rows(shown.length)}</p>
        </div>
      )}
    </Card>
  );
}
