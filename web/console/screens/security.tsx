import { useRef, useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { base, t, time, user } from '../state';
import { SecondFactor } from './factor';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Page } from '../ui/page';

/** The password and the sessions of the account. */
export default function Security() {
  const waits = user.value?.needs_second_factor === true;
  return (
    <Page title={t().security} lead={t().securityLead}>
      {waits ? (
        <>
          <p class="problem" role="alert">
            {t().factorNeeded}
          </p>
          <SecondFactor changed={() => {}} />
        </>
      ) : (
        <Whole />
      )}
    </Page>
  );
}

function Whole() {
  const of = useLoad(() => need(api.GET('/api/account/sessions')), []);
  return (
    <>
      <Password changed={of.reload} />
      <SecondFactor changed={of.reload} />
      <Card title={t().sessions} wide>
        <p class="note">{t().sessionsHelp}</p>
        <Loaded of={of}>
          {({ sessions }) => <Sessions sessions={sessions} reload={of.reload} />}
        </Loaded>
      </Card>
    </>
  );
}

type Session = {
  id: string;
  current: boolean;
  created_at: string;
  expires_at: string;
  network: string;
  agent: string;
  second_factor: boolean;
};

function Sessions({ sessions, reload }: { sessions: Session[]; reload: () => void }) {
  const [problem, setProblem] = useState('');
  const act = (call: () => Promise<unknown>) => async () => {
    try {
      await call();
      setProblem('');
    } catch (e) {
      setProblem(words(e));
    }
    reload();
  };
  if (sessions.length === 0) return <Empty title={t().noSessions} />;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={t().sessions}>
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">{t().sessionAgent}</th>
              <th scope="col">{t().sessionNetwork}</th>
              <th scope="col">{t().since}</th>
              <th scope="col">{t().sessionUntil}</th>
              <th scope="col">
                <span class="hidden">{t().acts}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sessions.map((s) => (
              <tr key={s.id} data-id={s.id}>
                <th scope="row" class="break">
                  {program(s.agent)}
                  {s.current && <b class="note"> · {t().sessionThis}</b>}
                </th>
                <td class="mono">{s.network || '–'}</td>
                <td>{time(s.created_at)}</td>
                <td>{time(s.expires_at)}</td>
                <td class="num">
                  {!s.current && (
                    <button
                      type="button"
                      class="small danger"
                      aria-label={`${t().sessionEnd}: ${program(s.agent)}, ${time(s.created_at)}`}
                      onClick={act(() =>
                        need(
                          api.DELETE('/api/account/sessions/{id}', {
                            params: { path: { id: s.id } },
                          }),
                        ),
                      )}
                    >
                      {t().sessionEnd}
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="row">
        <button
          type="button"
          class="danger"
          data-act="end-others"
          disabled={!sessions.some((s) => !s.current)}
          onClick={act(() =>
            need(api.DELETE('/api/account/sessions', { params: { query: { keep: 'current' } } })),
          )}
        >
          {t().sessionEndOthers}
        </button>
      </div>
    </>
  );
}

/** The name of a browser or program from its user agent. */
function program(agent: string): string {
  const of = agent.match(/(Edg|OPR|Firefox|Chrome|Version(?=.*Safari))\/(\d+)/);
  if (!of) return agent.slice(0, 60) || t().unknown;
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' };
  const system = agent.match(/Windows|Mac OS X|Android|iPhone|iPad|Linux/)?.[0];
  return `${names[of[1]!] ?? of[1]} ${of[2]}${system ? `, ${system}` : ''}`;
}

function Password({ changed }: { changed: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const change = async (e: Event) => {
    e.preventDefault();
    const field = (name: string) => form.current!.elements.namedItem(name) as HTMLInputElement;
    setBusy(true);
    setProblem('');
    setSaid('');
    try {
      const done = await need(
        api.POST('/api/account/password', {
          body: {
            current_password: field('current').value,
            new_password: field('new').value,
            revoke_keys: field('revoke').checked,
          },
        }),
      );
      form.current!.reset();
      setSaid(t().passwordChanged(Number(done.sessions_ended), Number(done.keys_revoked)));
      changed();
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  return (
    <Card title={t().changePassword} wide>
      <form ref={form} class="stack" onSubmit={change} data-form="password">
        <div class="row end">
          <label>
            {t().passwordNow}
            <input
              name="current"
              type="password"
              required
              maxLength={256}
              autocomplete="current-password"
            />
          </label>
          <label>
            {t().passwordNew}
            <input
              name="new"
              type="password"
              required
              minLength={12}
              maxLength={256}
              autocomplete="new-password"
              aria-describedby="new-help"
            />
          </label>
          <button class="primary" disabled={busy}>
            {t().changePassword}
          </button>
        </div>
        <p class="note" id="new-help">
          {t().passwordHelp} {t().passwordEnds}
        </p>
        <label class="pick">
          <input type="checkbox" name="revoke" />{' '}
          <span>
            {t().passwordRevoke} <a href={`${base}/console/keys`}>{t().keys}</a>
          </span>
        </label>
      </form>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <output aria-live="polite" class="good">
        {said}
      </output>
    </Card>
  );
}
