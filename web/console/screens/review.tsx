import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { answers, decide, decisions, forget, latest, undo } from '../decided';
import { a } from '../i18n/admin';
import { suits, titles } from '../i18n/suits';
import { base, count, t, time, usd } from '../state';
import { Ask, type Asked } from '../ui/ask';
import { Bulk, useChosen } from '../ui/bulk';
import { useKeys } from '../ui/keys';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page } from '../ui/page';
import { Preview } from '../ui/preview';
import { finding, label } from '../ui/words';

type Campaign = Schemas['Campaign'];
type Reported = Schemas['Reported'];
type Decision = 'approved' | 'rejected';

/**
 * The review queue: each campaign beside its approved version, the policy findings and the readers'
 * reports.
 */
export default function Review() {
  // Loaded together, because a late notice would move the buttons under the pointer.
  const of = useLoad(async () => {
    const sent = decisions().filter((d) => d.state === 'sent');
    const [queue, names] = await Promise.all([
      need(api.GET('/api/campaigns/review_queue', { params: { query: { limit: 50 } } })),
      need(api.GET('/api/admin/users', { params: { query: { state: 'name_waiting', limit: 1 } } })),
    ]);
    return { queue, names, sent };
  }, [answers.value]);
  const listed = of.is === 'loaded' ? of.data.sent : null;
  useEffect(() => {
    if (listed?.length) forget(listed.map((d) => d.key)); // the list is younger than they are
  }, [listed]);
  return (
    <Page title={t().reviewQueue} lead={t().reviewLead}>
      <Loaded of={of}>
        {({ queue: { campaigns, reported, total }, names }) => {
          const open = undecided(campaigns);
          return (
            <>
              <Names waiting={Number(names.total)} />
              {open.length === 0 ? (
                <Empty title={t().nothingWaits}>
                  <p>{t().nothingWaitsHelp}</p>
                </Empty>
              ) : (
                <Queue
                  campaigns={open}
                  reported={new Map(reported.map((r) => [r.campaign_id, r]))}
                  total={total - (campaigns.length - open.length)}
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** The account names in review. Ads show only approved names. */
function Names({ waiting }: { waiting: number }) {
  if (waiting === 0) return null;
  return (
    <p class="notice" data-part="names">
      <a href={`${base}/console/users?state=name_waiting`}>{a().namesWait(waiting)}</a>
    </p>
  );
}

/** The campaigns without a decision, of which each is about one version. */
function undecided(campaigns: Campaign[]): Campaign[] {
  const versions = decisions()
    .filter((d) => d.state !== 'failed' && d.state !== 'left')
    .flatMap((d) => d.calls.map((c) => `${c.id} ${c.config_version}`));
  return campaigns.filter((c) => !versions.includes(`${c.id} ${c.config_version}`));
}

const take = (text: string, campaigns: Campaign[], decision: Decision, notes: string) =>
  decide(
    text,
    campaigns.map((c) => ({ id: c.id, decision, notes, config_version: c.config_version })),
  );
const title = (c: Campaign) => c.name || c.headline;
const findings = (c: Campaign) => c.policy_violations.map(finding).join(' ');

function Queue({
  campaigns,
  reported,
  total,
}: {
  campaigns: Campaign[];
  reported: Map<string, Reported>;
  total: number;
}) {
  const [at, setAt] = useState(campaigns[0]!.id);
  const [asked, ask] = useState<Asked | null>(null);
  const [said, setSaid] = useState('');
  const chosen = useChosen(campaigns);
  const list = useRef<HTMLUListElement>(null),
    moved = useRef(false);
  const i = Math.max(
    0,
    campaigns.findIndex((c) => c.id === at),
  );
  const c = campaigns[i]!;
  const go = (to: number) => {
    moved.current = true;
    setAt(campaigns[Math.max(0, Math.min(campaigns.length - 1, to))]!.id);
  };
  // The focus follows the selected row, even if the focused row has left. It moves before the
  // paint, because later keepFocus would have moved it to the nearest element.
  useLayoutEffect(() => {
    if (asked) return;
    const lost = said !== '' && document.activeElement === document.body;
    if (moved.current || lost) list.current?.querySelector<HTMLElement>('[aria-current]')?.focus();
    moved.current = false;
  });
  useEffect(() => () => document.querySelector('h1')?.focus(), []);
  const decideOne = (decision: Decision, notes: string) => {
    const text = decision === 'approved' ? t().approvedIt(title(c)) : t().rejectedIt(title(c));
    setSaid(text);
    go(i + 1 < campaigns.length ? i + 1 : i - 1);
    take(text, [c], decision, notes);
  };
  const decideChosen = (decision: Decision, notes: string) => {
    const n = chosen.marked.length;
    const text = decision === 'approved' ? a().approvedN(n) : a().rejectedN(n);
    setSaid(text);
    moved.current = true;
    take(text, chosen.marked, decision, notes);
    chosen.clear();
  };
  /** Asks first for the approval of what the policy has held. */
  const sure = (of: Campaign[], question: (held: Campaign[]) => string, act: () => void) => {
    const held = of.filter((c) => c.policy_violations.length > 0);
    if (held.length === 0) return act();
    ask({
      title: question(held),
      help: held.map((c) => `${title(c)}: ${findings(c)}`).join(' · '),
      act: t().approve,
      does: async () => act(),
    });
  };
  const approve = () =>
    sure(
      [c],
      () => a().approveSure(title(c)),
      () => decideOne('approved', ''),
    );
  const approveAll = () =>
    sure(
      chosen.marked,
      (held) => a().approveSureN(held.length),
      () => decideChosen('approved', ''),
    );
  const refuse = (question: string, act: (why: string) => void) =>
    ask({
      title: question,
      label: a().reason,
      act: t().reject,
      danger: true,
      does: async (why) => act(why),
    });
  const reject = () => refuse(a().rejectSure(title(c)), (why) => decideOne('rejected', why));
  const rejectAll = () =>
    refuse(a().rejectSureN(chosen.marked.length), (why) => decideChosen('rejected', why));
  const undoLast = () => {
    const last = latest(),
      id = last && undo(last.key);
    if (!id) return;
    moved.current = true;
    setSaid('');
    setAt(id);
  };
  useKeys(
    { a: approve, r: reject, u: undoLast, j: () => go(i + 1), k: () => go(i - 1) },
    'jk', // held, they go on
  );
  return (
    <>
      {asked && (
        <Ask
          of={asked}
          onClose={() => {
            moved.current = true;
            ask(null);
          }}
        />
      )}
      <Bulk n={chosen.marked.length} said={said}>
        <button
          type="button"
          disabled={!chosen.marked.length}
          data-act="approve-all"
          onClick={approveAll}
        >
          {t().approve}
        </button>
        <button
          type="button"
          class="danger"
          disabled={!chosen.marked.length}
          data-act="reject-all"
          onClick={rejectAll}
        >
          {t().reject}
        </button>
      </Bulk>
      <div class="review">
        <nav class="card queue" aria-label={t().reviewQueue}>
          <p class="note">
            <label>
              <input
                type="checkbox"
                checked={chosen.all}
                onChange={chosen.toggleAll}
                aria-label={t().chooseAll}
              />{' '}
              {t().waiting(total)}
            </label>
          </p>
          <ul ref={list}>
            {campaigns.map((w) => (
              <li key={w.id} data-id={w.id}>
                <input
                  type="checkbox"
                  aria-label={t().choose(title(w))}
                  checked={chosen.has(w.id)}
                  onChange={() => chosen.toggle(w.id)}
                />
                <button
                  type="button"
                  class="link"
                  aria-current={w.id === c.id ? 'true' : undefined}
                  onClick={() => setAt(w.id)}
                >
                  {title(w)}
                  {(w.review_reason === 'bound' || w.review_reason === 'unreviewed') && (
                    <span class="note"> · {a().liveIn[w.review_reason]}</span>
                  )}
                  {reported.has(w.id) && (
                    <span class="note"> · {a().reportsN(reported.get(w.id)!.counted)}</span>
                  )}
                </button>
              </li>
            ))}
          </ul>
        </nav>
        <div class="stack">
          <section class="card" aria-labelledby="reviewed">
            <h2 id="reviewed">
              <a href={`${base}/console/campaigns/${c.id}`}>{title(c)}</a>
            </h2>
            <p class="note">
              {time(c.updated_at)} · {c.advertiser && <bdi>{c.advertiser.name} </bdi>}
              <span class="mono">{c.advertiser_id}</span>
            </p>
            {c.policy_violations.length > 0 ? (
              <ul class="violations">
                {c.policy_violations.map((v) => (
                  <li key={v.rule + v.field}>
                    <b>{label(v.field) ?? v.field}</b> <span class="mono">{v.rule}</span>
                    <p>{finding(v)}</p>
                  </li>
                ))}
              </ul>
            ) : (
              <p>{t().noViolations}</p>
            )}
            {c.delivery_bound && <p data-part="bound">{t().bound[c.delivery_bound.reason]}</p>}
            {c.status === 'active' && c.delivers === 'pages' && (
              <p data-part="reach">{t().reach.pages}</p>
            )}
            <dl class="facts">
              <dt>{label('trades')}</dt>
              <dd data-part="trades">{titles(c.trades, suits().trades)}</dd>
            </dl>
            <Said of={reported.get(c.id)} />
            <div class="row">
              <button
                type="button"
                class="primary"
                data-act="approve"
                aria-keyshortcuts="a"
                onClick={approve}
              >
                {t().approve} <kbd>a</kbd>
              </button>
              <button
                type="button"
                class="danger"
                data-act="reject"
                aria-keyshortcuts="r"
                onClick={reject}
              >
                {t().reject} <kbd>r</kbd>
              </button>
              <span class="note">{t().reviewKeys}</span>
            </div>
          </section>
          <div class="columns">
            <Compare key={c.id} of={c} />
            <Preview ad={c} />
          </div>
        </div>
      </div>
    </>
  );
}

/** The counts of readers' reports about an ad. */
function Said({ of: r }: { of?: Reported }) {
  if (!r) return null;
  return (
    <dl class="facts" data-part="reports">
      <dt>{t().reports}</dt>
      <dd>
        <a href={`${base}/console/reports`}>
          {count(r.counted)} / {count(r.reports)}
        </a>
      </dd>
      <dt>{a().networks}</dt>
      <dd>{count(r.networks)}</dd>
      <dt>{a().publishers}</dt>
      <dd>{count(r.publishers)}</dd>
      <dt>{a().reasons}</dt>
      <dd>
        {Object.entries(r.reasons)
          .map(([name, n]) => `${a().reasonNames[name] ?? name}: ${count(n)}`)
          .join(', ')}
      </dd>
    </dl>
  );
}

// The fields that are always compared. Others appear only if they differ.
const always = [
  'headline',
  'subtext',
  'cta_label',
  'cta_url',
  'media_url',
  'logo_url',
  'target_intent_tokens',
  'target_keywords',
  'trades',
  'bid_amount',
];

/** The approved version beside the version in review. */
function Compare({ of: c }: { of: Campaign }) {
  const of = useLoad(
    () => need(api.GET('/api/admin/campaigns/{id}/approved', { params: { path: { id: c.id } } })),
    [c.id, c.config_version],
  );
  const names: Record<string, string> = {
    headline: t().headline,
    subtext: t().subtext,
    cta_url: t().landingPage,
    target_intent_tokens: t().words,
    bid_amount: t().bid,
  };
  const value = (name: string, v: unknown) =>
    name === 'bid_amount'
      ? usd(v as number)
      : Array.isArray(v)
        ? v.join(', ') || '–'
        : typeof v === 'object' && v
          ? JSON.stringify(v)
          : String(v ?? '') || '–';
  return (
    <section class="card" aria-labelledby="compared">
      <h2 id="compared">{a().compared}</h2>
      <Loaded of={of}>
        {({ approved, differs, whole }) => (
          <>
            <p class="note">
              {approved
                ? a().approvedAt(time(approved.at), approved.by === 'reviewer')
                : whole
                  ? a().noneApproved
                  : a().tooMany}
            </p>
            <div
              class="scroll"
              tabIndex={0}
              role="region"
              aria-label={`${a().before} · ${a().now}`}
            >
              <table class="rows" data-table="compare">
                <thead>
                  <tr>
                    <th scope="col">{a().field}</th>
                    {approved && <th scope="col">{a().before}</th>}
                    <th scope="col">{a().now}</th>
                  </tr>
                </thead>
                <tbody>
                  {[...always, ...differs.filter((d) => !always.includes(d))].map((name) => {
                    const differing = differs.includes(name),
                      now = value(name, c[name as keyof Campaign]);
                    return (
                      <tr key={name} data-field={name} class={differing ? 'differs' : undefined}>
                        <th scope="row">
                          {names[name] ?? <span class="mono">{name}</span>}
                          {differing && <b class="note"> {a().differs}</b>}
                        </th>
                        {approved && (
                          <td class="break">
                            {differing ? (
                              <del>{value(name, approved.fields[name])}</del>
                            ) : (
                              value(name, approved.fields[name])
                            )}
                          </td>
                        )}
                        <td class="break">{differing ? <ins>{now}</ins> : now}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
}
