import type { Schemas } from '../../shared/api';
import { decimal, micros, typedNumber } from '../../shared/money';
import { choices } from '../i18n/choices';
import { t, usd } from '../state';
import { label } from './words';

export type Fields = Schemas['CampaignFields'];
type Aim = Schemas['Campaign']['optimization_goal'];

/** The texts in a campaign form, as typed. */
export interface Draft {
  name: string;
  headline: string;
  subtext: string;
  cta_label: string;
  cta_url: string;
  media_url: string;
  logo_url: string;
  format: '' | Schemas['Format'];
  poster_url: string;
  skippable_after_sec: string;
  billing_model: 'cpm' | 'cpc' | 'cpa';
  billing_event: 'impression' | 'viewable';
  bid_amount: string;
  daily_budget: string;
  total_budget: string;
  pacing: 'even' | 'asap';
  frequency_cap: string;
  tokens: string;
  tools: string;
  hosts: string;
  regions: string;
  languages: string;
  surfaces: string;
  start_at: string;
  end_at: string;
  aim: Aim;
  target_cpa: string;
  target_roas: string;
  targeting: 'broad' | 'exact';
  methods: string;
  min_relevance: string;
  click_id: 'on' | 'off';
  conversion_type: string;
  categories: string;
  exclude_contexts: string;
  sensitive_contexts: string;
  trades: string;
  paid_by: 'balance' | 'credits';
}

export const blank: Draft = {
  name: '',
  headline: '',
  subtext: '',
  cta_label: '',
  cta_url: '',
  media_url: '',
  logo_url: '',
  format: '',
  poster_url: '',
  skippable_after_sec: '3',
  billing_model: 'cpm',
  billing_event: 'impression',
  bid_amount: '5',
  daily_budget: '50',
  total_budget: '1000',
  pacing: 'even',
  frequency_cap: '3',
  tokens: '',
  tools: '',
  hosts: '',
  regions: '',
  languages: '',
  surfaces: '',
  start_at: '',
  end_at: '',
  aim: 'manual',
  target_cpa: '',
  target_roas: '',
  targeting: 'broad',
  methods: '',
  min_relevance: '0',
  click_id: 'on',
  conversion_type: '',
  categories: '',
  exclude_contexts: '',
  sensitive_contexts: '',
  trades: '',
  paid_by: 'balance',
};

/** Fields with a different name in the API. */
const sentAs: Partial<Record<keyof Draft, string>> = {
  tokens: 'target_intent_tokens',
  tools: 'target_active_tools',
  hosts: 'target_host_apps',
  regions: 'target_regions',
  languages: 'target_languages',
  surfaces: 'target_surfaces',
  targeting: 'targeting_mode',
  methods: 'target_integration_methods',
  aim: 'optimization_goal',
  paid_by: 'use_ad_credit',
};
/** The label of a field of the form. */
export const labelOf = (name: keyof Draft): string => label(sentAs[name] ?? name) ?? name;

/** The field of a draft named by an answer of the API, if the form has it. */
export function fieldOf(name: string | undefined): keyof Draft | undefined {
  return (Object.keys(blank) as (keyof Draft)[]).find((key) => (sentAs[key] ?? key) === name);
}

/** Converts a time to the value of a time field, in UTC, and back. */
const typedTime = (at: string | null) => at?.slice(0, 16) ?? '';
const sentTime = (typed: string, was: string | null) =>
  typed === typedTime(was) ? was : typed ? `${typed}:00Z` : null;
/** Stored dates. Seconds, which the form does not show, are preserved. */
export type Dates = Pick<Schemas['Campaign'], 'start_at' | 'end_at'>;
const entries = (text: string, separator: RegExp) =>
  text
    .split(separator)
    .map((w) => w.trim())
    .filter(Boolean);
/** The entries of a list of texts, one a line. A text may contain commas. */
export const lines = (text: string) => entries(text, /\n/);
/** The entries of a list of codes, which contain no commas. */
export const codes = (text: string) => entries(text, /[,\n]/);
const amount = (n: number) => decimal(micros(n)).replace(/\.?0+$/, '');

/** Converts a draft to the fields of the API. */
export function fields(d: Draft, was?: Dates): Fields {
  const given = (text: string) => (text.trim() ? text.trim() : '');
  return {
    ...(d.name.trim() ? { name: d.name.trim() } : {}),
    headline: d.headline,
    subtext: d.subtext,
    ...(d.cta_label.trim() ? { cta_label: d.cta_label } : {}),
    cta_url: given(d.cta_url),
    media_url: given(d.media_url),
    logo_url: given(d.logo_url),
    ...(d.format ? { format: d.format } : {}),
    ...(d.format === 'video'
      ? { poster_url: given(d.poster_url), skippable_after_sec: typedNumber(d.skippable_after_sec) }
      : {}),
    billing_model: d.billing_model,
    billing_event: d.billing_model === 'cpm' && d.aim === 'manual' ? d.billing_event : 'impression',
    bid_amount: typedNumber(d.bid_amount),
    daily_budget: typedNumber(d.daily_budget),
    total_budget: typedNumber(d.total_budget),
    pacing: d.pacing,
    frequency_cap: typedNumber(d.frequency_cap),
    target_intent_tokens: lines(d.tokens),
    target_active_tools: lines(d.tools),
    target_host_apps: lines(d.hosts),
    target_regions: codes(d.regions),
    target_languages: codes(d.languages),
    target_surfaces: lines(d.surfaces),
    start_at: sentTime(d.start_at, was?.start_at ?? null),
    end_at: sentTime(d.end_at, was?.end_at ?? null),
    categories: codes(d.categories),
    exclude_contexts: codes(d.exclude_contexts) as Fields['exclude_contexts'],
    sensitive_contexts: codes(d.sensitive_contexts) as Fields['sensitive_contexts'],
    trades: codes(d.trades) as Fields['trades'],
    optimization_goal: d.billing_model === 'cpm' ? d.aim : 'manual',
    ...(d.target_cpa ? { target_cpa: typedNumber(d.target_cpa) } : {}),
    ...(d.target_roas ? { target_roas: typedNumber(d.target_roas) } : {}),
    targeting_mode: d.targeting,
    target_integration_methods: codes(d.methods) as Fields['target_integration_methods'],
    min_relevance: typedNumber(d.min_relevance || '0'),
    click_id: d.click_id,
    ...(d.billing_model === 'cpa' ? { conversion_type: d.conversion_type } : {}),
  };
}

/** The fields that d changes in from, the draft of a stored campaign. */
export function changes(d: Draft, from: Draft, was: Dates): Fields {
  const before: Record<string, unknown> = fields(from, was),
    now: Record<string, unknown> = fields(d, was);
  const changed = Object.entries(now).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  const all: Record<string, unknown> = Object.fromEntries(changed);
  // An emptied field of these gets its default.
  for (const name of ['name', 'cta_label', 'target_roas'])
    if (name in before && !(name in now)) all[name] = null;
  // The API chooses a bid for another goal unless the bid is sent with it.
  if ('optimization_goal' in all || 'billing_model' in all) all.bid_amount = now.bid_amount;
  return all as Fields;
}

/** The names of the fields in which two drafts differ. */
export const differing = (a: Draft, b: Draft) =>
  (Object.keys(blank) as (keyof Draft)[]).filter((name) => a[name] !== b[name]);

/**
 * The draft of somebody who changed from into d while others changed it into present: present with
 * the fields that differ between from and d.
 */
export function merged(d: Draft, from: Draft, present: Draft): Draft {
  const own = differing(d, from).map((name) => [name, d[name]]);
  return { ...present, ...(Object.fromEntries(own) as Partial<Draft>) };
}

export function draftOf(c: Schemas['Campaign']): Draft {
  return {
    name: c.name,
    headline: c.headline,
    subtext: c.subtext,
    cta_label: c.cta_label,
    cta_url: c.cta_url,
    media_url: c.media_url,
    logo_url: c.logo_url,
    format: c.format,
    poster_url: c.poster_url,
    skippable_after_sec: String(c.skippable_after_sec),
    billing_model: c.billing_model,
    billing_event: c.billing_event,
    bid_amount: amount(c.bid_amount),
    daily_budget: amount(c.daily_budget),
    total_budget: amount(c.total_budget),
    pacing: c.pacing,
    frequency_cap: String(c.frequency_cap),
    tokens: c.target_intent_tokens.join('\n'),
    tools: c.target_active_tools.join('\n'),
    hosts: c.target_host_apps.join('\n'),
    regions: c.target_regions.join(', '),
    languages: c.target_languages.join(', '),
    surfaces: c.target_surfaces.join('\n'),
    start_at: typedTime(c.start_at),
    end_at: typedTime(c.end_at),
    aim: c.optimization_goal,
    target_cpa: micros(c.target_cpa) > 0n ? amount(c.target_cpa) : '',
    target_roas: micros(c.target_roas) > 0n ? amount(c.target_roas!) : '',
    targeting: c.targeting_mode,
    methods: c.target_integration_methods.join(', '),
    min_relevance: amount(c.min_relevance),
    click_id: c.click_id,
    conversion_type: c.conversion_type,
    categories: c.categories.join(', '),
    exclude_contexts: c.exclude_contexts.join(', '),
    sensitive_contexts: c.sensitive_contexts.join(', '),
    trades: c.trades.join(', '),
    paid_by: c.credit_funded ? 'credits' : 'balance',
  };
}

/** The steps of a new campaign in order. */
export const steps = [
  'goal',
  'audience',
  'creative',
  'check',
  'budget',
  'forecast',
  'summary',
] as const;
export type Step = (typeof steps)[number];

/** The fields of each step. */
export const asks: Record<Step, (keyof Draft)[]> = {
  goal: ['billing_model', 'aim', 'billing_event', 'target_cpa', 'target_roas', 'conversion_type'],
  audience: [
    'tokens',
    'tools',
    'hosts',
    'surfaces',
    'regions',
    'languages',
    'targeting',
    'methods',
    'min_relevance',
    'sensitive_contexts',
    'exclude_contexts',
  ],
  creative: [
    'headline',
    'subtext',
    'cta_url',
    'cta_label',
    'format',
    'media_url',
    'poster_url',
    'skippable_after_sec',
    'logo_url',
    'categories',
    'click_id',
    'trades',
    'name',
  ],
  check: [],
  budget: [
    'bid_amount',
    'daily_budget',
    'total_budget',
    'pacing',
    'start_at',
    'end_at',
    'frequency_cap',
    'paid_by',
  ],
  forecast: [],
  summary: [],
};

export type Problems = Partial<Record<keyof Draft, string>>;

/** The problems of a step, as instructions for the user. The API decides in the end. */
export function problemsOf(step: Step, d: Draft): Problems {
  const found: Problems = {};
  const within = (name: keyof Draft, low: number, high: number) => {
    const typed = d[name].trim(),
      n = micros(typed);
    if (!typed || n < micros(low) || n > micros(high))
      found[name] = t().mendAmount(usd(low), usd(high));
  };
  const isFrom = (name: keyof Draft, low: bigint, high: number) => {
    const n = micros(d[name].trim());
    return n >= low && n <= micros(high);
  };
  const whole = (name: keyof Draft, most: number, mend: string) => {
    if (!/^\d{1,4}$/.test(d[name].trim()) || Number(d[name]) > most) found[name] = mend;
  };
  const link = (name: keyof Draft) => {
    if (d[name].trim() && !/^https:\/\/[^\s/]+\.[^\s/]/.test(d[name].trim()))
      found[name] = t().mendLink;
  };
  switch (step) {
    case 'goal':
      if (d.billing_model === 'cpm' && d.aim === 'target_cpa')
        within('target_cpa', 0.01, 10_000_000);
      if (d.billing_model === 'cpm' && d.aim === 'target_roas' && !isFrom('target_roas', 1n, 1e6))
        found.target_roas = choices().mendROAS;
      break;
    case 'audience':
      if (!isFrom('min_relevance', 0n, 1)) found.min_relevance = choices().mendRelevance;
      break;
    case 'creative':
      if (!d.headline.trim()) found.headline = t().mendHeadline;
      if (!d.cta_url.trim()) found.cta_url = t().mendLanding;
      for (const name of ['cta_url', 'media_url', 'logo_url'] as const) link(name);
      if (d.format === 'video') {
        if (!d.media_url.trim()) found.media_url = t().mendVideo;
        link('poster_url');
        whole('skippable_after_sec', 3600, t().mendSkip);
      }
      break;
    case 'budget':
      within('bid_amount', 0.01, 1000);
      within('daily_budget', 1, 1_000_000);
      within('total_budget', 1, 10_000_000);
      whole('frequency_cap', 1000, t().mendCap);
      if (d.start_at && d.end_at && d.end_at <= d.start_at) found.end_at = t().mendEnd;
      else if (d.end_at && d.end_at <= new Date().toISOString().slice(0, 16))
        found.end_at = t().mendPast;
  }
  return found;
}
