import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso/router';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, t, usd } from '../state';
import { changes, differing, draftOf, fields, type Draft } from '../ui/draft';
import {
  atFields,
  AudienceFields,
  BudgetFields,
  CreativeFields,
  GoalFields,
  Policy,
  refused,
  useCheck,
  type Editor,
  type Finding,
} from '../ui/fields';
import { Forecast } from '../ui/forecast';
import { Loaded, useLoad } from '../ui/load';
import { Card, Page } from '../ui/page';
import { Preview } from '../ui/preview';
import { Versions } from '../ui/versions';

/** The form to edit a campaign. Input is checked and previewed before it is saved. */
export default function Edit() {
  const id = useRoute().params.id!;
  const of = useLoad(
    async () => (await need(api.GET('/api/campaigns/{id}', { params: { path: { id } } }))).campaign,
    [id],
  );
  return (
    <Page title={t().editCampaign} lead={t().editLead}>
      <Loaded of={of}>{(campaign) => <Form key={id} stored={campaign} />}</Loaded>
    </Page>
  );
}

type Campaign = Schemas['Campaign'];

/** Saves the changes of d in was, and again if others changed only what the form does not show. */
async function change(was: Campaign, d: Draft): Promise<void> {
  const from = draftOf(was),
    id = was.id,
    body = changes(d, from, was);
  if (Object.keys(body).length === 0) return;
  try {
    await need(
      api.PATCH('/api/campaigns/{id}', {
        params: { path: { id }, header: { 'If-Match': `"${was.config_version}"` } },
        body,
      }),
    );
  } catch (e) {
    const present = e instanceof ApiError ? e.campaign : undefined;
    if (!present || differing(draftOf(present), from).length > 0) throw e;
    await change(present, d);
  }
}

function Form({ stored }: { stored: Campaign }) {
  const { route } = useLocation();
  const id = stored.id;
  const [was, setWas] = useState(stored);
  const [present, setPresent] = useState<Campaign | null>(null); // as others left it
  const [kept, setKept] = useState(false);
  const [d, setDraft] = useState(() => draftOf(stored));
  const [problem, setProblem] = useState<Finding | null>(null);
  const [busy, setBusy] = useState(false);
  const finding = useCheck(d, was);
  const editor: Editor = {
    d,
    problems: { ...atFields(finding), ...(problem ? atFields(problem) : {}) },
    set: (name, to) => setDraft((before) => ({ ...before, [name]: to })),
  };
  const save = async () => {
    setBusy(true);
    setProblem(null);
    setPresent(null);
    setKept(false);
    try {
      await change(was, d);
      route(`${base}/console/campaigns/${id}`);
    } catch (e) {
      if (e instanceof ApiError && e.campaign) setPresent(e.campaign);
      else setProblem(refused(e));
      setBusy(false);
    }
  };
  const load = (to: Campaign, draft: Draft, own: boolean) => {
    setDraft(draft);
    setWas(to);
    setPresent(null);
    setKept(own);
  };
  const days = micros(d.daily_budget) > 0n ? micros(d.total_budget) / micros(d.daily_budget) : 0n;
  return (
    <div class="editor">
      <form
        class="stack"
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        <Card title={`1 · ${t().aim}`}>
          <GoalFields of={editor} />
        </Card>
        <Card title={`2 · ${t().audience}`}>
          <AudienceFields of={editor} />
        </Card>
        <Card title={`3 · ${t().creative}`}>
          <CreativeFields of={editor} />
        </Card>
        <Card title={`4 · ${t().budgetAndBid}`}>
          <BudgetFields of={editor} />
        </Card>
        <Forecast fields={fields(d, was)} title={`5 · ${t().forecast}`} />
        <Card title={`6 · ${t().summary}`}>
          <p>
            {t().summaryText(
              usd(micros(d.daily_budget)),
              usd(micros(d.total_budget)),
              Number(days),
            )}
          </p>
          <Policy finding={finding} ready={!!d.headline && !!d.cta_url} />
          {problem && (
            <p class="problem" role="alert">
              {problem.problem}
            </p>
          )}
          {present && (
            <Versions
              key={present.config_version}
              from={draftOf(was)}
              mine={d}
              present={draftOf(present)}
              onLoad={(to, own) => load(present, to, own)}
            />
          )}
          {kept && (
            <p class="good" role="status">
              {t().staleKept}
            </p>
          )}
          <div class="row">
            <button class="primary" disabled={busy} data-act="save">
              {t().save}
            </button>
            <a class="button" href={`${base}/console/campaigns/${id}`}>
              {t().cancel}
            </a>
          </div>
        </Card>
      </form>
      <aside>
        <Preview ad={d} />
      </aside>
    </div>
  );
}
