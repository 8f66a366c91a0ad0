import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { r } from '../i18n/refusals';
import { count, date, day, isAdmin, lang, t, time, user } from '../state';
import { CSV } from '../ui/csv';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Page } from '../ui/page';

type Subject = Schemas['Subjects']['subjects'][number];
const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The conversations in which a publisher shows ads, and the counts of refusals. */
export default function Suitability() {
  const { query } = useLocation();
  const other = isAdmin.value && id.test(query.publisher ?? '') ? query.publisher : undefined;
  const who = { developer_id: other ?? user.value!.developer_id },
    since = day(29),
    until = day();
  const of = useLoad(async () => {
    const [{ subjects }, stats, flags, publishing] = await Promise.all([
      need(
        api.GET('/api/suitability/subjects', {
          params: { query: { language: lang.value === 'de' ? 'de' : 'en' } },
        }),
      ),
      need(api.GET('/api/stats/suitability', { params: { query: { ...who, since, until } } })),
      need(api.GET('/api/account/suitability', { params: { query: who } })),
      other ? null : need(api.GET('/api/account/publishing')),
    ]);
    return { subjects, stats, flags, publishing };
  }, [who.developer_id, lang.value]);
  return (
    <Page
      title={t().suitability}
      lead={
        <>
          {r().lead}
          {other && <span class="note mono"> {other}</span>}
        </>
      }
    >
      <Loaded of={of}>
        {({ subjects, stats, flags, publishing }) => (
          <>
            {publishing && (
              <Sensitive
                list={subjects.filter((s) => s.tier === 'sensitive')}
                costs={stats.subjects}
                start={publishing}
              />
            )}
            <Counts
              of={stats}
              path={`/api/stats/suitability?developer_id=${who.developer_id}&since=${since}&until=${until}`}
            />
            <Flags of={flags.unknown_flags} />
            <Card title={r().never} wide>
              <p>{r().neverHelp}</p>
              <dl class="facts" data-part="never">
                {subjects
                  .filter((s) => s.tier === 'never')
                  .map((s) => (
                    <>
                      <dt>{s.title}</dt>
                      <dd>{s.definition}</dd>
                    </>
                  ))}
              </dl>
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The subjects that the publisher may allow, each with the requests it costs. */
function Sensitive({
  list,
  costs,
  start,
}: {
  list: Subject[];
  costs: Schemas['RefusalStats']['subjects'];
  start: Schemas['Publishing'];
}) {
  const [allowed, setAllowed] = useState<string[]>(start.sensitive_contexts ?? []);
  const [remember, setRemember] = useState(start.remember);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<ApiError | null>(null);
  const toggle = (name: string) =>
    setAllowed((before) =>
      before.includes(name) ? before.filter((one) => one !== name) : [...before, name],
    );
  const cost = (n: number | string | undefined) => (typeof n === 'number' ? count(n) : r().few);
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    setSaid('');
    try {
      // Preserves changes of others since the page was loaded.
      const now = await need(api.GET('/api/account/publishing'));
      const kept = await need(
        api.PUT('/api/account/publishing', {
          body: { ...now, sensitive_contexts: allowed as Schemas['SensitiveID'][], remember },
        }),
      );
      setAllowed(kept.sensitive_contexts ?? []);
      setRemember(kept.remember);
      setSaid(r().saved);
    } catch (e) {
      setProblem(e instanceof ApiError ? e : new ApiError(0, 'internal', String(e)));
    }
    setBusy(false);
  };
  return (
    <Card title={r().sensitive} wide>
      <form class="stack" data-form="sensitive" onSubmit={save}>
        <p>{r().sensitiveHelp}</p>
        <ul class="changes">
          {list.map((s) => {
            const of = costs.find((c) => c.id === s.id);
            return (
              <li key={s.id} data-subject={s.id}>
                <label class="check">
                  <input
                    type="checkbox"
                    name="sensitive_contexts"
                    value={s.id}
                    checked={allowed.includes(s.id)}
                    aria-label={r().allow(s.title)}
                    aria-describedby={`${s.id}-is`}
                    onChange={() => toggle(s.id)}
                  />
                  <b>{s.title}</b>
                </label>
                <span class="break" id={`${s.id}-is`}>
                  {s.definition} {r().example}: „{s.example}“
                </span>
                <span class="note">{r().cost(cost(of?.last_7_days), cost(of?.last_30_days))}</span>
              </li>
            );
          })}
        </ul>
        <label class="check">
          <input
            type="checkbox"
            name="remember"
            checked={remember}
            aria-describedby="remember-help"
            onChange={(e) => setRemember(e.currentTarget.checked)}
          />
          {r().remember}
        </label>
        <p class="note" id="remember-help">
          {r().rememberHelp}
        </p>
        {problem && (
          <p class="problem" role="alert">
            {words(problem)}
          </p>
        )}
        {said && (
          <p class="good" role="status">
            {said}
          </p>
        )}
        <div class="row">
          <button class="primary" disabled={busy}>
            {r().save}
          </button>
        </div>
      </form>
    </Card>
  );
}

/** A count as the API tells it. */
const told = (n: number | string) => (typeof n === 'number' ? count(n) : n);

function Counts({ of, path }: { of: Schemas['RefusalStats']; path: string }) {
  const sum = (tier: string) => of.refused.find((one) => one.tier === tier)!;
  return (
    <Card title={r().counts} wide>
      <div class="row spread">
        <p class="note">{r().countsHelp}</p>
        <CSV of={path} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={r().counts}>
        <table class="rows" data-table="refusals">
          <thead>
            <tr>
              <th scope="col">{r().day}</th>
              <th scope="col" class="num">
                {r().requests}
              </th>
              <th scope="col" class="num">
                {r().adults}
              </th>
              <th scope="col" class="num">
                {r().neverTier}
              </th>
              <th scope="col" class="num">
                {r().sensitiveTier}
              </th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">{r().sum}</th>
              <td class="num">{count(of.requests)}</td>
              <td class="num">{count(of.age_adult)}</td>
              {['never', 'sensitive'].map((tier) => (
                <td key={tier} class="num">
                  {count(sum(tier).requests)}
                  <br />
                  <span class="note">{r().below(sum(tier).days_below_10)}</span>
                </td>
              ))}
            </tr>
            {[...of.daily].reverse().map((d) => (
              <tr key={d.date}>
                <th scope="row">{date(d.date)}</th>
                <td class="num">{count(d.requests)}</td>
                <td class="num">{count(d.age_adult)}</td>
                <td class="num">{told(d.never)}</td>
                <td class="num">{told(d.sensitive)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function Flags({ of }: { of: Schemas['SuitabilityFlags']['unknown_flags'] }) {
  return (
    <Card title={r().flags} wide>
      {of.length === 0 ? (
        <p>{r().noFlags}</p>
      ) : (
        <>
          <p>{r().flagsHelp}</p>
          <div class="scroll" tabIndex={0} role="region" aria-label={r().flags}>
            <table class="rows" data-table="flags">
              <thead>
                <tr>
                  <th scope="col">{r().flag}</th>
                  <th scope="col" class="num">
                    {r().times}
                  </th>
                  <th scope="col">{r().last}</th>
                </tr>
              </thead>
              <tbody>
                {of.map((f) => (
                  <tr key={f.name}>
                    <th scope="row" class="mono">
                      {f.name}
                    </th>
                    <td class="num">{count(f.count)}</td>
                    <td>{time(f.last_at)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </Card>
  );
}
