import { useEffect, useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { decimal, micros } from '../../shared/money';
import { base, t, usd, user } from '../state';
import { Loaded, useLoad, words } from '../ui/load';
import { Forecast } from '../ui/forecast';
import { Card, Page } from '../ui/page';
import { Preview } from '../ui/preview';

type Fields = Schemas['CampaignFields'];
type Violation = Schemas['Violation'];

/** What the form holds: texts, as they are typed. */
interface Draft {
  name: string; headline: string; subtext: string; cta_label: string; cta_url: string; media_url: string; logo_url: string;
  billing_model: 'cpm' | 'cpc' | 'cpa'; billing_event: 'impression' | 'viewable'; bid_amount: string; daily_budget: string; total_budget: string; pacing: 'even' | 'asap'; frequency_cap: string;
  tokens: string; tools: string; hosts: string; regions: string; languages: string;
  start_at: string; end_at: string; aim: Aim; target_cpa: string; categories: string;
}
type Aim = Schemas['Campaign']['optimization_goal'];
const blank: Draft = {
  name: '', headline: '', subtext: '', cta_label: '', cta_url: '', media_url: '', logo_url: '', billing_model: 'cpm', billing_event: 'impression', bid_amount: '5', daily_budget: '50',
  total_budget: '1000', pacing: 'even', frequency_cap: '3', tokens: '', tools: '', hosts: '', regions: '', languages: '',
  start_at: '', end_at: '', aim: 'manual', target_cpa: '', categories: '',
};
/** A time as a field of that type holds it, in UTC, and back. */
const typedTime = (at: string | null) => at?.slice(0, 16) ?? '';
const sentTime = (typed: string, was: string | null) => (typed === typedTime(was) ? was : typed ? `${typed}:00Z` : null);
/** Dates as they are kept: seconds that the form does not show stay. */
type Dates = Pick<Schemas['Campaign'], 'start_at' | 'end_at'>;
const list = (text: string) => text.split(/[,\n]/).map((w) => w.trim()).filter(Boolean);
const amount = (n: number) => decimal(micros(n)).replace(/\.?0+$/, '');

function fields(d: Draft, was?: Dates): Fields {
  const given = (text: string) => (text.trim() ? text.trim() : '');
  return {
    ...(d.name.trim() ? { name: d.name.trim() } : {}), headline: d.headline, subtext: d.subtext, ...(d.cta_label.trim() ? { cta_label: d.cta_label } : {}), cta_url: given(d.cta_url), media_url: given(d.media_url), logo_url: given(d.logo_url),
    billing_model: d.billing_model, billing_event: d.billing_model === 'cpm' && d.aim === 'manual' ? d.billing_event : 'impression', bid_amount: Number(d.bid_amount), daily_budget: Number(d.daily_budget), total_budget: Number(d.total_budget),
    pacing: d.pacing, frequency_cap: Number(d.frequency_cap), target_intent_tokens: list(d.tokens), target_active_tools: list(d.tools),
    target_host_apps: list(d.hosts), target_regions: list(d.regions), target_languages: list(d.languages),
    start_at: sentTime(d.start_at, was?.start_at ?? null), end_at: sentTime(d.end_at, was?.end_at ?? null), categories: list(d.categories),
    optimization_goal: d.billing_model === 'cpm' ? d.aim : 'manual', ...(d.target_cpa ? { target_cpa: Number(d.target_cpa) } : {}),
  };
}

function draftOf(c: Schemas['Campaign']): Draft {
  return {
    name: c.name, headline: c.headline, subtext: c.subtext, cta_label: c.cta_label, cta_url: c.cta_url, media_url: c.media_url, logo_url: c.logo_url,
    billing_model: c.billing_model, billing_event: c.billing_event, bid_amount: amount(c.bid_amount), daily_budget: amount(c.daily_budget), total_budget: amount(c.total_budget),
    pacing: c.pacing, frequency_cap: String(c.frequency_cap), tokens: c.target_intent_tokens.join(', '), tools: c.target_active_tools.join(', '),
    hosts: c.target_host_apps.join(', '), regions: c.target_regions.join(', '), languages: c.target_languages.join(', '),
    start_at: typedTime(c.start_at), end_at: typedTime(c.end_at), aim: c.optimization_goal, target_cpa: micros(c.target_cpa) > 0n ? amount(c.target_cpa) : '', categories: c.categories.join(', '),
  };
}

/** A new campaign, or a change of one: what is typed is checked and shown before anything is saved. */
export default function Edit() {
  const { params } = useRoute();
  const id = params.id;
  const of = useLoad<{ draft: Draft; was?: Dates }>(async () => {
    if (!id) return { draft: blank };
    const { campaign } = await need(api.GET('/api/campaigns/{id}', { params: { path: { id } } }));
    return { draft: draftOf(campaign), was: campaign };
  }, [id]);
  return (
    <Page title={id ? t().editCampaign : t().newCampaign} lead={t().editLead}>
      <Loaded of={of}>{({ draft, was }) => <Form key={id ?? ''} id={id} start={draft} was={was} />}</Loaded>
    </Page>
  );
}

interface Finding { violations: Violation[]; problem: string; field?: string }

/** What the policy and the limits say of a draft, a moment after the last key. */
function useCheck(d: Draft, was?: Dates): Finding {
  const [finding, set] = useState<Finding>({ violations: [], problem: '' });
  const text = JSON.stringify(fields(d, was));
  useEffect(() => {
    if (!d.headline.trim() || !d.cta_url.trim()) return set({ violations: [], problem: '' });
    let current = true;
    const timer = setTimeout(() => {
      need(api.POST('/api/campaigns/check', { body: fields(d, was) })).then(
        (r) => { if (current) set({ violations: r.policy.violations ?? [], problem: '' }); },
        (e) => { if (current) set({ violations: [], problem: e instanceof ApiError ? words(e) : String(e), field: e?.field }); });
    }, 400);
    return () => { current = false; clearTimeout(timer); };
  }, [text]);
  return finding;
}

function Form({ id, start, was }: { id?: string; start: Draft; was?: Dates }) {
  const { route } = useLocation();
  const [d, setDraft] = useState(start);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [key] = useState(() => crypto.randomUUID());
  const finding = useCheck(d, was);
  const wrong = problem?.field ?? finding.field;
  const text = (name: keyof Draft, label: string, more: Record<string, unknown> = {}) => {
    const found = finding.violations.filter((v) => v.field === name);
    const bad = wrong === name || found.length > 0;
    return (
      <label>{label}
        <input name={name} value={d[name]} aria-invalid={bad || undefined} aria-describedby={found.length ? `${name}-found` : undefined}
          onInput={(e) => { const typed = e.currentTarget.value; setDraft((before) => ({ ...before, [name]: typed })); }} {...more} />
        {found.length > 0 && <span class="problem" id={`${name}-found`}>{found.map((v) => v.message).join(' ')}</span>}
      </label>);
  };
  const choice = <K extends 'billing_model' | 'billing_event' | 'pacing' | 'aim'>(name: K, label: string, options: Record<string, string>) => (
    <label>{label}<select name={name} value={d[name]} onChange={(e) => { const chosen = e.currentTarget.value; setDraft((before) => ({ ...before, [name]: chosen })); }}>{Object.entries(options).map(([v, n]) => <option key={v} value={v}>{n}</option>)}</select></label>);
  const save = async (asDraft: boolean) => {
    setBusy(true);
    setProblem(null);
    try {
      const done = id
        ? await need(api.PATCH('/api/campaigns/{id}', { params: { path: { id } }, body: fields(d, was) }))
        : await need(api.POST('/api/campaigns/create', {
            params: { header: { 'Idempotency-Key': `${key}-${hash(JSON.stringify(fields(d)) + asDraft)}` } },
            body: { ...fields(d), advertiser_id: user.value!.id, ...(asDraft ? { status: 'draft' as const } : {}) },
          }));
      route(`${base}/console/campaigns/${done.campaign.id}`);
    } catch (e) {
      setProblem(e instanceof ApiError ? e : new ApiError(0, 'internal', String(e)));
      setBusy(false);
    }
  };
  const days = micros(d.daily_budget) > 0n ? micros(d.total_budget) / micros(d.daily_budget) : 0n;
  return (
    <div class="editor">
      <form class="stack" onSubmit={(e) => { e.preventDefault(); void save(false); }}>
        <Card title={`1 · ${t().aim}`}>
          <div class="fields">
            {choice('billing_model', t().goal, t().goals)}
            {d.billing_model === 'cpm' && d.aim !== 'target_roas' && choice('aim', t().aim, t().aims)}
            {d.billing_model === 'cpm' && d.aim === 'manual' && choice('billing_event', t().paidEvent, t().paidEvents)}
            {d.billing_model === 'cpm' && d.aim === 'target_cpa' && text('target_cpa', t().targetCPA, { type: 'number', min: 0.01, max: 10000000, step: 'any', required: true, inputMode: 'decimal' })}
          </div>
          {d.billing_model === 'cpm' && d.aim !== 'manual' && <p class="note">{t().aimHelp}</p>}
          {d.billing_model === 'cpm' && d.aim === 'manual' && d.billing_event === 'viewable' && <p class="note">{t().paidEventHelp}</p>}
        </Card>
        <Card title={`2 · ${t().audience}`}>
          <p class="note">{t().audienceHelp}</p>
          <div class="fields">
            {text('tokens', t().words, { placeholder: t().wordsExample })}
            {text('tools', t().tools)}
            {text('hosts', t().hosts)}
            {text('regions', t().regions, { placeholder: 'us, de' })}
            {text('languages', t().languages, { placeholder: 'en, de' })}
          </div>
        </Card>
        <Card title={`3 · ${t().creative}`}>
          <div class="fields">
            {text('headline', t().headline, { required: true, maxLength: 60 })}
            {text('subtext', t().subtext, { maxLength: 280 })}
            {text('cta_url', t().landingPage, { required: true, type: 'url', placeholder: 'https://' })}
            {text('cta_label', t().button, { maxLength: 40, placeholder: t().learnMore })}
            {text('media_url', t().picture, { type: 'url', placeholder: 'https://' })}
            {text('logo_url', t().logo, { type: 'url', placeholder: 'https://' })}
            {text('categories', t().categories)}
            {text('name', t().ownName, { maxLength: 200 })}
          </div>
        </Card>
        <Card title={`4 · ${t().budgetAndBid}`}>
          <div class="fields">
            {text('bid_amount', t().bids[d.billing_model], { type: 'number', min: 0.01, max: 1000, step: 'any', required: true, inputMode: 'decimal' })}
            {text('daily_budget', t().dailyBudget, { type: 'number', min: 1, max: 1000000, step: 'any', required: true, inputMode: 'decimal' })}
            {text('total_budget', t().totalBudget, { type: 'number', min: 1, max: 10000000, step: 'any', required: true, inputMode: 'decimal' })}
            {choice('pacing', t().pacing, t().pacings)}
            {text('start_at', t().starts, { type: 'datetime-local' })}
            {text('end_at', t().ends, { type: 'datetime-local' })}
            {text('frequency_cap', t().frequencyCap, { type: 'number', min: 0, max: 1000, step: 1, required: true })}
          </div>
          <p class="note">{t().datesHelp}</p>
        </Card>
        <Forecast fields={fields(d, was)} title={`5 · ${t().forecast}`} />
        <Card title={`6 · ${t().summary}`}>
          <p>{t().summaryText(usd(micros(d.daily_budget)), usd(micros(d.total_budget)), Number(days))}</p>
          {finding.problem && <p class="problem" role="status">{finding.problem}</p>}
          {finding.violations.length > 0 && <div class="notice" role="status"><p>{t().willWait}</p><ul>{finding.violations.map((v) => <li key={v.rule + v.field}><b>{v.field}</b>: {v.message}</li>)}</ul></div>}
          {!finding.problem && finding.violations.length === 0 && d.headline && d.cta_url && <p class="good" role="status">{t().policyClean}</p>}
          {problem && <p class="problem" role="alert">{words(problem)}</p>}
          <div class="row">
            <button class="primary" disabled={busy} data-act="save">{id ? t().save : t().create}</button>
            {!id && <button type="button" disabled={busy} onClick={() => void save(true)}>{t().saveDraft}</button>}
            <a class="button" href={id ? `${base}/console/campaigns/${id}` : `${base}/console/campaigns`}>{t().cancel}</a>
          </div>
        </Card>
      </form>
      <aside><Preview ad={d} /></aside>
    </div>
  );
}

/** Tells two drafts apart in a key; nothing is protected by it. */
function hash(text: string): string {
  let h = 5381;
  for (const c of text) h = (Math.imul(h, 33) ^ c.codePointAt(0)!) >>> 0;
  return h.toString(36);
}
