import { useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { p } from '../i18n/publish';
import { base, count, percent, t, usd, user } from '../state';
import { CSV } from '../ui/csv';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Card, Page } from '../ui/page';
import { PeriodPicker, usePeriod } from '../ui/period';

const splits = ['surface', 'host_app', 'integration_method', 'format'] as const;
type Split = (typeof splits)[number];

/** The requests, impressions and earnings of each placement of a publisher. */
export default function Placements() {
  const [by, setBy] = useState<Split>('surface');
  const { since, until } = usePeriod();
  const load = async () => {
    const query = { developer_id: user.value!.developer_id, since, until, breakdown: [by] };
    const [stats, asked] = await Promise.all([
      need(api.GET('/api/stats', { params: { query: { type: 'developer', ...query } } })),
      need(api.GET('/api/stats/requests', { params: { query } })),
    ]);
    return { stats, asked };
  };
  const of = useLoad(load, [user.value?.id, by, since, until], 60_000);
  return (
    <Page
      title={p().placements}
      lead={p().lead}
      asOf={of.is === 'loaded' ? of.data.stats.as_of : undefined}
      actions={
        <>
          <PeriodPicker compare={false} />
          <label class="pick">
            <span>{p().by}</span>
            <select name="split" value={by} onChange={(e) => setBy(e.currentTarget.value as Split)}>
              {splits.map((s) => (
                <option key={s} value={s}>
                  {p().splits[s]}
                </option>
              ))}
            </select>
          </label>
        </>
      }
    >
      <Loaded of={of}>
        {({ stats, asked }) => {
          const events = new Map((stats.breakdown ?? []).map((g) => [g.key, g]));
          const places = new Map((asked.breakdown ?? []).map((g) => [g.key, g]));
          const keys = [...places.keys(), ...[...events.keys()].filter((k) => !places.has(k))];
          if (keys.length === 0)
            return (
              <Empty title={p().none}>
                <p>{p().noneHelp}</p>
                <a class="button primary" href={`${base}/console/integrate`}>
                  {t().integrate}
                </a>
              </Empty>
            );
          return (
            <Card wide>
              <div class="row spread">
                <h2>{p().requests}</h2>
                <CSV
                  of={`/api/stats/requests?developer_id=${user.value!.developer_id}&since=${since}&until=${until}&breakdown=${by}`}
                />
              </div>
              <div class="scroll" tabIndex={0} role="region" aria-label={p().placements}>
                <table class="rows" data-table={asked.breakdown_by}>
                  <thead>
                    <tr>
                      <th scope="col">{p().splits[asked.breakdown_by ?? by]}</th>
                      <th scope="col" class="num">
                        {p().requests}
                      </th>
                      <th scope="col" class="num">
                        {p().filled}
                      </th>
                      <th scope="col" class="num">
                        {p().fill}
                      </th>
                      <th scope="col" class="num">
                        {t().impressions}
                      </th>
                      <th scope="col" class="num">
                        {t().clicks}
                      </th>
                      <th scope="col" class="num">
                        {t().credits}
                      </th>
                      <th scope="col" class="num">
                        {p().paidECPM}
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {keys.map((key) => {
                      const e = events.get(key),
                        a = places.get(key);
                      return (
                        <tr key={key} data-place={key}>
                          <th scope="row">
                            {(asked.breakdown_by === 'surface' && p().surfaces[key]) ||
                              key ||
                              t().unknown}
                          </th>
                          <td class="num">
                            {a ? count(a.requests) : <abbr title={p().notAsked}>–</abbr>}
                          </td>
                          <td class="num">{a ? count(a.filled) : '–'}</td>
                          <td class="num">{a ? percent(a.fill_rate) : '–'}</td>
                          <td class="num">{count(e?.impressions)}</td>
                          <td class="num">{count(e?.clicks)}</td>
                          <td class="num">{count(e?.credits)}</td>
                          <td class="num">{usd(e?.ecpm ?? 0)}</td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              </div>
              <p class="note">
                {p().asked}
                {places.size >= 200 && <> {p().top}</>}
              </p>
            </Card>
          );
        }}
      </Loaded>
    </Page>
  );
}
