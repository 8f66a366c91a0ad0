import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { count, percent, t, usd } from '../state';
import { words } from './load';
import { Card } from './page';
import { Took } from './took';

/** The forecast for a draft, shortly after its last change. */
export function Forecast({ fields, title }: { fields: Schemas['CampaignFields']; title?: string }) {
  const [f, set] = useState<Schemas['Forecast'] | null>(null);
  const [problem, setProblem] = useState('');
  const text = JSON.stringify(fields);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      need(api.POST('/api/campaigns/forecast', { body: fields })).then(
        (r) => {
          if (current) {
            set(r);
            setProblem('');
          }
        },
        (e) => {
          if (current) {
            set(null);
            setProblem(e instanceof ApiError && e.status !== 400 ? words(e) : '');
          }
        },
      );
    }, 800);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  const shown = (
    <>
      <p class="note">{t().forecastHelp}</p>
      {problem && (
        <p class="problem" role="status">
          {problem}
        </p>
      )}
      {f &&
        (f.requests_per_day === 0 ? (
          <p role="status">{t().forecastFew}</p>
        ) : (
          <dl class="facts" data-forecast="">
            <dt>{t().requestsDay}</dt>
            <dd>{count(f.requests_per_day)}</dd>
            {f.price_cpm_usd ? (
              <>
                <dt>{t().priceUsual}</dt>
                <dd>
                  {t().priceText(
                    usd(f.price_cpm_usd.p25),
                    usd(f.price_cpm_usd.p75),
                    usd(f.price_cpm_usd.p50),
                  )}
                </dd>
              </>
            ) : null}
            {f.won_share != null && (
              <>
                <dt>{t().wonShare}</dt>
                <dd>{percent(f.won_share, 0)}</dd>
                <dt>{t().reachDay}</dt>
                <dd>{count(f.impressions_per_day)}</dd>
                <dt>{t().spendDay}</dt>
                <dd>{usd(f.spend_per_day_usd)}</dd>
              </>
            )}
          </dl>
        ))}
      {f && f.requests_per_day > 0 && !f.price_cpm_usd && <p class="note">{t().forecastHidden}</p>}
      {f && f.refused.length > 0 && <Took of={f.refused} since={f.since} until={f.until} />}
    </>
  );
  return title ? <Card title={title}>{shown}</Card> : <div class="stack">{shown}</div>;
}
