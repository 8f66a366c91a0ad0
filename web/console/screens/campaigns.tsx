import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, count, day, isAdmin, percent, t, usd, user } from '../state';
import { Bulk, each, useChosen } from '../ui/bulk';
import { Icon } from '../ui/icons';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Gauge, Page, Pages } from '../ui/page';
import { CampaignStatus } from '../ui/delivery';
import { barred } from '../ui/stopped';

type Campaign = Schemas['Campaign'];
type Counts = Schemas['Counts'];
type Row = Campaign & { counts?: Counts };
type Sort = 'created' | 'name' | 'status' | 'spent' | 'ctr' | 'ecpm';

const perPage = 25,
  most = 500;
const statuses = ['active', 'paused', 'in_review', 'draft', 'rejected', 'archived'] as const;

/**
 * All campaigns: found, sorted, and paused or resumed together. The selection is in the address.
 */
export default function Campaigns() {
  const { query, path, route } = useLocation();
  const status = statuses.find((s) => s === query.status);
  const sort = (query.sort ?? 'created') as Sort,
    down = query.dir !== 'up';
  const search = query.q ?? '',
    page = Math.max(1, Number(query.page ?? 1) || 1);
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries({ page: undefined, ...changes }))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''), true);
  };
  const of = useLoad(async () => {
    const whose = isAdmin.value ? {} : { advertiser_id: user.value!.id };
    const [list, stats] = await Promise.all([
      need(
        api.GET('/api/campaigns/list', {
          params: { query: { limit: most, ...whose, ...(status ? { status } : {}) } },
        }),
      ),
      need(
        api.GET('/api/stats', {
          params: {
            query: { type: 'overview', since: day(29), until: day(), breakdown: ['campaign'] },
          },
        }),
      ),
    ]);
    const counts = new Map((stats.breakdown ?? []).map((g) => [g.key, g as Counts]));
    return {
      rows: list.campaigns.map((c): Row => ({ ...c, counts: counts.get(c.id) })),
      total: list.total,
      asOf: stats.as_of,
    };
  }, [status, user.value?.id]);
  return (
    <Page
      title={t().campaigns}
      asOf={of.is === 'loaded' ? of.data.asOf : undefined}
      actions={
        <a class="button primary" href={`${base}/console/campaigns/new`}>
          <Icon name="plus" /> {t().newCampaign}
        </a>
      }
    >
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {t().search}
          <input type="search" value={search} onInput={(e) => set({ q: e.currentTarget.value })} />
        </label>
        <label>
          {t().status}
          <select value={status ?? ''} onChange={(e) => set({ status: e.currentTarget.value })}>
            <option value="">{t().all}</option>
            {statuses.map((s) => (
              <option key={s} value={s}>
                {t().statuses[s]}
              </option>
            ))}
          </select>
        </label>
      </form>
      <Loaded of={of}>
        {({ rows, total }) => {
          if (total === 0 && !status)
            return (
              <Empty title={t().noCampaigns}>
                <p>{t().noCampaignsHelp}</p>
                <a class="button primary" href={`${base}/console/campaigns/new`}>
                  {t().newCampaign}
                </a>
              </Empty>
            );
          const found = sorted(
            rows.filter((r) => matches(r, search)),
            sort,
            down,
          );
          const pages = Math.max(1, Math.ceil(found.length / perPage));
          const shown = found.slice(
            (Math.min(page, pages) - 1) * perPage,
            Math.min(page, pages) * perPage,
          );
          return (
            <>
              {total > most && <p class="note">{t().newestOnly(count(most), count(total))}</p>}
              <Table
                rows={shown}
                sort={sort}
                down={down}
                reload={of.reload}
                onSort={(by) => set({ sort: by, dir: by === sort && down ? 'up' : undefined })}
              />
              {found.length === 0 && <Empty title={t().nothingFound} />}
              <Pages
                offset={page - 1}
                size={1}
                more={page < pages}
                onTurn={(to) => set({ page: String(to + 1) })}
              >
                <span>{t().pageOf(Math.min(page, pages), pages, count(found.length))}</span>
              </Pages>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function matches(r: Row, search: string) {
  const words = search.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const text = [r.name, r.headline, r.subtext, r.cta_url, ...r.target_intent_tokens]
    .join(' ')
    .toLocaleLowerCase();
  return words.every((w) => text.includes(w));
}

function sorted(rows: Row[], by: Sort, down: boolean): Row[] {
  const of = (r: Row): string | number | bigint => {
    switch (by) {
      case 'name':
        return (r.name || r.headline).toLocaleLowerCase();
      case 'status':
        return r.status;
      case 'spent':
        return micros(r.spent_total);
      case 'ctr':
        return r.counts?.ctr ?? 0;
      case 'ecpm':
        return micros(r.counts?.ecpm);
      default:
        return r.created_at;
    }
  };
  const way = (by === 'name' || by === 'status') === down ? 1 : -1;
  return [...rows].sort((a, b) => (of(a) < of(b) ? -way : of(a) > of(b) ? way : 0));
}

function Table({
  rows,
  sort,
  down,
  onSort,
  reload,
}: {
  rows: Row[];
  sort: Sort;
  down: boolean;
  onSort: (by: Sort) => void;
  reload: () => void;
}) {
  const chosen = useChosen(rows),
    marked = chosen.marked;
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState(false);
  const act = async (action: 'pause' | 'resume') => {
    const from = action === 'pause' ? 'active' : 'paused';
    setBusy(true);
    const { done, problem } = await each(
      marked.filter((r) => r.status === from && (from === 'active' || !barred(r))),
      ({ id }) =>
        need(
          action === 'pause'
            ? api.POST('/api/campaigns/pause', { body: { id } })
            : api.POST('/api/campaigns/resume', { body: { id } }),
        ),
    );
    setSaid(
      (action === 'pause' ? t().pausedN(done) : t().resumedN(done)) + (problem && ` ${problem}`),
    );
    chosen.clear();
    setBusy(false);
    reload();
  };
  const head = (by: Sort, name: string, num = false) => (
    <th
      scope="col"
      class={num ? 'num' : undefined}
      aria-sort={
        sort === by
          ? down === (by !== 'name' && by !== 'status')
            ? 'descending'
            : 'ascending'
          : undefined
      }
    >
      <button type="button" class="sort" onClick={() => onSort(by)}>
        {name}
        {sort === by && (
          <span aria-hidden="true">
            {down === (by !== 'name' && by !== 'status') ? ' ↓' : ' ↑'}
          </span>
        )}
      </button>
    </th>
  );
  return (
    <>
      <Bulk n={marked.length} said={said}>
        <button
          type="button"
          disabled={busy || !marked.some((r) => r.status === 'active')}
          data-act="pause"
          onClick={() => void act('pause')}
        >
          {t().pause}
        </button>
        <button
          type="button"
          disabled={busy || !marked.some((r) => r.status === 'paused' && !barred(r))}
          data-act="resume"
          onClick={() => void act('resume')}
        >
          {t().resume}
        </button>
      </Bulk>
      <div class="scroll card flush" tabIndex={0} role="region" aria-label={t().campaigns}>
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label={t().chooseAll}
                  checked={chosen.all}
                  onChange={chosen.toggleAll}
                />
              </th>
              {head('name', t().campaign)}
              {head('status', t().status)}
              <th scope="col">{t().today}</th>
              {head('spent', t().spentTotal, true)}
              {head('ctr', t().ctr, true)}
              {head('ecpm', t().ecpm, true)}
              {head('created', t().created, true)}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.id} data-id={r.id}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={t().choose(r.name || r.headline)}
                    checked={chosen.has(r.id)}
                    onChange={() => chosen.toggle(r.id)}
                  />
                </td>
                <th scope="row">
                  <a href={`${base}/console/campaigns/${r.id}`}>{r.name || r.headline}</a>
                </th>
                <td>
                  <CampaignStatus of={r} />
                </td>
                <td>
                  <Gauge
                    label={t().spentToday}
                    used={micros(r.spent_today)}
                    of={micros(r.daily_budget)}
                    text={t().ofBudget(usd(r.spent_today), usd(r.daily_budget))}
                  />
                </td>
                <td class="num">{usd(r.spent_total)}</td>
                <td class="num">{r.counts?.impressions ? percent(r.counts.ctr) : '–'}</td>
                <td class="num">{r.counts?.impressions ? usd(r.counts.ecpm) : '–'}</td>
                <td class="num">{r.created_at.slice(0, 10)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
