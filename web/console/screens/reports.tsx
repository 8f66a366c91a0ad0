import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { a } from '../i18n/admin';
import { base, count, t, time } from '../state';
import { Ask, type Asked } from '../ui/ask';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page, Status } from '../ui/page';
import { Preview } from '../ui/preview';

type Reported = Schemas['Reported'];

/** The ads reported by readers, with reporters, counts and reasons. */
export default function Reports() {
  const of = useLoad(
    () => need(api.GET('/api/admin/reports', { params: { query: { limit: 50 } } })),
    [],
  );
  const [asked, ask] = useState<Asked | null>(null);
  const [said, setSaid] = useState('');
  const decide = (r: Reported, outcome: 'kept' | 'removed') =>
    ask({
      title: outcome === 'kept' ? a().keepSure : a().removeSure,
      help: a().toldHelp,
      label: a().reason,
      act: outcome === 'kept' ? a().keep : a().remove,
      danger: outcome === 'removed',
      does: async (words) => {
        await need(
          api.POST('/api/admin/reports/{id}', {
            params: { path: { id: r.campaign_id } },
            body: { outcome, words },
          }),
        );
        setSaid(a().decided);
      },
    });
  return (
    <Page title={t().reports} lead={a().reportsLead}>
      {asked && (
        <Ask
          of={asked}
          onClose={(done) => {
            ask(null);
            if (done) of.reload();
          }}
        />
      )}
      <output aria-live="polite" class="good">
        {said}
      </output>
      <Loaded of={of}>
        {({ reported }) =>
          reported.length === 0 ? (
            <Empty title={a().noReports}>
              <p>{a().noReportsHelp}</p>
            </Empty>
          ) : (
            reported.map((r) => (
              <div class="columns" key={r.campaign_id}>
                <section class="card" aria-labelledby={r.campaign_id}>
                  <h2 id={r.campaign_id}>
                    <a href={`${base}/console/campaigns/${r.campaign_id}`}>
                      {r.campaign ? r.campaign.name || r.campaign.headline : r.campaign_id}
                    </a>{' '}
                    {r.campaign && <Status status={r.campaign.status} />}
                  </h2>
                  <dl class="facts">
                    <dt>{a().counted}</dt>
                    <dd>
                      {count(r.counted)} / {count(r.reports)}
                    </dd>
                    <dt>{a().networks}</dt>
                    <dd>{count(r.networks)}</dd>
                    <dt>{a().publishers}</dt>
                    <dd>{count(r.publishers)}</dd>
                    <dt>{a().reasons}</dt>
                    <dd>
                      {Object.entries(r.reasons)
                        .map(([name, n]) => `${a().reasonNames[name] ?? name}: ${count(n)}`)
                        .join(', ')}
                    </dd>
                    <dt>{a().newest}</dt>
                    <dd>{time(r.newest)}</dd>
                  </dl>
                  <ul class="changes">
                    {r.texts.map((x, i) => (
                      <li key={i}>
                        <time>{time(x.at)}</time>
                        <b>{a().reasonNames[x.reason] ?? x.reason}</b>
                        <span class="break">{x.text || '–'}</span>
                        {x.reason === 'unsuitable_place' && (
                          <span class="note" data-part="place">
                            {a().publisher}:{' '}
                            <a
                              class="mono"
                              href={`${base}/console/suitability?publisher=${x.developer_id}`}
                            >
                              {x.developer_id}
                            </a>
                          </span>
                        )}
                        <span class="note">
                          „{x.headline}“{!x.counted && ` · ${a().notCounted}`}
                        </span>
                      </li>
                    ))}
                  </ul>
                  <div class="row">
                    <button type="button" data-act="keep" onClick={() => decide(r, 'kept')}>
                      {a().keep}
                    </button>
                    <button
                      type="button"
                      class="danger"
                      data-act="remove"
                      onClick={() => decide(r, 'removed')}
                    >
                      {a().remove}
                    </button>
                  </div>
                </section>
                {r.campaign && <Preview ad={r.campaign} />}
              </div>
            ))
          )
        }
      </Loaded>
    </Page>
  );
}
