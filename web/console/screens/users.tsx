import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need, type Schemas } from '../../shared/api';
import { a } from '../i18n/admin';
import { count, t, time, user } from '../state';
import { Ask, type Asked } from '../ui/ask';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page, Pages } from '../ui/page';
import { finding } from '../ui/words';

type Account = Schemas['Account'];
const perPage = 50;
const roles = ['advertiser', 'admin', 'seat'] as const,
  states = ['working', 'suspended', 'name_waiting'] as const;

/** The accounts of the installation: found, suspended, restored, and given roles. */
export default function Users() {
  const { query, path, route } = useLocation();
  const role = roles.find((r) => r === query.role),
    state = states.find((s) => s === query.state);
  const q = query.q ?? '',
    family = query.family ?? '',
    offset = Math.max(0, Number(query.offset ?? 0) || 0);
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries({ offset: undefined, ...changes }))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''), true);
  };
  const of = useLoad(
    () =>
      need(
        api.GET('/api/admin/users', {
          params: {
            query: {
              limit: perPage,
              offset,
              ...(q ? { q } : {}),
              ...(role ? { role } : {}),
              ...(state ? { state } : {}),
              ...(family ? { family } : {}),
            },
          },
        }),
      ),
    [q, role, state, family, offset],
  );
  const names: Record<string, string> = { ...t().roles, seat: a().seat };
  return (
    <Page title={a().users} lead={t().usersLead}>
      <form class="filters three" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {a().email}
          <input
            type="search"
            name="q"
            maxLength={254}
            value={q}
            onInput={(e) => set({ q: e.currentTarget.value })}
          />
        </label>
        <label>
          {t().role}
          <select value={role ?? ''} onChange={(e) => set({ role: e.currentTarget.value })}>
            <option value="">{a().all}</option>
            {roles.map((r) => (
              <option key={r} value={r}>
                {names[r]}
              </option>
            ))}
          </select>
        </label>
        <label>
          {a().state}
          <select value={state ?? ''} onChange={(e) => set({ state: e.currentTarget.value })}>
            <option value="">{a().all}</option>
            <option value="working">{t().working}</option>
            <option value="suspended">{t().suspended}</option>
            <option value="name_waiting">{a().nameWaiting}</option>
          </select>
        </label>
        {family && (
          <button type="button" data-act="all-families" onClick={() => set({ family: undefined })}>
            {a().family}: {a().all}
          </button>
        )}
      </form>
      <Loaded of={of}>
        {({ users, total }) =>
          users.length === 0 ? (
            <Empty title={t().noUsers} />
          ) : (
            <>
              <Table users={users} names={names} reload={of.reload} />
              <Pages
                offset={offset}
                size={perPage}
                more={offset + perPage < Number(total)}
                onTurn={(to) => set({ offset: String(to) })}
              >
                <span>
                  {t().pageOf(
                    offset / perPage + 1,
                    Math.ceil(Number(total) / perPage),
                    count(total),
                  )}
                </span>
              </Pages>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function Table({
  users,
  names,
  reload,
}: {
  users: Account[];
  names: Record<string, string>;
  reload: () => void;
}) {
  const [asked, ask] = useState<Asked | null>(null);
  const [said, setSaid] = useState('');
  const rule = (u: Account, what: 'suspend' | 'restore') =>
    ask({
      title: what === 'suspend' ? t().suspendSure(u.email) : a().restoreSure(u.email),
      help: what === 'restore' ? a().restoreHelp : undefined,
      label: a().reason,
      act: what === 'suspend' ? t().suspend : t().restore,
      danger: what === 'suspend',
      does: async (reason) => {
        await need(
          api.POST(`/api/admin/users/{id}/${what}`, {
            params: { path: { id: u.id } },
            body: { reason },
          }),
        );
        setSaid(what === 'suspend' ? a().suspendedIt(u.email) : a().restoredIt(u.email));
      },
    });
  const setRole = (u: Account) => {
    const role = u.role === 'admin' ? 'advertiser' : 'admin';
    ask({
      title: a().roleSure(u.email, names[role]!),
      help: a().roleHelp,
      label: a().reason,
      act: role === 'admin' ? a().makeAdmin : a().takeAdmin,
      danger: true,
      does: async (reason) => {
        await need(
          api.POST('/api/admin/users/{id}/role', {
            params: { path: { id: u.id } },
            body: { reason, role },
          }),
        );
        setSaid(a().roledIt(u.email));
      },
    });
  };
  const ruleName = (u: Account, decision: 'approved' | 'rejected') =>
    ask({
      ...(decision === 'approved'
        ? {
            title: a().nameApproveSure(u.name),
            help: a().nameApproveHelp,
            check: a().nameCheck,
            act: a().nameApprove,
          }
        : {
            title: a().nameRejectSure(u.name),
            help: a().nameRejectHelp,
            label: a().reason,
            act: a().nameReject,
            danger: true,
          }),
      does: async (reason, verified) => {
        await need(
          api.POST('/api/admin/users/{id}/name', {
            params: { path: { id: u.id } },
            body: {
              name: u.name,
              decision,
              ...(decision === 'approved' ? { verified } : { reason }),
            },
          }),
        );
        setSaid(decision === 'approved' ? a().nameApproved(u.name) : a().nameRejected(u.name));
      },
    });
  const ruleFamily = (u: Account, decision: 'split' | 'join' | 'automatic') =>
    ask({
      ...{
        split: { title: a().splitSure(u.email), help: a().splitHelp, act: a().split },
        join: { title: a().joinSure(u.email), id: a().joinWith, act: a().join },
        automatic: { title: a().automaticSure(u.email), act: a().automatic },
      }[decision],
      label: a().familyReason,
      does: async (reason, _, other) => {
        await need(
          api.POST('/api/admin/users/{id}/family', {
            params: { path: { id: u.id } },
            body: { decision, reason, ...(decision === 'join' ? { with: other } : {}) },
          }),
        );
        setSaid(a().familyDone(u.email));
      },
    });
  return (
    <>
      {asked && (
        <Ask
          of={asked}
          onClose={(done) => {
            ask(null);
            if (done) reload();
          }}
        />
      )}
      <output aria-live="polite" class="good">
        {said}
      </output>
      <div class="scroll card flush" tabIndex={0} role="region" aria-label={a().users}>
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">
                {t().email}
                <br />
                {a().ids}
              </th>
              <th scope="col">{t().role}</th>
              <th scope="col">{a().state}</th>
              <th scope="col">{a().nameInAds}</th>
              <th scope="col">{a().family}</th>
              <th scope="col">{t().since}</th>
              <th scope="col">
                <span class="hidden">{t().acts}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {users.map((u) => (
              <tr key={u.id} data-id={u.id}>
                <th scope="row" class="who break">
                  {u.email}
                  <br />
                  <span class="note mono">
                    {u.id}
                    <br />
                    {u.developer_id}
                  </span>
                </th>
                <td>{names[u.role]}</td>
                <td>
                  <span class={`status ${u.suspended ? 'rejected' : 'active'}`}>
                    {u.erased ? a().erased : u.suspended ? t().suspended : t().working}
                  </span>
                </td>
                <td>
                  {u.name_state === 'none' ? (
                    '–'
                  ) : (
                    <>
                      <bdi class="break">{u.name}</bdi>
                      <br />
                      <span
                        class={`status ${u.name_state === 'approved' ? 'active' : 'in_review'}`}
                      >
                        {u.name_verified ? a().nameVerified : a().nameStates[u.name_state]}
                      </span>
                      {u.name_findings.length > 0 && (
                        <ul class="problem">
                          {u.name_findings.map((f) => (
                            <li key={f.rule}>{finding(f)}</li>
                          ))}
                        </ul>
                      )}
                      <div class="row">
                        {u.name_state === 'waiting' && (
                          <button
                            type="button"
                            class="small"
                            data-act="name-approve"
                            aria-label={`${a().nameApprove}: ${u.name}`}
                            onClick={() => ruleName(u, 'approved')}
                          >
                            {a().nameApprove}
                          </button>
                        )}
                        <button
                          type="button"
                          class="small danger"
                          data-act="name-reject"
                          aria-label={`${a().nameReject}: ${u.name}`}
                          onClick={() => ruleName(u, 'rejected')}
                        >
                          {a().nameReject}
                        </button>
                      </div>
                    </>
                  )}
                </td>
                <td class="break" data-family={u.family_id}>
                  {[u.family_id, u.bound_to].map(
                    (of, i) =>
                      of && (
                        <div key={of}>
                          {i === 1 && a().boundTo + ' '}
                          <a class="mono note" href={`/console/users?family=${of}`}>
                            {of === u.id ? '–' : of}
                          </a>
                        </div>
                      ),
                  )}
                  {u.role !== 'seat' && (
                    <div class="row">
                      {(['split', 'join', 'automatic'] as const).map((what) => (
                        <button
                          key={what}
                          type="button"
                          class="small"
                          data-act={`family-${what}`}
                          aria-label={`${a()[what]}: ${u.email}`}
                          onClick={() => ruleFamily(u, what)}
                        >
                          {a()[what]}
                        </button>
                      ))}
                    </div>
                  )}
                </td>
                <td>{time(u.created_at)}</td>
                <td class="num">
                  {u.id === user.value?.id
                    ? a().you
                    : !u.erased && (
                        <>
                          {u.suspended ? (
                            <button
                              type="button"
                              class="small"
                              data-act="restore"
                              aria-label={`${t().restore}: ${u.email}`}
                              onClick={() => rule(u, 'restore')}
                            >
                              {t().restore}
                            </button>
                          ) : (
                            <button
                              type="button"
                              class="small danger"
                              data-act="suspend"
                              aria-label={`${t().suspend}: ${u.email}`}
                              onClick={() => rule(u, 'suspend')}
                            >
                              {t().suspend}
                            </button>
                          )}
                          {u.role !== 'seat' && !u.suspended && (
                            <>
                              {' '}
                              <button
                                type="button"
                                class="small"
                                data-act="role"
                                aria-label={
                                  `${u.role === 'admin' ? a().takeAdmin : a().makeAdmin}: ` +
                                  `${u.email}`
                                }
                                onClick={() => setRole(u)}
                              >
                                {u.role === 'admin' ? a().takeAdmin : a().makeAdmin}
                              </button>
                            </>
                          )}
                        </>
                      )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
