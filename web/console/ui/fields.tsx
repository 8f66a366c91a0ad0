import { useEffect, useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { choices } from '../i18n/choices';
import { suits } from '../i18n/suits';
import { count, t } from '../state';
import { codes, fields, fieldOf, labelOf, type Dates, type Draft, type Problems } from './draft';
import { atField, finding as textOf, words } from './words';

/** A draft under edit and its problems. */
export interface Editor {
  d: Draft;
  set: (name: keyof Draft, to: string) => void;
  problems: Problems;
}

function Text({
  of: { d, set, problems },
  name,
  label,
  ...more
}: { of: Editor; name: keyof Draft; label: string } & Record<string, unknown>) {
  const problem = problems[name];
  return (
    <label>
      {label}
      <input
        name={name}
        value={d[name]}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${name}-found` : undefined}
        onInput={(e) => set(name, e.currentTarget.value)}
        {...more}
      />
      {problem && (
        <span class="problem" id={`${name}-found`}>
          {problem}
        </span>
      )}
    </label>
  );
}

/** A list of texts, one a line. */
function Lines({
  of: { d, set, problems },
  name,
  label,
  placeholder,
}: {
  of: Editor;
  name: 'tokens' | 'tools' | 'hosts' | 'surfaces';
  label: string;
  placeholder: string;
}) {
  const problem = problems[name];
  return (
    <label>
      {label}
      <textarea
        name={name}
        rows={3}
        value={d[name]}
        placeholder={placeholder}
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? `${name}-found` : 'audience-help'}
        onInput={(e) => set(name, e.currentTarget.value)}
      />
      {problem && (
        <span class="problem" id={`${name}-found`}>
          {problem}
        </span>
      )}
    </label>
  );
}

function Choice({
  of: { d, set },
  name,
  label,
  options,
}: {
  of: Editor;
  name: keyof Draft;
  label: string;
  options: Record<string, string>;
}) {
  return (
    <label>
      {label}
      <select name={name} value={d[name]} onChange={(e) => set(name, e.currentTarget.value)}>
        {Object.entries(options).map(([v, n]) => (
          <option key={v} value={v}>
            {n}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A multiple choice from a list of titles. Ids without a title are shown as they are. */
function Some({
  of: { d, set, problems },
  name,
  label,
  options,
  help,
}: {
  of: Editor;
  name: 'trades' | 'sensitive_contexts' | 'exclude_contexts' | 'methods';
  label: string;
  options: Record<string, string>;
  help?: string;
}) {
  const chosen = codes(d[name]),
    problem = problems[name];
  const toggle = (id: string) =>
    set(
      name,
      (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]).join(', '),
    );
  return (
    <fieldset
      class="some"
      aria-invalid={problem ? true : undefined}
      aria-describedby={problem ? `${name}-found` : undefined}
    >
      <legend>{label}</legend>
      {Object.entries(options).map(([id, title]) => (
        <label key={id}>
          <input
            type="checkbox"
            name={name}
            value={id}
            checked={chosen.includes(id)}
            onChange={() => toggle(id)}
          />{' '}
          {title}
        </label>
      ))}
      {help && <p class="note">{help}</p>}
      {problem && (
        <span class="problem" id={`${name}-found`}>
          {problem}
        </span>
      )}
    </fieldset>
  );
}

export function GoalFields({ of }: { of: Editor }) {
  const { d } = of;
  return (
    <>
      <div class="fields">
        <Choice of={of} name="billing_model" label={t().goal} options={t().goals} />
        {d.billing_model === 'cpm' && (
          <Choice of={of} name="aim" label={t().aim} options={t().aims} />
        )}
        {d.billing_model === 'cpm' && d.aim === 'manual' && (
          <Choice of={of} name="billing_event" label={t().paidEvent} options={t().paidEvents} />
        )}
        {d.billing_model === 'cpa' && (
          <Text of={of} name="conversion_type" label={t().paidConversion} maxLength={64} />
        )}
        {d.billing_model === 'cpm' && d.aim === 'target_cpa' && (
          <Text
            of={of}
            name="target_cpa"
            label={t().targetCPA}
            type="number"
            min={0.01}
            max={10000000}
            step="any"
            required
            inputMode="decimal"
          />
        )}
        {d.billing_model === 'cpm' && d.aim === 'target_roas' && (
          <Text
            of={of}
            name="target_roas"
            label={labelOf('target_roas')}
            type="number"
            min={0.000001}
            max={1000000}
            step="any"
            required
            inputMode="decimal"
          />
        )}
      </div>
      {d.billing_model === 'cpm' && d.aim === 'target_roas' && (
        <p class="note">{choices().roasHelp}</p>
      )}
      {d.billing_model === 'cpm' && d.aim !== 'manual' && <p class="note">{t().aimHelp}</p>}
      {d.billing_model === 'cpm' && d.aim === 'manual' && d.billing_event === 'viewable' && (
        <p class="note">{t().paidEventHelp}</p>
      )}
    </>
  );
}

export function AudienceFields({ of }: { of: Editor }) {
  return (
    <>
      <p class="note" id="audience-help">
        {t().audienceHelp}
      </p>
      <div class="fields">
        <Lines of={of} name="tokens" label={t().words} placeholder={t().wordsExample} />
        <Lines of={of} name="tools" label={t().tools} placeholder={'github\ncalendar'} />
        <Lines of={of} name="hosts" label={t().hosts} placeholder={'claude\ndiscord'} />
        <Lines
          of={of}
          name="surfaces"
          label={t().surfacesLabel}
          placeholder={'chat\ntool_result'}
        />
        <Text of={of} name="regions" label={t().regions} placeholder="us, de" />
        <Text of={of} name="languages" label={t().languages} placeholder="en, de" />
        <Choice
          of={of}
          name="targeting"
          label={labelOf('targeting')}
          options={choices().targeting}
        />
        <Text
          of={of}
          name="min_relevance"
          label={labelOf('min_relevance')}
          type="number"
          min={0}
          max={1}
          step="any"
          inputMode="decimal"
        />
      </div>
      <p class="note">{choices().relevanceHelp}</p>
      <Some
        of={of}
        name="methods"
        label={labelOf('methods')}
        options={choices().methods}
        help={choices().methodsHelp}
      />
      <Some
        of={of}
        name="sensitive_contexts"
        label={labelOf('sensitive_contexts')}
        options={suits().subjects}
        help={suits().sensitiveHelp}
      />
      <Some
        of={of}
        name="exclude_contexts"
        label={labelOf('exclude_contexts')}
        options={suits().subjects}
      />
    </>
  );
}

export function CreativeFields({ of }: { of: Editor }) {
  const video = of.d.format === 'video';
  return (
    <>
      <div class="fields">
        <Text of={of} name="headline" label={t().headline} required maxLength={60} />
        <Text of={of} name="subtext" label={t().subtext} maxLength={280} />
        <Text
          of={of}
          name="cta_url"
          label={t().landingPage}
          required
          type="url"
          placeholder="https://"
        />
        <Text
          of={of}
          name="cta_label"
          label={t().button}
          maxLength={40}
          placeholder={t().learnMore}
        />
        <Choice
          of={of}
          name="format"
          label={t().format}
          options={of.d.format === '' ? { '': t().formatOpen, ...t().formats } : t().formats}
        />
        <Text
          of={of}
          name="media_url"
          label={video ? t().film : t().picture}
          type="url"
          placeholder="https://"
          required={video}
        />
        {video && (
          <Text of={of} name="poster_url" label={t().poster} type="url" placeholder="https://" />
        )}
        {video && (
          <Text
            of={of}
            name="skippable_after_sec"
            label={t().skippable}
            type="number"
            min={0}
            max={3600}
            step={1}
            required
          />
        )}
        <Text of={of} name="logo_url" label={t().logo} type="url" placeholder="https://" />
        <Text of={of} name="categories" label={t().categories} />
        <Text of={of} name="name" label={t().ownName} maxLength={200} />
        <Choice of={of} name="click_id" label={labelOf('click_id')} options={choices().clickID} />
      </div>
      <p class="note">{choices().clickIDHelp}</p>
      <Some
        of={of}
        name="trades"
        label={labelOf('trades')}
        options={suits().trades}
        help={suits().restrictedHelp}
      />
    </>
  );
}

/** credits are the Credits available for a new campaign. */
export function BudgetFields({ of, credits = 0 }: { of: Editor; credits?: number }) {
  const money = { type: 'number', step: 'any', required: true, inputMode: 'decimal' };
  return (
    <>
      <div class="fields">
        <Text
          of={of}
          name="bid_amount"
          label={t().bids[of.d.billing_model]}
          min={0.01}
          max={1000}
          {...money}
        />
        <Text
          of={of}
          name="daily_budget"
          label={t().dailyBudget}
          min={1}
          max={1000000}
          {...money}
        />
        <Text
          of={of}
          name="total_budget"
          label={t().totalBudget}
          min={1}
          max={10000000}
          {...money}
        />
        <Choice of={of} name="pacing" label={t().pacing} options={t().pacings} />
        <Text of={of} name="start_at" label={t().starts} type="datetime-local" />
        <Text of={of} name="end_at" label={t().ends} type="datetime-local" />
        <Text
          of={of}
          name="frequency_cap"
          label={t().frequencyCap}
          type="number"
          min={0}
          max={1000}
          step={1}
          required
        />
        {credits > 0 && (
          <Choice
            of={of}
            name="paid_by"
            label={t().paidBy}
            options={{ balance: t().balance, credits: t().paidCredits(count(credits)) }}
          />
        )}
      </div>
      {credits > 0 && of.d.paid_by === 'credits' && <p class="note">{t().paidCreditsHelp}</p>}
      <p class="note">{t().datesHelp}</p>
    </>
  );
}

export interface Finding {
  violations: Schemas['Violation'][];
  problem: string;
  field?: keyof Draft;
}
export const nothing: Finding = { violations: [], problem: '' };

/** Validates a draft with the API without saving it. */
export async function check(d: Draft, was?: Dates): Promise<Finding> {
  try {
    const { policy } = await need(api.POST('/api/campaigns/check', { body: fields(d, was) }));
    return { violations: policy.violations ?? [], problem: '' };
  } catch (e) {
    return refused(e);
  }
}

/** Converts an error of the API to a finding. */
export function refused(e: unknown): Finding {
  return e instanceof ApiError
    ? { violations: [], problem: words(e), field: fieldOf(e.field) }
    : { violations: [], problem: String(e) };
}

/** The findings of the policy and the limits about a draft, shortly after the last key. */
export function useCheck(d: Draft, was?: Dates): Finding {
  const [finding, set] = useState<Finding>(nothing);
  const text = JSON.stringify(fields(d, was));
  useEffect(() => {
    if (!d.headline.trim() || !d.cta_url.trim()) return set(nothing);
    let current = true;
    const timer = setTimeout(
      () =>
        void check(d, was).then((found) => {
          if (current) set(found);
        }),
      400,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  return finding;
}

/** The findings by field. */
export function atFields(finding: Finding): Problems {
  const found: Problems = {};
  for (const v of finding.violations) {
    const name = fieldOf(v.field);
    if (name) found[name] = [found[name], textOf(v)].filter(Boolean).join(' ');
  }
  if (finding.field) found[finding.field] = finding.problem;
  return found;
}

/** The findings for a reviewer, or a note that there are none. */
export function Policy({ finding, ready }: { finding: Finding; ready: boolean }) {
  return (
    <>
      {finding.problem && (
        <p class="problem" role="status">
          {finding.problem}
        </p>
      )}
      {finding.violations.length > 0 && (
        <div class="notice" role="status">
          <p>{t().willWait}</p>
          <ul>
            {finding.violations.map((v) => (
              <li key={v.rule + v.field}>{atField(v)}</li>
            ))}
          </ul>
        </div>
      )}
      {ready && !finding.problem && finding.violations.length === 0 && (
        <p class="good" role="status">
          {t().policyClean}
        </p>
      )}
    </>
  );
}

/** Distinguishes two drafts in a key. It is no protection. */
export function hash(text: string): string {
  let h = 5381;
  for (const c of text) h = (Math.imul(h, 33) ^ c.codePointAt(0)!) >>> 0;
  return h.toString(36);
}
