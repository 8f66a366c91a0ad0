import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { api, need } from '../../shared/api';
import { base, loadInfo, t } from '../state';
import { words } from '../ui/load';
import { Preferences } from '../shell';
import { Logo } from '../ui/icons';

type What = 'forgot' | 'reset' | 'verify';

/** The screens without a session: a forgotten password, or an opened e-mail link. */
export default function Links({ what }: { what: What }) {
  const { route } = useLocation();
  const [token] = useState(() => location.hash.slice(1));
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [said, setSaid] = useState('');
  const title = { forgot: t().forgotTitle, reset: t().resetTitle, verify: t().verifyTitle }[what];
  useEffect(() => {
    document.title = `${title} · adnet`;
    // removes the token from the history
    if (location.hash) history.replaceState(history.state, '', location.pathname);
  }, [title]);
  const field = (name: string) =>
    (form.current!.elements.namedItem(name) as HTMLInputElement).value;
  const acts: Record<What, () => Promise<void>> = {
    forgot: async () => {
      const sent = await need(api.POST('/api/auth/forgot', { body: { email: field('email') } }));
      setSaid(sent.delivery === 'log' ? t().linkLogged : t().forgotSent);
    },
    reset: async () => {
      await need(
        api.POST('/api/auth/reset', {
          body: {
            token,
            password: field('password'),
            revoke_keys: (form.current!.elements.namedItem('revoke') as HTMLInputElement).checked,
          },
        }),
      );
      setSaid(t().resetDone);
    },
    verify: async () => {
      await need(
        api.POST('/api/auth/verify', {
          body: { token, password: field('password'), cookie: true },
        }),
      );
      await loadInfo();
      route(`${base}/console`);
    },
  };
  const submit = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await acts[what]();
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  return (
    <div class="landing">
      <header class="top">
        <a class="brand" href={`${base}/`}>
          <Logo />
          <b>adnet</b>
        </a>
        <div class="picks">
          <Preferences />
        </div>
      </header>
      <main id="main">
        <section class="card door" aria-labelledby="door">
          <h1 id="door">{title}</h1>
          {said ? (
            <p class="good" role="status">
              {said}
            </p>
          ) : (
            <form ref={form} onSubmit={submit} data-form={what}>
              <p class="note" id="link-help">
                {{ forgot: t().forgotHelp, reset: t().passwordHelp, verify: t().verifyHelp }[what]}
              </p>
              {what === 'forgot' ? (
                <label>
                  {t().email}
                  <input
                    name="email"
                    type="email"
                    required
                    maxLength={254}
                    autocomplete="username"
                  />
                </label>
              ) : (
                <label>
                  {what === 'reset' ? t().passwordNew : t().password}
                  <input
                    name="password"
                    type="password"
                    required
                    minLength={what === 'reset' ? 12 : undefined}
                    maxLength={256}
                    autocomplete={what === 'reset' ? 'new-password' : 'current-password'}
                    aria-describedby="link-help"
                  />
                </label>
              )}
              {what === 'reset' && (
                <label class="pick">
                  <input type="checkbox" name="revoke" /> <span>{t().passwordRevoke}</span>
                </label>
              )}
              {problem && (
                <p class="problem" role="alert">
                  {problem}
                </p>
              )}
              <button class="primary" disabled={busy}>
                {title}
              </button>
            </form>
          )}
          <p>
            <a href={`${base}/`}>{t().signIn}</a>
          </p>
        </section>
      </main>
    </div>
  );
}
