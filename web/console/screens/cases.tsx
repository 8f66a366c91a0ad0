import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { a } from '../i18n/admin';
import { base, count, percent, t, time, usd } from '../state';
import { Ask, type Asked } from '../ui/ask';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page } from '../ui/page';
import { Parked } from './parked';

type Case = Schemas['QuarantineCase'];

/**
 * Quarantined publishers with the evidence, and payments that need manual review.
 */
export default function Cases() {
  const { query, path, route } = useLocation();
  const state = query.state === 'all' ? 'all' : 'open';
  const of = useLoad(
    () => need(api.GET('/api/billing/quarantine', { params: { query: { state } } })),
    [state],
  );
  const [asked, ask] = useState<Asked | null>(null);
  const [said, setSaid] = useState('');
  const decide = (c: Case, decision: 'release' | 'clawback') =>
    ask({
      title: sure(c, decision),
      help: decision === 'clawback' ? helpOf(c) : undefined,
      label: a().reason,
      most: 500,
      act: decision === 'release' ? a().release : a().clawback,
      danger: decision === 'clawback',
      does: async (note) => {
        await need(api.POST('/api/billing/quarantine', { body: { id: c.id, decision, note } }));
        setSaid(a().caseDecided);
      },
    });
  return (
    <Page title={t().cases} lead={a().casesLead}>
      {asked && (
        <Ask
          of={asked}
          onClose={(done) => {
            ask(null);
            if (done) of.reload();
          }}
        />
      )}
      <form class="filters" onSubmit={(e) => e.preventDefault()}>
        <label>
          {a().state}
          <select
            value={state}
            onChange={(e) =>
              route(path + (e.currentTarget.value === 'all' ? '?state=all' : ''), true)
            }
          >
            <option value="open">{a().open}</option>
            <option value="all">{a().all}</option>
          </select>
        </label>
      </form>
      <output aria-live="polite" class="good">
        {said}
      </output>
      <Loaded of={of}>
        {({ cases }) =>
          cases.length === 0 ? (
            <Empty title={a().noCases} />
          ) : (
            cases.map((c) => (
              <section class="card" key={c.id} aria-labelledby={c.id}>
                <h2 id={c.id}>
                  {a().rules[c.rule] ?? c.rule}{' '}
                  <span class={`status ${c.state === 'open' ? 'in_review' : ''}`}>
                    {a().caseStates[c.state]}
                  </span>
                </h2>
                <dl class="facts">
                  <dt>{a().publisher}</dt>
                  <dd>
                    <a class="mono" href={`${base}/console/users?q=${c.developer_id}`}>
                      {c.developer_id}
                    </a>
                  </dd>
                  <dt>{t().since}</dt>
                  <dd>{time(c.opened_at)}</dd>
                  <dt>{a().evidence}</dt>
                  <dd>
                    {percentOr(c)} · {c.evidence.date}: {count(c.evidence.impressions)}{' '}
                    {a().impressions}, {count(c.evidence.clicks)} {a().clicks},{' '}
                    {count(c.evidence.invalid_traffic)} {a().invalid},{' '}
                    {count(c.evidence.credits_minted)} Credits
                    {c.evidence.note && (
                      <>
                        <br />
                        {c.evidence.note}
                      </>
                    )}
                  </dd>
                  <dt>{t().creditsHeld}</dt>
                  <dd>{count(c.credits_held)}</dd>
                  <dt>{a().charged}</dt>
                  <dd>{usd(c.charged_usd)}</dd>
                  {c.note && (
                    <>
                      <dt>{a().why}</dt>
                      <dd>{c.note}</dd>
                    </>
                  )}
                </dl>
                {c.state === 'open' && (
                  <div class="row">
                    <button type="button" data-act="release" onClick={() => decide(c, 'release')}>
                      {a().release}
                    </button>
                    <button
                      type="button"
                      class="danger"
                      data-act="clawback"
                      onClick={() => decide(c, 'clawback')}
                    >
                      {a().clawback}
                    </button>
                  </div>
                )}
              </section>
            ))
          )
        }
      </Loaded>
      <Parked />
    </Page>
  );
}

const ofActs = (c: Case) => c.rule === 'many_acts';

const sure = (c: Case, decision: 'release' | 'clawback') => {
  if (ofActs(c)) return decision === 'release' ? a().releaseActsSure : a().rejectActsSure;
  return decision === 'release' ? a().releaseSure : a().clawbackSure;
};

const helpOf = (c: Case) => (ofActs(c) ? a().rejectActsHelp : a().clawbackHelp);

const percentOr = (c: Case) =>
  c.rule === 'mint_surge'
    ? `${Number(c.evidence.value).toFixed(1)} × (${Number(c.evidence.threshold).toFixed(1)} ×)`
    : c.rule === 'no_readers'
      ? `${count(c.evidence.value)} (${count(c.evidence.threshold)})`
      : `${percent(Number(c.evidence.value))} (${percent(Number(c.evidence.threshold))})`;
