import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { d } from '../i18n/decisions';
import { base, count, isAdmin, t, time, user } from '../state';
import { Ask, type Asked } from '../ui/ask';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page, Pages } from '../ui/page';

type Decision = Schemas['Decision'];
const perPage = 20;

/** The decisions against the owner of the account, and the appeals. */
export default function Decisions() {
  return <Statements />;
}

/** The open appeals of all accounts, for administrators. */
export function Appeals() {
  return <Statements open />;
}

function Statements({ open }: { open?: boolean }) {
  const { query, path, route } = useLocation();
  const offset = Math.max(0, Number(query.offset ?? 0) || 0);
  const whose = open ? { appeal: 'open' as const } : { owner_id: user.value!.id };
  const of = useLoad(
    () =>
      need(api.GET('/api/decisions', { params: { query: { limit: perPage, offset, ...whose } } })),
    [offset, open, user.value?.id],
  );
  const [asked, ask] = useState<Asked | null>(null);
  const [said, setSaid] = useState('');
  const page = (to: number) => route(path + (to > 0 ? `?offset=${to}` : ''));
  return (
    <Page title={open ? d().queue : d().title} lead={open ? d().queueLead : d().lead}>
      {user.value?.suspended && (
        <div class="notice" role="alert">
          <b>{d().suspendedTitle}</b>
          <p>{d().suspendedHelp}</p>
        </div>
      )}
      {asked && (
        <Ask
          of={asked}
          onClose={(done) => {
            ask(null);
            if (done) of.reload();
          }}
        />
      )}
      <output aria-live="polite" class="good">
        {said}
      </output>
      <Loaded of={of}>
        {({ decisions, total }) =>
          decisions.length === 0 ? (
            <Empty title={open ? d().queueNone : d().none}>{!open && <p>{d().noneHelp}</p>}</Empty>
          ) : (
            <>
              {decisions.map((s) => (
                <Statement
                  key={s.id}
                  s={s}
                  open={open}
                  ask={(a, done) =>
                    ask({
                      ...a,
                      does: async (text, checked, id) => {
                        await a.does(text, checked, id);
                        setSaid(done);
                      },
                    })
                  }
                />
              ))}
              {Number(total) > perPage && (
                <Pages
                  offset={offset}
                  size={perPage}
                  more={offset + perPage < Number(total)}
                  onTurn={page}
                >
                  <span>
                    {t().pageOf(
                      offset / perPage + 1,
                      Math.ceil(Number(total) / perPage),
                      count(total),
                    )}
                  </span>
                </Pages>
              )}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function Statement({
  s,
  open,
  ask,
}: {
  s: Decision;
  open?: boolean;
  ask: (a: Asked, done: string) => void;
}) {
  const waiting = s.appeals.find((a) => !a.outcome);
  const answer = (outcome: 'upheld' | 'reversed') =>
    ask(
      {
        title: outcome === 'upheld' ? d().upholdTitle : d().reverseTitle,
        help: outcome === 'reversed' ? d().reverseHelp : undefined,
        label: d().words,
        most: 2000,
        act: outcome === 'upheld' ? d().uphold : d().reverse,
        danger: outcome === 'reversed',
        does: (words) =>
          need(
            api.POST('/api/admin/appeals/{id}', {
              params: { path: { id: waiting!.id } },
              body: { outcome, words },
            }),
          ),
      },
      d().answered,
    );
  const appeal = () =>
    ask(
      {
        title: d().appealTitle,
        help: d().appealHelp,
        label: d().appealLabel,
        act: d().appeal,
        most: 2000,
        does: (text) =>
          need(
            api.POST('/api/decisions/{id}/appeal', {
              params: { path: { id: s.id } },
              body: { text },
            }),
          ),
      },
      d().appealed,
    );
  const mine = s.owner_id === user.value?.id;
  const kind = s.rule === 'sponsor_name' ? 'name' : s.kind;
  return (
    <section class="card" aria-labelledby={s.id} data-decision={s.kind}>
      <h2 id={s.id}>
        {d().kinds[kind]} <span class="note">{time(s.at)}</span>
      </h2>
      <dl class="facts">
        {!mine && (
          <>
            <dt>{d().owner}</dt>
            <dd>
              <a class="mono" href={`${base}/console/users?q=${s.owner_id}`}>
                {s.owner_id}
              </a>
            </dd>
          </>
        )}
        <dt>{d().reason}</dt>
        <dd>{s.reason}</dd>
        <dt>{d().rule}</dt>
        <dd class="mono">{s.rule}</dd>
        <dt>{d().about}</dt>
        <dd>
          {s.target_kind === 'campaign' && !user.value?.suspended ? (
            <a class="mono" href={`${base}/console/campaigns/${s.target_id}`}>
              {s.target_id}
            </a>
          ) : (
            <span class="mono">{s.target_id}</span>
          )}
        </dd>
        <dt>{d().by}</dt>
        <dd>{s.automated ? d().machine : d().person}</dd>
        <dt>{d().effect}</dt>
        <dd>{d().effects[kind]}</dd>
      </dl>
      {s.appeals.length > 0 && (
        <>
          <h3>{d().appeals}</h3>
          <ul class="changes">
            {s.appeals.map((a) => (
              <li key={a.id}>
                <time>{time(a.created_at)}</time>
                <span class="break">{a.text}</span>
                <b>{a.outcome ? d().outcomes[a.outcome] : d().waits}</b>
                {a.words && <span class="break">{a.words}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="row">
        {mine && !waiting && s.appeals.length < 3 && (
          <button type="button" data-act="appeal" onClick={appeal}>
            {d().appeal}
            <span class="hidden">
              : {d().kinds[kind]}, {time(s.at)}
            </span>
          </button>
        )}
        {open && isAdmin.value && waiting && (
          <>
            <button type="button" data-act="uphold" onClick={() => answer('upheld')}>
              {d().uphold}
            </button>
            <button
              type="button"
              class="danger"
              data-act="reverse"
              onClick={() => answer('reversed')}
            >
              {d().reverse}
            </button>
          </>
        )}
      </div>
    </section>
  );
}
