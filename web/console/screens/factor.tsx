import { useRef, useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { loadInfo, t, time } from '../state';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Code } from '../ui/page';

type Begun = Schemas['FactorSecret'];

/** The second factor: set up, new recovery codes, removed. */
export function SecondFactor({ changed }: { changed: () => void }) {
  const of = useLoad(() => need(api.GET('/api/account/second_factor')), []);
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<string[]>([]);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const act = async (call: () => Promise<void>) => {
    setBusy(true);
    setProblem('');
    try {
      await call();
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  const refresh = async () => {
    of.reload();
    await loadInfo();
    changed();
  };
  const begin = (f: Fields) =>
    act(async () =>
      setBegun(
        await need(api.POST('/api/account/second_factor', { body: { password: f('password') } })),
      ),
    );
  const confirm = (f: Fields) =>
    act(async () => {
      const on = await need(
        api.POST('/api/account/second_factor/confirm', { body: { code: f('code') } }),
      );
      setBegun(null);
      setCodes(on.recovery_codes);
      await refresh();
    });
  const renew = (f: Fields) =>
    act(async () => {
      setCodes(
        (
          await need(
            api.POST('/api/account/second_factor/recovery_codes', {
              body: { password: f('password'), code: f('code') },
            }),
          )
        ).recovery_codes,
      );
      of.reload();
    });
  const remove = (f: Fields) =>
    act(async () => {
      await need(
        api.POST('/api/account/second_factor/remove', {
          body: { password: f('password'), code: f('code') },
        }),
      );
      setCodes([]);
      await refresh();
    });
  return (
    <Card title={t().factor} wide>
      <p class="note">{t().factorHelp}</p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {codes.length > 0 && (
        <div class="stack" data-shown="codes">
          <p>{t().recoveryOnce}</p>
          <Code text={codes.join('\n')} label={t().recoveryCodes} />
          <div class="row">
            <button type="button" class="primary" onClick={() => setCodes([])}>
              {t().recoveryKept}
            </button>
          </div>
        </div>
      )}
      <Loaded of={of}>
        {(f) =>
          f.enabled ? (
            <>
              <p class="good">
                {t().factorOn(time(f.since ?? undefined), Number(f.recovery_codes_left))}
              </p>
              <Ask
                name="factor-on"
                fields={['password', 'code']}
                busy={busy}
                acts={[
                  [t().recoveryNew, renew, ''],
                  [t().factorRemove, remove, 'danger'],
                ]}
              />
            </>
          ) : begun ? (
            <div class="row" data-shown="qr">
              <QR rows={begun.qr} />
              <div class="stack">
                <p>{t().factorScan}</p>
                <p class="mono break">{begun.secret}</p>
                <Ask
                  name="factor-confirm"
                  fields={['code']}
                  busy={busy}
                  acts={[[t().factorConfirm, confirm, 'primary']]}
                />
              </div>
            </div>
          ) : (
            <Ask
              name="factor-begin"
              fields={['password']}
              busy={busy}
              acts={[[t().factorBegin, begin, 'primary']]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

type Fields = (name: string) => string;

/** A form for the owner's credentials, with a button for each action. */
function Ask({
  name,
  fields,
  acts,
  busy,
}: {
  name: string;
  fields: ('password' | 'code')[];
  acts: [string, (f: Fields) => Promise<void>, string][];
  busy: boolean;
}) {
  const form = useRef<HTMLFormElement>(null);
  const run = (act: (f: Fields) => Promise<void>) => async () => {
    if (!form.current!.reportValidity()) return;
    await act((field) => (form.current!.elements.namedItem(field) as HTMLInputElement).value);
    form.current?.reset();
  };
  return (
    <form
      ref={form}
      class="row end"
      data-form={name}
      onSubmit={(e) => {
        e.preventDefault();
        void run(acts[0]![1])();
      }}
    >
      {fields.includes('password') && (
        <label>
          {t().passwordNow}
          <input
            name="password"
            type="password"
            required
            maxLength={256}
            autocomplete="current-password"
          />
        </label>
      )}
      {fields.includes('code') && (
        <label>
          {t().factorCode}
          <input
            name="code"
            required
            maxLength={64}
            autocomplete="one-time-code"
            inputMode="text"
          />
        </label>
      )}
      {acts.map(([label, act, kind], i) => (
        <button
          key={label}
          type={i === 0 ? 'submit' : 'button'}
          class={kind}
          disabled={busy}
          onClick={i === 0 ? undefined : run(act)}
        >
          {label}
        </button>
      ))}
    </form>
  );
}

/** A QR code, drawn locally so that the secret is not sent anywhere. */
function QR({ rows }: { rows: string[] }) {
  const n = rows.length,
    quiet = 4;
  const path = rows
    .flatMap((row, y) =>
      [...row].map((c, x) => (c === '1' ? `M${x + quiet} ${y + quiet}h1v1h-1z` : '')),
    )
    .join('');
  return (
    <svg
      class="qr"
      role="img"
      aria-label={t().factorQR}
      viewBox={`0 0 ${n + 2 * quiet} ${n + 2 * quiet}`}
      width="232"
      height="232"
      shape-rendering="crispEdges"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
