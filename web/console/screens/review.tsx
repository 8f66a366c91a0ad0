import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { base, t, time, usd } from '../state';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Page } from '../ui/page';
import { Preview } from '../ui/preview';

type Campaign = Schemas['Campaign'];

/** What waits for a reviewer: each beside what the policy found, decided by a button or a key. */
export default function Review() {
  const of = useLoad(() => need(api.GET('/api/campaigns/review_queue', { params: { query: { limit: 50 } } })), []);
  return (
    <Page title={t().reviewQueue} lead={t().reviewLead}>
      <Loaded of={of}>{({ campaigns, total }) => campaigns.length === 0
        ? <Empty title={t().nothingWaits}><p>{t().nothingWaitsHelp}</p></Empty>
        : <Queue campaigns={campaigns} total={total} reload={of.reload} />}</Loaded>
    </Page>
  );
}

function Queue({ campaigns, total, reload }: { campaigns: Campaign[]; total: number; reload: () => void }) {
  const [at, setAt] = useState(campaigns[0]!.id);
  const [notes, setNotes] = useState('');
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const i = Math.max(0, campaigns.findIndex((c) => c.id === at));
  const c = campaigns[i]!;
  const go = (step: number) => { setAt(campaigns[Math.max(0, Math.min(campaigns.length - 1, i + step))]!.id); setNotes(''); };
  const decide = async (decision: 'approved' | 'rejected') => {
    if (busy) return;
    if (decision === 'rejected' && !notes.trim()) {
      setProblem(t().sayWhy);
      document.getElementById('review-notes')?.focus();
      return;
    }
    setBusy(true);
    setProblem('');
    try {
      await need(api.POST('/api/campaigns/review', { body: { id: c.id, decision, notes, config_version: c.config_version } }));
      setSaid(decision === 'approved' ? t().approvedIt(c.name || c.headline) : t().rejectedIt(c.name || c.headline));
      go(i + 1 < campaigns.length ? 1 : -1);
      reload();
    } catch (e) { setProblem(e instanceof ApiError ? words(e) : String(e)); }
    setBusy(false);
  };
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const typing = e.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
      if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
      const act = { a: () => decide('approved'), r: () => decide('rejected'), j: () => go(1), k: () => go(-1) }[e.key];
      if (act) { e.preventDefault(); void act(); }
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  });
  return (
    <div class="review">
      <nav class="card queue" aria-label={t().reviewQueue}>
        <p class="note">{t().waiting(total)}</p>
        <ul>{campaigns.map((w) => <li key={w.id}><button type="button" class="link" aria-current={w.id === c.id ? 'true' : undefined} onClick={() => { setAt(w.id); setNotes(''); }}>{w.name || w.headline}</button></li>)}</ul>
      </nav>
      <div class="stack">
        <section class="card" aria-labelledby="reviewed">
          <h2 id="reviewed"><a href={`${base}/console/campaigns/${c.id}`}>{c.name || c.headline}</a></h2>
          <p class="note">{time(c.updated_at)} · <span class="mono">{c.advertiser_id}</span></p>
          {c.policy_violations.length > 0
            ? <ul class="violations">{c.policy_violations.map((v) => <li key={v.rule + v.field}><b>{v.field}</b> <span class="mono">{v.rule}</span><p>{v.message}</p></li>)}</ul>
            : <p>{t().noViolations}</p>}
          <dl class="facts"><dt>{t().headline}</dt><dd>{c.headline}</dd><dt>{t().subtext}</dt><dd>{c.subtext || '–'}</dd><dt>{t().landingPage}</dt><dd class="mono break">{c.cta_url}</dd><dt>{t().words}</dt><dd>{c.target_intent_tokens.join(', ') || t().everybody}</dd><dt>{t().bid}</dt><dd>{usd(c.bid_amount, 6)} {c.billing_model.toUpperCase()}</dd></dl>
          <label class="stack">{t().notes}<textarea id="review-notes" rows={2} maxLength={1000} value={notes} onInput={(e) => setNotes(e.currentTarget.value)} /></label>
          {problem && <p class="problem" role="alert">{problem}</p>}
          <div class="row">
            <button type="button" class="primary" disabled={busy} data-act="approve" aria-keyshortcuts="a" onClick={() => void decide('approved')}>{t().approve} <kbd>a</kbd></button>
            <button type="button" class="danger" disabled={busy} data-act="reject" aria-keyshortcuts="r" onClick={() => void decide('rejected')}>{t().reject} <kbd>r</kbd></button>
            <span class="note">{t().reviewKeys}</span>
          </div>
          <output aria-live="polite">{said}</output>
        </section>
        <Preview ad={c} />
      </div>
    </div>
  );
}
