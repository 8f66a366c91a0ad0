import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { base, count, isAdmin, t, time, usd } from '../state';
import { Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';

/** Explains the outcome of an auction, as far as the account may see it. */
export default function Auctions() {
  const { query, path, route } = useLocation();
  const id = query.id ?? '';
  const [typed, setTyped] = useState(id);
  return (
    <Page title={t().auctions} lead={t().auctionsLead}>
      <form
        class="row end"
        role="search"
        onSubmit={(e) => {
          e.preventDefault();
          route(`${path}?id=${encodeURIComponent(typed.trim())}`);
        }}
      >
        <label>
          {t().auctionId}
          <input
            name="id"
            value={typed}
            required
            maxLength={2000}
            autocomplete="off"
            onInput={(e) => setTyped(e.currentTarget.value)}
          />
        </label>
        <button class="primary">{t().explain}</button>
      </form>
      {id ? <Explained key={id} id={id} /> : <p class="note">{t().auctionsHelp}</p>}
    </Page>
  );
}

function Explained({ id }: { id: string }) {
  const of = useLoad(
    () =>
      need(api.GET('/api/auctions/{auction_id}/explain', { params: { path: { auction_id: id } } })),
    [id],
  );
  return <Loaded of={of}>{(a) => <Explanation a={a} />}</Loaded>;
}

const result = (r: string) => t().results[r] ?? r;

function Explanation({ a }: { a: Schemas['Explanation'] }) {
  const r = a.request;
  return (
    <>
      <dl class="figures">
        <Figure
          id="outcome"
          name={t().outcome}
          value={a.filled ? t().filled : t().unfilled}
          note={a.reason && result(a.reason)}
        />
        {a.winner && (
          <Figure
            id="price"
            name={t().winnerPrice}
            value={usd(a.winner.price_usd)}
            note={a.winner.billing_model.toUpperCase()}
          />
        )}
        <Figure id="spend" name={t().spend} value={usd(a.spend_usd)} />
        <Figure id="credits" name={t().credits} value={count(a.credits)} />
      </dl>
      <div class="columns">
        <Card title={isAdmin.value ? t().allCandidates : t().yourCandidates}>
          {a.candidates.length === 0 ? (
            <p class="note">{t().noCandidates}</p>
          ) : (
            <div class="scroll" tabIndex={0} role="region" aria-label={t().yourCandidates}>
              <table class="rows">
                <thead>
                  <tr>
                    <th scope="col">{t().campaign}</th>
                    <th scope="col">{t().outcome}</th>
                    <th scope="col" class="num">
                      {t().ecpm}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {a.candidates.map((c) => (
                    <tr key={c.rank}>
                      <th scope="row">
                        {c.campaign_id ? (
                          <a class="mono" href={`${base}/console/campaigns/${c.campaign_id}`}>
                            {c.campaign_id.slice(0, 13)}…
                          </a>
                        ) : (
                          '–'
                        )}
                      </th>
                      <td>{result(c.result)}</td>
                      <td class="num">{c.effective_cpm == null ? '–' : usd(c.effective_cpm)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {a.others.length > 0 && (
            <>
              <h3>{t().otherCandidates}</h3>
              <dl class="facts">
                {a.others.map((o) => (
                  <>
                    <dt>{result(o.result)}</dt>
                    <dd>{count(o.count)}</dd>
                  </>
                ))}
              </dl>
            </>
          )}
          {a.more_candidates && <p class="note">{t().moreCandidates}</p>}
        </Card>
        <Card title={t().theRequest}>
          <dl class="facts">
            <dt>{t().when}</dt>
            <dd>{time(a.at)}</dd>
            <dt>{t().method}</dt>
            <dd>{r.integration_method || '–'}</dd>
            <dt>{t().breakdownsMore.surface}</dt>
            <dd>{r.surface || '–'}</dd>
            <dt>{t().breakdownsMore.host_app}</dt>
            <dd>{r.host_app || '–'}</dd>
            <dt>{t().breakdownsMore.region}</dt>
            <dd>{r.region || '–'}</dd>
            <dt>{t().breakdownsMore.language}</dt>
            <dd>{r.language || '–'}</dd>
            <dt>{t().floor}</dt>
            <dd>{usd(r.bidfloor)}</dd>
          </dl>
          {!a.recorded && <p class="note">{t().notRecorded}</p>}
        </Card>
      </div>
      {a.events.length > 0 && (
        <Card title={t().events} wide>
          <div class="scroll" tabIndex={0} role="region" aria-label={t().events}>
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">{t().when}</th>
                  <th scope="col">{t().event}</th>
                  <th scope="col">{t().verdict}</th>
                  <th scope="col" class="num">
                    {t().spend}
                  </th>
                  <th scope="col" class="num">
                    {t().credits}
                  </th>
                </tr>
              </thead>
              <tbody>
                {a.events.map((e) => (
                  <tr key={e.event_id}>
                    <th scope="row">{time(e.received_at)}</th>
                    <td>{e.event}</td>
                    <td class="mono">{e.verdict}</td>
                    <td class="num">{usd(e.charge_usd)}</td>
                    <td class="num">{count(e.credits)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Card>
      )}
    </>
  );
}
