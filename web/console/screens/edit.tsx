import { useState } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { api, need } from '../../shared/api';
import { micros } from '../../shared/money';
import { base, t, usd } from '../state';
import { draftOf, fields, type Dates, type Draft } from '../ui/draft';
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

/** The form to edit a campaign. Input is checked and previewed before it is saved. */
export default function Edit() {
  const id = useRoute().params.id!;
  const of = useLoad(
    async () => (await need(api.GET('/api/campaigns/{id}', { params: { path: { id } } }))).campaign,
    [id],
  );
  return (
    <Page title={t().editCampaign} lead={t().editLead}>
      <Loaded of={of}>
        {(campaign) => <Form key={id} id={id} start={draftOf(campaign)} was={campaign} />}
      </Loaded>
    </Page>
  );
}

function Form({ id, start, was }: { id: string; start: Draft; was: Dates }) {
  const { route } = useLocation();
  const [d, setDraft] = useState(start);
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
    try {
      const { campaign } = await need(
        api.PATCH('/api/campaigns/{id}', { params: { path: { id } }, body: fields(d, was) }),
      );
      route(`${base}/console/campaigns/${campaign.id}`);
    } catch (e) {
      setProblem(refused(e));
      setBusy(false);
    }
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
