import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, t, usd, user } from '../state';
import {
  asks,
  blank,
  fields,
  lines,
  problemsOf,
  steps,
  type Draft,
  type Problems,
  type Step,
} from '../ui/draft';
import {
  atFields,
  AudienceFields,
  BudgetFields,
  check,
  CreativeFields,
  GoalFields,
  hash,
  nothing,
  Policy,
  refused,
  type Editor,
  type Finding,
} from '../ui/fields';
import { Forecast } from '../ui/forecast';
import { Funds } from '../ui/funds';
import { useLoad } from '../ui/load';
import { Page } from '../ui/page';
import { Preview } from '../ui/preview';

/** The storage key of this tab's draft, which survives navigation and reloads. */
const kept = () => `adnet.draft.${user.value!.id}`;

function begun(): Draft {
  try {
    return { ...blank, ...JSON.parse(sessionStorage.getItem(kept()) ?? '{}') };
  } catch {
    return blank;
  }
}
function keep(d: Draft | null) {
  try {
    if (d) sessionStorage.setItem(kept(), JSON.stringify(d));
    else sessionStorage.removeItem(kept());
  } catch {
    /* the draft lasts for this page */
  }
}

/** The first incomplete step up to the requested one. Later steps cannot be reached. */
function reached(wanted: Step, d: Draft): Step {
  const at = steps.indexOf(wanted);
  return steps.slice(0, at).find((s) => Object.keys(problemsOf(s, d)).length > 0) ?? wanted;
}

/**
 * A new campaign, step by step. Each step has an address, lists its problems, and preserves its
 * input.
 */
export default function Wizard() {
  const { query, route } = useLocation();
  const [d, setDraft] = useState(begun);
  const wanted = steps.find((s) => s === query.step) ?? 'goal';
  const step = reached(wanted, d),
    at = steps.indexOf(step);
  const [problems, setProblems] = useState<Problems>({});
  const [lacks, setLacks] = useState(0); // number of attempts to leave an incomplete step
  const [finding, setFinding] = useState<Finding>(nothing);
  const [busy, setBusy] = useState(false);
  const [key] = useState(() => crypto.randomUUID());
  const purse = useLoad(
    () =>
      need(
        api.GET('/api/billing/balance', { params: { query: { advertiser_id: user.value!.id } } }),
      ),
    [],
  );
  const heading = useRef<HTMLHeadingElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const first = useRef(true);
  const to = (s: Step) => route(`${base}/console/campaigns/new?step=${s}`);

  useEffect(() => {
    keep(d);
  }, [d]);
  // The focus starts at the heading of a step, except for the first, which has the page's title.
  useLayoutEffect(() => {
    setProblems({});
    setFinding(nothing);
    if (first.current) first.current = false;
    else {
      heading.current?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    if (step !== 'check' && step !== 'summary') return;
    let current = true;
    void check(d).then((found) => {
      if (current) setFinding(found);
    });
    return () => {
      current = false;
    };
  }, [step]);
  // The focus moves to the first problem of a step once. It stays while the user corrects it.
  useLayoutEffect(() => {
    if (lacks > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [lacks]);

  const editor: Editor = {
    d,
    problems: { ...atFields(finding), ...problems },
    set: (name, value) => {
      setDraft((before) => ({ ...before, [name]: value }));
      setProblems((before) => ({ ...before, [name]: undefined }));
    },
  };
  /** The API's findings about the fields of this step. */
  const answered = async (): Promise<Problems> => {
    if (step === 'audience') {
      try {
        await need(api.POST('/api/campaigns/forecast', { body: fields(d) }));
      } catch (e) {
        const found = refused(e);
        return found.field && asks.audience.includes(found.field) ? atFields(found) : {};
      }
    }
    if (step === 'creative' || step === 'budget') {
      const found = await check(d);
      return found.field && asks[step].includes(found.field)
        ? atFields({ ...found, violations: [] })
        : {};
    }
    return {};
  };
  const next = async () => {
    let found = problemsOf(step, d);
    if (Object.keys(found).length === 0) {
      setBusy(true);
      found = await answered();
      setBusy(false);
    }
    if (Object.keys(found).length > 0) {
      setProblems(found);
      return setLacks((n) => n + 1);
    }
    to(steps[at + 1]!);
  };
  const save = async (asDraft: boolean) => {
    setBusy(true);
    try {
      const { campaign } = await need(
        api.POST('/api/campaigns/create', {
          params: {
            header: {
              'Idempotency-Key': `${key}-${hash(JSON.stringify(fields(d)) + asDraft + d.paid_by)}`,
            },
          },
          body: {
            ...fields(d),
            advertiser_id: user.value!.id,
            ...(asDraft ? { status: 'draft' as const } : {}),
            ...(d.paid_by === 'credits' ? { use_ad_credit: true } : {}),
          },
        }),
      );
      keep(null);
      route(`${base}/console/campaigns/${campaign.id}`);
    } catch (e) {
      setFinding(refused(e));
      setBusy(false);
    }
  };
  const held = finding.problem !== '' || finding.violations.length > 0;
  return (
    <Page title={t().newCampaign} lead={t().wizardLead}>
      <nav aria-label={t().stepList}>
        <ol class="wizard">
          {steps.map((s, n) => (
            <li key={s}>
              {n < at ? (
                <a href={`${base}/console/campaigns/new?step=${s}`}>{t().stepNames[s]}</a>
              ) : (
                <span aria-current={n === at ? 'step' : undefined}>{t().stepNames[s]}</span>
              )}
            </li>
          ))}
        </ol>
      </nav>
      {step === 'summary' && d.paid_by !== 'credits' && (
        <Funds of={purse} daily={micros(d.daily_budget)} />
      )}
      <div class="editor">
        <form
          class="stack"
          ref={form}
          noValidate
          data-step={step}
          onSubmit={(e) => {
            e.preventDefault();
            void (step === 'summary' ? save(false) : next());
          }}
        >
          <section class="card">
            <h2 ref={heading} tabIndex={-1}>
              {t().stepOf(at + 1, steps.length, t().stepNames[step])}
            </h2>
            {step === 'goal' && <GoalFields of={editor} />}
            {step === 'audience' && <AudienceFields of={editor} />}
            {step === 'creative' && <CreativeFields of={editor} />}
            {step === 'check' && (
              <>
                <p class="note">{t().checkHelp}</p>
                <Policy finding={finding} ready />
                {held && (
                  <p>
                    <a class="button" href={`${base}/console/campaigns/new?step=creative`}>
                      {t().changeCreative}
                    </a>
                  </p>
                )}
              </>
            )}
            {step === 'budget' && (
              <BudgetFields of={editor} credits={purse.is === 'loaded' ? purse.data.credits : 0} />
            )}
            {step === 'forecast' && <Forecast fields={fields(d)} />}
            {step === 'summary' && <Summary d={d} finding={finding} />}
            <div class="row spread">
              {at > 0 ? (
                <button
                  type="button"
                  data-act="back"
                  disabled={busy}
                  onClick={() => to(steps[at - 1]!)}
                >
                  {t().stepBack}
                </button>
              ) : (
                <a class="button" href={`${base}/console/campaigns`}>
                  {t().cancel}
                </a>
              )}
              {step === 'summary' ? (
                <div class="row">
                  <button
                    type="button"
                    disabled={busy}
                    data-act="save-draft"
                    onClick={() => void save(true)}
                  >
                    {t().saveDraft}
                  </button>
                  <button class="primary" disabled={busy} data-act="save">
                    {t().create}
                  </button>
                </div>
              ) : (
                <button class="primary" data-act="next" disabled={busy}>
                  {t().stepNext}
                </button>
              )}
            </div>
          </section>
        </form>
        <aside>
          {step === 'goal' || step === 'audience' || step === 'budget' ? (
            <section class="card">
              <h2>{t().forecast}</h2>
              <Forecast fields={fields(d)} />
            </section>
          ) : (
            <Preview ad={d} />
          )}
        </aside>
      </div>
    </Page>
  );
}

const several = (text: string) => lines(text).join(' · ');

/** The summary of all input before saving. */
function Summary({ d, finding }: { d: Draft; finding: Finding }) {
  const days = micros(d.daily_budget) > 0n ? micros(d.total_budget) / micros(d.daily_budget) : 0n;
  const row = (name: string, value: string) =>
    value && (
      <>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </>
    );
  return (
    <>
      <dl class="facts">
        {row(t().headline, d.headline)}
        {row(t().subtext, d.subtext)}
        {row(t().landingPage, d.cta_url)}
        {row(t().format, d.format && t().formats[d.format])}
        {row(d.format === 'video' ? t().film : t().picture, d.media_url)}
        {row(t().poster, d.format === 'video' ? d.poster_url : '')}
        {row(t().goal, t().goals[d.billing_model])}
        {row(t().bids[d.billing_model], usd(d.bid_amount))}
        {row(t().words, several(d.tokens) || t().everybody)}
        {row(t().tools, several(d.tools))}
        {row(t().hosts, several(d.hosts))}
        {row(t().surfacesLabel, several(d.surfaces))}
        {row(t().regions, d.regions)}
        {row(t().languages, d.languages)}
        {row(t().paidBy, d.paid_by === 'credits' ? t().credits : '')}
        {row(t().pacing, t().pacings[d.pacing])}
        {row(t().starts, d.start_at.replace('T', ' ') || t().atOnce)}
        {row(t().ends, d.end_at.replace('T', ' ') || t().never)}
      </dl>
      <p>
        {t().summaryText(usd(micros(d.daily_budget)), usd(micros(d.total_budget)), Number(days))}
      </p>
      <Policy finding={finding} ready />
    </>
  );
}
