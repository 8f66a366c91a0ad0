import { useLocation } from 'preact-iso/router';
import { api, need } from '../../shared/api';
import { r } from '../i18n/refusals';
import { base, count, day, percent } from '../state';
import { CSV } from '../ui/csv';
import { Loaded, useLoad } from '../ui/load';
import { Card, Page } from '../ui/page';

const periods = [1, 7, 31] as const;

/** The refusal rates of each publisher's requests because of their conversations. */
export default function Refusals() {
  const { query, path, route } = useLocation();
  const days = periods.find((n) => String(n) === query.days) ?? 7,
    since = day(days - 1);
  const of = useLoad(
    () => need(api.GET('/api/admin/suitability', { params: { query: { since } } })),
    [since],
  );
  return (
    <Page title={r().network} lead={r().networkLead}>
      <form class="filters" onSubmit={(e) => e.preventDefault()}>
        <label>
          {r().period}
          <select
            name="period"
            value={String(days)}
            onChange={(e) => route(`${path}?days=${e.currentTarget.value}`, true)}
          >
            {periods.map((n) => (
              <option key={n} value={n}>
                {r().days(n)}
              </option>
            ))}
          </select>
        </label>
        <CSV of={`/api/admin/suitability?since=${since}`} />
      </form>
      <Loaded of={of}>
        {({ publishers }) => (
          <Card wide>
            {publishers.length === 0 ? (
              <p>{r().none}</p>
            ) : (
              <>
                <p class="note">{r().jumpedHelp}</p>
                <div class="scroll flush" tabIndex={0} role="region" aria-label={r().network}>
                  <table class="rows" data-table="publishers">
                    <thead>
                      <tr>
                        <th scope="col">{r().publisher}</th>
                        <th scope="col" class="num">
                          {r().requests}
                        </th>
                        <th scope="col" class="num">
                          {r().adults}
                        </th>
                        <th scope="col" class="num">
                          {r().neverTier}
                        </th>
                        <th scope="col" class="num">
                          {r().sensitiveTier}
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {publishers.map((p) => (
                        <tr key={p.developer_id}>
                          <th scope="row">
                            <a
                              class="mono"
                              href={`${base}/console/suitability?publisher=${p.developer_id}`}
                            >
                              {p.developer_id}
                            </a>{' '}
                            {p.jumped && (
                              <span class="status rejected" data-part="jumped">
                                {r().jumped}
                              </span>
                            )}
                          </th>
                          <td class="num">{count(p.requests)}</td>
                          <td class="num">{count(p.age_adult)}</td>
                          {p.refused.map((tier) => (
                            <td key={tier.tier} class="num">
                              {percent(tier.rate)}{' '}
                              <span class="note">
                                ({count(tier.requests)}, {r().below(tier.days_below_10)})
                              </span>
                            </td>
                          ))}
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              </>
            )}
          </Card>
        )}
      </Loaded>
    </Page>
  );
}
