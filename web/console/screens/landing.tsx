import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { base, info, loadInfo, t, user } from '../state';
import { sideTexts } from '../i18n/side';
import { Icon, Logo, type IconName } from '../ui/icons';
import { Invented } from '../ui/invented';
import { words } from '../ui/load';
import { Preferences } from '../shell';

type Demo = 'advertiser' | 'publisher' | 'admin';
const firstOf: Record<Demo, string> = {
  advertiser: 'overview',
  publisher: 'publisher',
  admin: 'review',
};

/** The landing page, also shown in place of screens that need a session. next is the requested screen. */
export function Landing({ next }: { next?: string }) {
  const { route } = useLocation();
  useEffect(() => {
    document.title = t().landingTitle;
  });
  const demo = (info.value?.demo ?? []) as Demo[];
  const enter = async (to: string) => {
    await loadInfo();
    route(to);
  };
  return (
    <div class="landing">
      <header class="top">
        <span class="brand">
          <Logo />
          <b>adnet</b>
        </span>
        <div class="picks">
          <Preferences />
        </div>
        <Invented />
      </header>
      <main id="main">
        <section class="hero">
          <div>
            <h1>{t().landingHead}</h1>
            <p class="lead">{t().landingLead}</p>
            {demo.length > 0 && (
              <DemoDoors demo={demo} enter={(as) => enter(`${base}/console/${firstOf[as]}`)} />
            )}
            <ul class="points">
              {(
                [
                  ['megaphone', t().landingAdvertiser],
                  ['code', t().landingPublisher],
                  ['shield', t().landingMoney],
                ] as [IconName, string][]
              ).map(([icon, text]) => (
                <li key={icon}>
                  <Icon name={icon} />
                  <span>{text}</span>
                </li>
              ))}
            </ul>
            <p class="docs-links">
              <a href={`${base}/docs`}>{t().apiDocs}</a> ·{' '}
              <a href={`${base}/openapi.json`}>openapi.json</a>
            </p>
          </div>
          {user.value && !next ? (
            <div class="card door">
              <h2>{t().signedInAs}</h2>
              <p class="email">{user.value.email}</p>
              <a class="button primary" href={`${base}/console`}>
                {t().toConsole}
              </a>
            </div>
          ) : (
            <Door asked={next !== undefined} enter={() => enter(next ?? `${base}/console`)} />
          )}
        </section>
      </main>
    </div>
  );
}

function DemoDoors({ demo, enter }: { demo: Demo[]; enter: (as: Demo) => Promise<void> }) {
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const open = async (as: Demo) => {
    setBusy(true);
    try {
      await need(api.POST('/api/auth/demo', { body: { as, cookie: true } }));
      await enter(as);
    } catch (e) {
      setError(words(e));
      setBusy(false);
    }
  };
  const names: Record<Demo, string> = {
    advertiser: t().demoAdvertiser,
    publisher: t().demoPublisher,
    admin: t().demoAdmin,
  };
  return (
    <section class="demo" aria-label={t().demoTitle}>
      <h2>{t().demoTitle}</h2>
      <p class="note">{t().demoHelp}</p>
      <div class="row">
        {demo.map((as) => (
          <button
            key={as}
            type="button"
            class="primary"
            data-demo={as}
            disabled={busy}
            onClick={() => void open(as)}
          >
            {names[as]}
          </button>
        ))}
      </div>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** The token of a mailed link, of which the whole or the token alone was entered. */
function tokenOf(text: string): string {
  return text.trim().replace(/^.*#/, '');
}

const roles = ['advertise', 'publish', 'both'] as const;

/** The role that a form of a registration states. */
const roleOf = (form: HTMLFormElement) => new FormData(form).get('role') as (typeof roles)[number];

/** Asks what an account is for. */
function Roles() {
  return (
    <fieldset class="roles" aria-describedby="role-help">
      <legend>{sideTexts().role}</legend>
      {roles.map((role) => (
        <label key={role} class="check">
          <input type="radio" name="role" value={role} defaultChecked={role === 'both'} />
          {sideTexts().roles[role]}
        </label>
      ))}
      <p class="note" id="role-help">
        {sideTexts().roleHelp}
      </p>
    </fieldset>
  );
}

function Door({ asked, enter }: { asked: boolean; enter: () => Promise<void> }) {
  const [register, setRegister] = useState(false);
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState('');
  const [asksCode, setAsksCode] = useState(false);
  const [asksMailed, setAsksMailed] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const signup = info.value?.signup ?? 'open';
  useLayoutEffect(() => {
    if (asksCode) (form.current?.elements.namedItem('code') as HTMLElement | null)?.focus();
  }, [asksCode]);
  const submit = async (e: Event) => {
    e.preventDefault();
    const field = (name: string) =>
      (form.current!.elements.namedItem(name) as HTMLInputElement | null)?.value ?? '';
    setBusy(true);
    setError('');
    const body = {
      email: field('email'),
      password: field('password'),
      cookie: true,
      ...(field('invite') ? { invite: field('invite') } : {}),
      ...(field('code') ? { code: field('code') } : {}),
      ...(field('mailed') ? { mailed_code: tokenOf(field('mailed')) } : {}),
    };
    try {
      const answer = await need<object>(
        register
          ? api.POST('/api/auth/register', { body: { ...body, role: roleOf(form.current!) } })
          : api.POST('/api/auth/login', { body }),
      );
      if ('verification' in answer) {
        setSent(
          (answer as Schemas['Registering']).delivery === 'log' ? t().linkLogged : t().registerSent,
        );
        return;
      }
      await enter();
    } catch (e) {
      if (e instanceof ApiError && e.code === 'second_factor_required' && !asksCode)
        setAsksCode(true);
      else setError(words(e));
      if (e instanceof ApiError && e.field === 'mailed_code') setAsksMailed(true);
      setBusy(false);
    }
  };
  return (
    <section class="card door" aria-labelledby="door">
      <h2 id="door">{register ? t().register : t().signIn}</h2>
      {asked && <p class="note">{t().signInFirst}</p>}
      {info.value && !info.value.console_address && (
        <p class="problem" role="alert">
          {t().wrongAddress} <a href={info.value.base_url}>{info.value.base_url}</a>
        </p>
      )}
      {sent && (
        <p class="good" role="status">
          {sent}
        </p>
      )}
      {!sent && (
        <form ref={form} onSubmit={submit}>
          <label>
            {t().email}
            <input name="email" type="email" required autocomplete="username" maxLength={254} />
          </label>
          <label>
            {t().password}
            <input
              name="password"
              type="password"
              required
              minLength={register ? 12 : undefined}
              maxLength={256}
              autocomplete={register ? 'new-password' : 'current-password'}
              aria-describedby={register ? 'password-help' : undefined}
            />
          </label>
          {register && (
            <p class="note" id="password-help">
              {t().passwordHelp}
            </p>
          )}
          {register && <Roles />}
          {register && signup === 'invite' && (
            <label>
              {t().invite}
              <input name="invite" required autocomplete="off" />
            </label>
          )}
          {asksCode && !register && (
            <label>
              {t().factorCode}
              <input
                name="code"
                required
                maxLength={64}
                autocomplete="one-time-code"
                aria-describedby="code-help"
              />
            </label>
          )}
          {asksCode && !register && (
            <p class="note" id="code-help" role="status">
              {t().factorAsked}
            </p>
          )}
          {asksMailed && !register && (
            <label>
              {t().mailedCode}
              <input
                name="mailed"
                maxLength={500}
                autocomplete="off"
                aria-describedby="mailed-help"
              />
            </label>
          )}
          {asksMailed && !register && (
            <p class="note" id="mailed-help" role="status">
              {t().mailedAsked}
            </p>
          )}
          {error && (
            <p class="problem" role="alert">
              {error}
            </p>
          )}
          <button class="primary" disabled={busy}>
            {register ? t().register : t().signIn}
          </button>
          {!register && (
            <p>
              <a href={`${base}/console/forgot`}>{t().forgot}</a>
            </p>
          )}
        </form>
      )}
      {signup !== 'closed' || register ? (
        <p>
          <button
            type="button"
            class="link"
            onClick={() => {
              setRegister(!register);
              setError('');
            }}
          >
            {register ? t().haveAccount : t().noAccount}
          </button>
        </p>
      ) : (
        <p class="note">{t().signupClosed}</p>
      )}
    </section>
  );
}
