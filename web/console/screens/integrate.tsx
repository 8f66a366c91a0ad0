import { useEffect, useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { base, day, t, user } from '../state';
import { Loaded, useLoad } from '../ui/load';
import { Card, Code, Page } from '../ui/page';
import { methods, snippet, type Method } from '../ui/snippets';

/** Instructions for showing ads: a snippet for each method, and an indicator of the first request. */
export default function Integrate() {
  const [method, setMethod] = useState<Method>('mcp');
  const keys = useLoad(() => need(api.GET('/api/keys')), []);
  return (
    <Page title={t().integrate} lead={t().integrateLead}>
      <Light />
      <Loaded of={keys}>
        {({ keys }) => {
          const page = method === 'js';
          const key = keys.find((k) => k.kind === (page ? 'browser' : 'publisher') && !k.ends_at);
          return (
            <>
              {key ? (
                <p class="note">{t().snippetKey(key.name || key.prefix, key.prefix)}</p>
              ) : (
                <p class="notice">
                  {page ? t().needBrowserKey : t().needKey}{' '}
                  <a href={`${base}/console/keys?kind=${page ? 'browser' : 'publisher'}`}>
                    {t().makeKey}
                  </a>
                </p>
              )}
              <Card wide>
                <fieldset class="tabs">
                  <legend class="hidden">{t().method}</legend>
                  {methods.map((m) => (
                    <label key={m}>
                      <input
                        type="radio"
                        name="method"
                        value={m}
                        checked={m === method}
                        onChange={() => setMethod(m)}
                      />
                      <span>{t().methods[m]}</span>
                    </label>
                  ))}
                </fieldset>
                <p>{t().methodHelp[method]}</p>
                <Code
                  text={snippet(method, key ? `${key.prefix}…` : 'YOUR_KEY')}
                  label={t().methods[method]}
                />
              </Card>
              {page ? (
                <p class="note">{t().snippetDoes}</p>
              ) : (
                <Card title={t().afterwards} wide>
                  <ol class="steps">
                    <li>{t().stepImpression}</li>
                    <li>{t().stepClick}</li>
                    <li>{t().stepLabel}</li>
                  </ol>
                </Card>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/**
 * Polls every five seconds, for at most ten minutes, for a first request. Requests with sandbox
 * keys show by their events.
 */
function Light() {
  const [state, set] = useState<'waiting' | 'seen' | 'unknown'>('waiting');
  useEffect(() => {
    let tries = 0,
      timer = 0,
      gone = false;
    const look = async () => {
      try {
        const query = { developer_id: user.value!.developer_id, since: day(29), until: day() };
        const [asked, s] = await Promise.all([
          need(api.GET('/api/stats/requests', { params: { query } })),
          need(api.GET('/api/stats', { params: { query: { type: 'developer', ...query } } })),
        ]);
        if (gone) return;
        if (asked.requests + s.impressions + s.sandbox + s.invalid_impressions > 0)
          return set('seen');
        if (++tries < 120) timer = window.setTimeout(() => void look(), 5000);
      } catch {
        if (!gone) set('unknown');
      }
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return (
    <p class={`light ${state}`} role="status">
      <span class="dot" aria-hidden="true" />
      {state === 'seen' ? t().lightSeen : state === 'waiting' ? t().lightWaiting : t().errorUnknown}
    </p>
  );
}
