import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { base, count, info, isAdmin, t, time, usd, user } from '../state';
import { CSV } from '../ui/csv';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Code, Figure, Page } from '../ui/page';
import { PeriodPicker, usePeriod } from '../ui/period';

/** Instructions for reporting conversions, their counts, and a test for click ids. */
export default function Conversions() {
  const { since, until } = usePeriod();
  const of = useLoad(
    () =>
      need(
        api.GET('/api/stats', {
          params: { query: { type: 'overview', since, until } },
        }),
      ),
    [user.value?.id, since, until],
  );
  const at = info.value?.base_url ?? location.origin + base;
  const snippet =
    `curl -sS '${at}/api/track' -H "Authorization: Bearer conv_live_…" -d '{\n  "event": ` +
    `"conversion", "click_id": "…",\n  "conversion_type": "signup", "value": 12.5, ` +
    `"currency": "USD", "external_id": "order-17"}'`;
  return (
    <Page
      title={t().conversions}
      lead={t().conversionsLead}
      asOf={of.is === 'loaded' ? of.data.as_of : undefined}
      actions={<PeriodPicker compare={false} />}
    >
      <Loaded of={of}>
        {(s) => (
          <dl class="figures">
            <Figure id="conversions" name={t().conversionsCounted} value={count(s.conversions)} />
            <Figure
              id="unverified"
              name={t().conversionsUnverified}
              value={count(s.conversions_unverified)}
              note={t().unverifiedHelp}
            />
          </dl>
        )}
      </Loaded>
      <Types />
      <Card title={t().conversionReport}>
        <p>{t().conversionHelp}</p>
        <Code text={snippet} label={t().conversionReport} />
        <p>
          <a href={`${base}/console/keys`}>{t().conversionKey}</a>
        </p>
      </Card>
      <Try />
    </Page>
  );
}

/** The counted conversions by type and campaign. */
function Types() {
  const { since, until } = usePeriod();
  const of = useLoad(async () => {
    const [found, list] = await Promise.all([
      need(api.GET('/api/stats/conversions', { params: { query: { since, until } } })),
      need(
        api.GET('/api/campaigns/list', {
          params: {
            query: { limit: 500, ...(isAdmin.value ? {} : { advertiser_id: user.value!.id }) },
          },
        }),
      ),
    ]);
    return {
      rows: found.conversions,
      names: new Map(list.campaigns.map((c) => [c.id, c.name || c.headline])),
    };
  }, [user.value?.id, since, until]);
  return (
    <Card wide>
      <div class="row spread">
        <h2>{t().conversionTypes}</h2>
        <CSV of={`/api/stats/conversions?since=${since}&until=${until}`} />
      </div>
      <Loaded of={of}>
        {({ rows, names }) =>
          rows.length === 0 ? (
            <p data-state="empty">{t().noConversions}</p>
          ) : (
            <div class="scroll" tabIndex={0} role="region" aria-label={t().conversionTypes}>
              <table class="rows" data-table="types">
                <thead>
                  <tr>
                    <th scope="col">{t().conversionType}</th>
                    <th scope="col">{t().campaign}</th>
                    <th scope="col" class="num">
                      {t().conversionsCounted}
                    </th>
                    <th scope="col" class="num">
                      {t().conversionValue}
                    </th>
                    <th scope="col">{t().lastReceived}</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((r) => (
                    <tr key={r.campaign_id + r.conversion_type} data-type={r.conversion_type}>
                      <th scope="row">{r.conversion_type || '–'}</th>
                      <td>
                        <a href={`${base}/console/campaigns/${r.campaign_id}`}>
                          {names.get(r.campaign_id) ?? r.campaign_id}
                        </a>
                      </td>
                      <td class="num">{count(r.conversions)}</td>
                      <td class="num">{usd(r.value_usd)}</td>
                      <td>{time(r.last_received_at)}</td>
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

/** A test of a click id: nothing is recorded. */
function Try() {
  const [id, setId] = useState('');
  const [said, setSaid] = useState<Schemas['ConversionChecked'] | null>(null);
  const [problem, setProblem] = useState('');
  const ask = async (e: Event) => {
    e.preventDefault();
    setSaid(null);
    setProblem('');
    try {
      setSaid(await need(api.POST('/api/track/check', { body: { click_id: id.trim() } })));
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <Card title={t().conversionTest}>
      <form class="stack" data-form="conversion" onSubmit={ask}>
        <p class="note">{t().conversionTestHelp}</p>
        <label>
          {t().clickID}
          <input
            name="click_id"
            required
            value={id}
            onInput={(e) => setId(e.currentTarget.value)}
            autoComplete="off"
            spellcheck={false}
          />
        </label>
        <div class="row">
          <button class="primary">{t().conversionTry}</button>
        </div>
        {said && (
          <p class={said.accepted ? 'good' : 'problem'} role="status" data-reason={said.reason}>
            {t().conversionReasons[said.reason]}
          </p>
        )}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </Card>
  );
}
