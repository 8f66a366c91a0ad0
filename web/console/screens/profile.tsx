import { useState } from 'preact/hooks';
import { api, ApiError, save, need, type Schemas } from '../../shared/api';
import { sideTexts } from '../i18n/side';
import { base, count, loadInfo, t, usd, user } from '../state';
import { Loaded, useLoad, words } from '../ui/load';
import { Notices } from '../ui/notices';
import { Card, Page } from '../ui/page';

/** The names of an account, its stored data, and its deletion. */
export default function ProfileScreen() {
  const of = useLoad(() => need(api.GET('/api/account/profile')), []);
  return (
    <Page title={t().profile} lead={t().profileLead}>
      <Loaded of={of}>
        {(p) => (
          <>
            <Names start={p} />
            <Notices />
            <div class="columns">
              <Download />
              <Delete />
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Names({ start }: { start: Schemas['Profile'] }) {
  const [d, set] = useState(start);
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState(false);
  const save = async (e: Event) => {
    e.preventDefault();
    setProblem('');
    setDone(false);
    try {
      set(
        await need(
          api.PATCH('/api/account/profile', {
            body: { display_name: d.display_name, company: d.company, side: d.side },
          }),
        ),
      );
      setDone(true);
      if (d.side !== user.value?.side) await loadInfo();
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <Card wide>
      <form class="stack" data-form="profile" onSubmit={save}>
        <p class="note" id="profile-help">
          {t().profileHelp}
        </p>
        <div class="fields">
          <label>
            {t().displayName}
            <input
              name="display_name"
              maxLength={100}
              value={d.display_name}
              autocomplete="name"
              onInput={(e) => {
                const v = e.currentTarget.value;
                set((b) => ({ ...b, display_name: v }));
              }}
            />
          </label>
          <label>
            {t().company}
            <input
              name="company"
              maxLength={100}
              value={d.company}
              autocomplete="organization"
              aria-describedby="profile-help"
              onInput={(e) => {
                const v = e.currentTarget.value;
                set((b) => ({ ...b, company: v }));
              }}
            />
          </label>
        </div>
        <label>
          {sideTexts().side}
          <select
            name="side"
            value={d.side}
            onChange={(e) => {
              const side = e.currentTarget.value as typeof d.side;
              set((b) => ({ ...b, side }));
            }}
          >
            {(['advertise', 'publish', 'both'] as const).map((side) => (
              <option key={side} value={side}>
                {sideTexts().roles[side]}
              </option>
            ))}
          </select>
        </label>
        {d.name_state !== 'none' && (
          <p data-name-state={d.name_state}>
            {d.name_state === 'waiting'
              ? t().nameWaits
              : d.name_verified
                ? t().nameVerified
                : t().nameApproved}
          </p>
        )}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {done && (
          <p class="good" role="status">
            {t().profileSaved}
          </p>
        )}
        <div class="row">
          <button class="primary">{t().save}</button>
        </div>
      </form>
    </Card>
  );
}

function Download() {
  const [problem, setProblem] = useState('');
  const get = async () => {
    try {
      await save('/api/account/export', 'adnet-account.json');
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <Card title={t().myData}>
      <p>{t().myDataHelp}</p>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="row">
        <button type="button" onClick={() => void get()}>
          {t().downloadData}
        </button>
      </div>
    </Card>
  );
}

function Delete() {
  const of = useLoad(
    () =>
      need(
        api.GET('/api/billing/balance', { params: { query: { advertiser_id: user.value!.id } } }),
      ),
    [],
  );
  return (
    <Loaded of={of}>
      {(b) => (
        <DeleteForm
          usdLeft={Math.max(0, b.balance ?? 0)}
          credits={Math.max(0, b.credits)}
          reload={of.reload}
        />
      )}
    </Loaded>
  );
}

/** Deletes only with the displayed balance. A balance that changed meanwhile is shown again. */
function DeleteForm({
  usdLeft,
  credits,
  reload,
}: {
  usdLeft: number;
  credits: number;
  reload: () => void;
}) {
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [problem, setProblem] = useState('');
  const [left, setLeft] = useState<string | null>(null);
  const end = async (e: Event) => {
    e.preventDefault();
    if (!confirm(t().deleteSure)) return;
    try {
      const done = await need(
        api.POST('/api/account/delete', {
          body: {
            password,
            ...(code ? { code } : {}),
            forfeit_usd: usdLeft,
            forfeit_credits: credits,
          },
        }),
      );
      setLeft(usd(done.balance_left_usd));
      setTimeout(() => location.assign(base + '/'), 3000);
    } catch (e) {
      setProblem(words(e));
      if (e instanceof ApiError && e.status === 409) reload();
    }
  };
  const loses = usdLeft > 0 || credits > 0;
  return (
    <Card title={t().deleteAccount}>
      {left !== null ? (
        <p class="good" role="status">
          {t().deleted(left)}
        </p>
      ) : (
        <form class="stack" data-form="delete" onSubmit={end}>
          <p>{t().deleteHelp}</p>
          {loses && (
            <label key={`${usdLeft} ${credits}`} class="notice" data-loss>
              <span>
                <input type="checkbox" name="forfeit" required />{' '}
                {t().deleteLoses(usd(usdLeft), count(credits))}
              </span>
            </label>
          )}
          <label>
            {t().password}
            <input
              type="password"
              name="password"
              required
              maxLength={256}
              autocomplete="current-password"
              value={password}
              onInput={(e) => setPassword(e.currentTarget.value)}
            />
          </label>
          <label>
            {t().deleteCode}
            <input
              name="code"
              maxLength={64}
              autocomplete="one-time-code"
              value={code}
              onInput={(e) => setCode(e.currentTarget.value)}
            />
          </label>
          {problem && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <div class="row">
            <button class="danger">{t().deleteAccount}</button>
          </div>
        </form>
      )}
    </Card>
  );
}
