import { useEffect, useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { i } from '../i18n/integrate';
import { base, day, t, user } from '../state';
import { words } from '../ui/load';
import { Card, Code, Page } from '../ui/page';
import { keepKey, keptKey, place, type Kind } from '../ui/place';
import { methods, snippet, testKey, type Method } from '../ui/snippets';

/** Instructions for showing ads: a snippet for each method, and an indicator of the first request. */
export default function Integrate() {
  const asked = new URLSearchParams(location.search).get('method');
  const [method, setMethod] = useState<Method>(methods.find((m) => m === asked) ?? 'mcp');
  const kind: Kind = method === 'js' ? 'browser' : 'publisher';
  return (
    <Page title={t().integrate} lead={t().integrateLead}>
      <Light />
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
              <span>{i().methods[m]}</span>
            </label>
          ))}
        </fieldset>
        <p>{i().help[method]}</p>
        <Secret key={kind} kind={kind} />
        <Parts method={method} kind={kind} />
        <p>
          <a href={`${base}/docs/guide/integrating`}>{i().guide}</a>
        </p>
      </Card>
      {method === 'js' ? (
        <p class="note">{t().snippetDoes}</p>
      ) : (
        method === 'rest' && (
          <Card title={t().afterwards} wide>
            <ol class="steps">
              <li>{t().stepImpression}</li>
              <li>{t().stepClick}</li>
              <li>{t().stepLabel}</li>
            </ol>
          </Card>
        )
      )}
    </Page>
  );
}

/** The key of the snippets: one that the reader pastes, or makes here. */
function Secret({ kind }: { kind: Kind }) {
  const [made, setMade] = useState(false);
  const [problem, setProblem] = useState('');
  const page = kind === 'browser';
  const make = async () => {
    try {
      const body = { kind: 'publisher' as const, name: i().madeName };
      keepKey(kind, (await need(api.POST('/api/keys', { body }))).key);
      setMade(true);
      setProblem('');
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <>
      <div class="row end">
        <label>
          {page ? i().browserKey : i().key}
          <input
            name="key"
            value={keptKey(kind)}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="key-help"
            placeholder={page ? 'pk_live_' : testKey}
            onInput={(e) => keepKey(kind, e.currentTarget.value.trim())}
          />
        </label>
        {page ? (
          <a class="button" href={`${base}/console/keys?kind=browser`}>
            {i().make}
          </a>
        ) : (
          <button type="button" data-act="make" onClick={() => void make()}>
            {i().make}
          </button>
        )}
      </div>
      <p class="note" id="key-help" role="status">
        {made ? i().made : page ? i().browserKeyHelp : i().keyHelp(testKey)}
      </p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}

/** The parts of a snippet, each to copy. */
function Parts({ method, kind }: { method: Method; kind: Kind }) {
  const key = keptKey(kind) || (kind === 'browser' ? 'YOUR_BROWSER_KEY' : testKey);
  const { install, file, code, run } = snippet(method, place(), key);
  const number = (at: number) => (file ? `${at - (install ? 0 : 1)}. ` : '');
  return (
    <>
      {install && (
        <>
          <h2>{i().install}</h2>
          <Code text={install} label={i().install} />
        </>
      )}
      {file && code && (
        <>
          <h2>
            {number(2)}
            {i().save(file)}
          </h2>
          <Code text={code} label={file} />
        </>
      )}
      <h2>
        {number(3)}
        {i().run}
      </h2>
      <Code text={run} label={i().run} />
      {i().runHelp[method] && <p class="note">{i().runHelp[method]}</p>}
    </>
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
