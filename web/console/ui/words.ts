import { ApiError, type Schemas } from '../../shared/api';
import { clock, t } from '../state';

/** The label of a field of the API, as forms show it; undefined for a name that has none. */
export function label(field: string | undefined): string | undefined {
  const m = t();
  const forms: Record<string, string> = {
    name: m.ownName,
    headline: m.headline,
    subtext: m.subtext,
    cta_label: m.button,
    cta_url: m.landingPage,
    media_url: m.picture,
    logo_url: m.logo,
    format: m.format,
    poster_url: m.poster,
    skippable_after_sec: m.skippable,
    billing_model: m.goal,
    billing_event: m.paidEvent,
    bid_amount: m.bid,
    daily_budget: m.dailyBudget,
    total_budget: m.totalBudget,
    pacing: m.pacing,
    frequency_cap: m.frequencyCap,
    target_intent_tokens: m.words,
    target_active_tools: m.tools,
    target_host_apps: m.hosts,
    target_regions: m.regions,
    target_languages: m.languages,
    target_surfaces: m.surfacesLabel,
    start_at: m.starts,
    end_at: m.ends,
    optimization_goal: m.aim,
    target_cpa: m.targetCPA,
    conversion_type: m.paidConversion,
    categories: m.categories,
    use_ad_credit: m.paidBy,
  };
  const found = field === undefined ? undefined : (forms[field] ?? m.fieldNames[field]);
  return found?.split(/[:(,]/)[0]?.trim(); // without its explanation
}

/** A sentence about a field or, without a label, the sentence. */
const about = (field: string | undefined, sentence: string, entry?: number) => {
  const name = label(field);
  if (!name) return sentence;
  return entry === undefined ? `${name}: ${sentence}` : `${name}, ${entry + 1}: ${sentence}`;
};

const verb = /%\.?\d*[a-z]/;
const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The text of a message in the reader's language by the forms of the API, if they have it. */
function translated(message: string): string | undefined {
  for (const [form, text] of Object.entries(t().errors?.forms ?? {})) {
    const found = new RegExp(`^${form.split(verb).map(literal).join('(.+?)')}$`, 's').exec(message);
    if (found)
      return text.replace(/%(\d)/g, (_, n) => {
        const value = found[Number(n)] ?? '';
        return translated(value) ?? value;
      });
  }
}

/** A message in English with the labels of fields in place of their names. */
function labelled(message: string, field: string | undefined): string {
  const begins = /^([a-z_]+)(?:\[(\d+)\])? (.+)$/s.exec(message);
  if (begins && begins[1] === field && label(field))
    return about(field, labelled(begins[3]!, undefined), begins[2] ? Number(begins[2]) : undefined);
  return message.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (name) => label(name) ?? name);
}

/** The message of an error of the API in the reader's language. */
export function sentence(e: { code: string; message: string; field?: string }): string {
  const own = t().errors;
  if (!own) return labelled(e.message, e.field) || t().errorUnknown;
  const whole = translated(e.message);
  if (whole) return whole;
  const begins = /^([a-z_]+)(?:\[(\d+)\])? (.+)$/s.exec(e.message);
  const part = begins && begins[1] === e.field && translated(begins[3]!);
  if (part) return about(e.field, part, begins[2] ? Number(begins[2]) : undefined);
  const code = own.codes[e.code as keyof typeof own.codes] ?? own.codes.internal;
  const known = label(e.field) ? `${label(e.field)}: ${code}.` : `${code}.`;
  return e.code === 'internal' || !e.message ? known : known + own.original(e.message);
}

/** A finding of the policy in the reader's language. Findings of a newer server stay as they are. */
export function finding(v: Schemas['Violation']): string {
  const own = t().errors;
  const text = own?.rules[v.rule];
  if (!own || !text) return labelled(v.message, undefined);
  return own.detailed.includes(v.rule) ? text + own.original(v.message) : text;
}

/** A finding of the policy with the label of its field. */
export const atField = (v: Schemas['Violation']) => about(v.field, finding(v));

/**
 * The message for an error: the API's, or a message of the console if the API did not answer.
 */
export function words(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error);
  if (error.code === 'unreachable') return t().errorUnreachable;
  if (error.status === 403 && !error.message) return t().forbidden;
  if (error.status === 429) {
    const seconds = error.retryAfter ?? 60;
    return t().errorBusy(seconds, clock(error.at + seconds * 1000));
  }
  return sentence(error);
}
