import { useRef, useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { i } from '../i18n/integrate';
import { base, isAdmin, t, time } from '../state';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Code, Page } from '../ui/page';
import { keepKey, place } from '../ui/place';
import { inPage } from '../ui/snippets';

type Kind = Schemas['KeyKind'];
type Key = Schemas['Key'];
type Made = Schemas['NewKey'];

const named = (k: Key) => k.name || k.prefix;

/** API keys: creation, display once, replacement and revocation. */
export default function Keys() {
  const of = useLoad(() => need(api.GET('/api/keys')), []);
  const [made, setMade] = useState<Made | null>(null);
  const [old, setOld] = useState<Key | null>(null);
  const [problem, setProblem] = useState('');
  const shown = useRef<HTMLDialogElement>(null);
  const replacing = useRef<HTMLDialogElement>(null);
  const revoke = async (k: Key) => {
    if (!confirm(t().revokeSure(named(k)))) return;
    try {
      await need(api.DELETE('/api/keys/{id}', { params: { path: { id: k.id } } }));
      setProblem('');
    } catch (e) {
      setProblem(words(e));
    }
    of.reload();
  };
  const show = (key: Made) => {
    if (key.kind === 'publisher' || key.kind === 'browser') keepKey(key.kind, key.key);
    setMade(key);
    of.reload();
    shown.current?.showModal();
  };
  const replace = async (grace: number) => {
    replacing.current?.close();
    try {
      show(
        await need(
          api.POST('/api/keys/{id}/rotate', {
            params: { path: { id: old!.id } },
            body: { grace_seconds: grace },
          }),
        ),
      );
      setProblem('');
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <Page title={t().keys} lead={t().keysLead}>
      <dialog ref={shown} aria-labelledby="new-key" onClose={() => setMade(null)}>
        <h2 id="new-key">{t().keyMade}</h2>
        <p>{t().keyOnce}</p>
        {made && <Code text={made.key} label={t().keyMade} />}
        {made?.kind === 'browser' && (
          <>
            <h3>{t().browserSnippet}</h3>
            <Code text={inPage(place(), made.key)} label={t().browserSnippet} />
          </>
        )}
        {(made?.kind === 'browser' || made?.kind === 'publisher') && (
          <p>
            <a
              href={`${base}/console/integrate?method=${made.kind === 'browser' ? 'js' : 'npm'}`}
              onClick={() => shown.current?.close()}
            >
              {i().show}
            </a>
          </p>
        )}
        <form method="dialog">
          <button class="primary">{t().keyKept}</button>
        </form>
      </dialog>
      <dialog ref={replacing} aria-labelledby="old-key">
        <h2 id="old-key">{t().rotateTitle(old ? named(old) : '')}</h2>
        <p>{t().rotateHelp}</p>
        <Replace replace={replace} cancel={() => replacing.current?.close()} />
      </dialog>
      <NewKey show={show} />
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Loaded of={of}>
        {({ keys }) =>
          keys.length === 0 ? (
            <Empty title={t().noKeys} />
          ) : (
            <div class="scroll card flush" tabIndex={0} role="region" aria-label={t().keys}>
              <table class="rows">
                <thead>
                  <tr>
                    <th scope="col">{t().name}</th>
                    <th scope="col">{t().kind}</th>
                    <th scope="col">{t().prefix}</th>
                    <th scope="col">{t().created}</th>
                    <th scope="col">
                      <span class="hidden">{t().acts}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {keys.map((k) => (
                    <tr key={k.id} data-id={k.id}>
                      <th scope="row">
                        {k.name || '–'}
                        {k.origins?.map((o) => (
                          <div class="note" key={o}>
                            {o}
                          </div>
                        ))}
                        {k.read_by_models && <div class="note">{t().readByModels}</div>}
                      </th>
                      <td>
                        {t().keyKinds[k.kind]}
                        {k.ends_at && <div class="note">{t().endsAt(time(k.ends_at))}</div>}
                      </td>
                      <td class="mono">{k.prefix}…</td>
                      <td>{time(k.created_at)}</td>
                      <td class="num">
                        {!k.ends_at && (
                          <button
                            type="button"
                            class="small"
                            data-act="rotate"
                            aria-label={`${t().rotate}: ${named(k)}`}
                            onClick={() => {
                              setOld(k);
                              replacing.current?.showModal();
                            }}
                          >
                            {t().rotate}
                          </button>
                        )}{' '}
                        <button
                          type="button"
                          class="small danger"
                          data-act="revoke"
                          aria-label={`${t().revoke}: ${named(k)}`}
                          onClick={() => void revoke(k)}
                        >
                          {t().revoke}
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}

/** The grace period of the old key. */
function Replace({
  replace,
  cancel,
}: {
  replace: (grace: number) => Promise<void>;
  cancel: () => void;
}) {
  const [grace, setGrace] = useState(86400);
  return (
    <form
      class="row end"
      onSubmit={(e) => {
        e.preventDefault();
        void replace(grace);
      }}
    >
      <label>
        {t().grace}
        <select
          name="grace"
          value={grace}
          onChange={(e) => setGrace(Number(e.currentTarget.value))}
        >
          {[0, 3600, 86400, 604800, 2592000].map((s) => (
            <option key={s} value={s}>
              {t().graces[s]}
            </option>
          ))}
        </select>
      </label>
      <button class="primary">{t().rotate}</button>
      <button type="button" onClick={cancel}>
        {t().cancel}
      </button>
    </form>
  );
}

function NewKey({ show }: { show: (key: Made) => void }) {
  const kinds: Kind[] = isAdmin.value
    ? ['publisher', 'browser', 'conversion', 'seat']
    : ['publisher', 'browser', 'conversion'];
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>(
    kinds.find((k) => k === new URLSearchParams(location.search).get('kind')) ?? 'publisher',
  );
  const [origins, setOrigins] = useState('');
  const [models, setModels] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const make = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      const made = await need(
        api.POST('/api/keys', {
          body: {
            kind,
            name,
            ...(kind === 'browser' && {
              origins: origins.split(/[\s,]+/).filter(Boolean),
              read_by_models: models,
            }),
          },
        }),
      );
      setName('');
      setOrigins('');
      show(made);
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  return (
    <Card title={t().newKey} wide>
      <form onSubmit={make}>
        <div class="row end">
          <label>
            {t().name}
            <input
              name="name"
              value={name}
              maxLength={100}
              required
              onInput={(e) => setName(e.currentTarget.value)}
            />
          </label>
          <label>
            {t().kind}
            <select
              name="kind"
              value={kind}
              onChange={(e) => setKind(e.currentTarget.value as Kind)}
            >
              {kinds.map((k) => (
                <option key={k} value={k}>
                  {t().keyKinds[k]}
                </option>
              ))}
            </select>
          </label>
          {kind === 'browser' && (
            <label>
              {t().origins}
              <textarea
                name="origins"
                rows={2}
                required
                value={origins}
                aria-describedby="origins-help"
                placeholder="https://app.example.com"
                onInput={(e) => setOrigins(e.currentTarget.value)}
              />
            </label>
          )}
          <button class="primary" disabled={busy}>
            {t().makeKey}
          </button>
        </div>
        {kind === 'browser' && (
          <>
            <p class="note" id="origins-help">
              {t().originsHelp}
            </p>
            <label>
              <input
                type="checkbox"
                name="read_by_models"
                checked={models}
                onChange={(e) => setModels(e.currentTarget.checked)}
              />{' '}
              {t().readByModels}
            </label>
          </>
        )}
      </form>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </Card>
  );
}
