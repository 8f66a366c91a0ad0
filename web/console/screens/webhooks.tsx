import { useRef, useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { w } from '../i18n/webhooks';
import { count, t, time } from '../state';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Card, Code, Page } from '../ui/page';
import { words } from '../ui/words';

type Webhook = Schemas['Webhook'];
type Event = Schemas['WebhookEvent'];
type State = Schemas['WebhookDeliveryState'];

/** The names of events. Those of a newer server are shown as they are. */
const titles = (events: Event[]) =>
  events.map((name) => w().events[name] ?? name).join(', ') || w().all;

/** Webhooks: creation, the secret shown once, its replacement, and deliveries with replay. */
export default function Webhooks() {
  const of = useLoad(() => need(api.GET('/api/webhooks')), []);
  const [secret, setSecret] = useState('');
  const [edited, setEdited] = useState<Webhook | null>(null);
  const [watched, setWatched] = useState<Webhook | null>(null);
  const [problem, setProblem] = useState('');
  const shown = useRef<HTMLDialogElement>(null);
  const show = (made: Webhook) => {
    of.reload();
    if (!made.secret) return;
    setSecret(made.secret);
    shown.current?.showModal();
  };
  const act = async (call: () => Promise<unknown>) => {
    setProblem('');
    try {
      await call();
    } catch (e) {
      setProblem(words(e));
    }
    of.reload();
  };
  const at = (h: Webhook) => ({ params: { path: { id: h.id } } });
  const rotate = (h: Webhook) =>
    confirm(w().rotateSure) &&
    void act(async () => show(await need(api.POST('/api/webhooks/{id}/rotate', at(h)))));
  const remove = (h: Webhook) =>
    confirm(w().removeSure(h.url)) &&
    void act(async () => {
      await need(api.DELETE('/api/webhooks/{id}', at(h)));
      if (watched?.id === h.id) setWatched(null);
    });
  const turn = (h: Webhook) =>
    void act(() =>
      need(api.PATCH('/api/webhooks/{id}', { ...at(h), body: { enabled: !h.enabled } })),
    );
  return (
    <Page title={t().webhooks} lead={w().lead}>
      <dialog ref={shown} aria-labelledby="webhook-secret" onClose={() => setSecret('')}>
        <h2 id="webhook-secret">{w().secret}</h2>
        <p>{w().once}</p>
        {secret && <Code text={secret} label={w().secret} />}
        <form method="dialog">
          <button class="primary">{w().kept}</button>
        </form>
      </dialog>
      <Loaded of={of}>
        {({ webhooks, events, limit }) => (
          <>
            <Form
              key={edited?.id ?? 'new'}
              was={edited}
              events={events}
              done={(saved) => {
                setEdited(null);
                if (saved) show(saved);
              }}
            />
            {problem && (
              <p class="problem" role="alert">
                {problem}
              </p>
            )}
            {webhooks.length === 0 ? (
              <Empty title={w().none} />
            ) : (
              webhooks.map((h) => (
                <section class="card" key={h.id} data-id={h.id} aria-label={h.url}>
                  <h2 class="mono">{h.url}</h2>
                  <p>
                    <span class={`status ${h.enabled ? 'active' : 'paused'}`}>
                      {h.enabled ? w().on : w().off}
                    </span>{' '}
                    {h.description && <bdi>{h.description} · </bdi>}
                    {titles(h.events)}
                  </p>
                  {h.former_secret_until && (
                    <p class="note">{w().both(time(h.former_secret_until))}</p>
                  )}
                  <div class="row">
                    <button type="button" data-act="deliveries" onClick={() => setWatched(h)}>
                      {w().deliveries}
                    </button>
                    <button type="button" data-act="edit" onClick={() => setEdited(h)}>
                      {w().edit}
                    </button>
                    <button type="button" data-act="turn" onClick={() => turn(h)}>
                      {h.enabled ? w().turnOff : w().turnOn}
                    </button>
                    <button type="button" data-act="rotate" onClick={() => rotate(h)}>
                      {w().rotate}
                    </button>
                    <button
                      type="button"
                      class="danger"
                      data-act="remove"
                      onClick={() => remove(h)}
                    >
                      {w().remove}
                    </button>
                  </div>
                  {watched?.id === h.id && <Deliveries of={h} />}
                </section>
              ))
            )}
            <p class="note">{w().limit(limit)}</p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The form of a new webhook, or of one that is changed. */
function Form({
  was,
  events,
  done,
}: {
  was: Webhook | null;
  events: Event[];
  done: (saved?: Webhook) => void;
}) {
  const [url, setURL] = useState(was?.url ?? '');
  const [description, setDescription] = useState(was?.description ?? '');
  const [chosen, setChosen] = useState<Event[]>(was?.events ?? []);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const save = async (e: SubmitEvent) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    const body = { url, description, events: chosen };
    try {
      done(
        was
          ? await need(api.PATCH('/api/webhooks/{id}', { params: { path: { id: was.id } }, body }))
          : await need(api.POST('/api/webhooks', { body })),
      );
      if (!was) {
        setURL('');
        setDescription('');
        setChosen([]);
      }
    } catch (e) {
      setProblem(words(e));
    }
    setBusy(false);
  };
  const toggle = (name: Event) =>
    setChosen((had) => (had.includes(name) ? had.filter((n) => n !== name) : [...had, name]));
  return (
    <Card title={was ? was.url : w().create} wide>
      <form class="stack" onSubmit={(e) => void save(e)}>
        <div class="fields">
          <label>
            {w().url}
            <input
              name="url"
              type="url"
              required
              maxLength={2048}
              placeholder="https://example.com/adnet"
              value={url}
              onInput={(e) => setURL(e.currentTarget.value)}
            />
          </label>
          <label>
            {w().description}
            <input
              name="description"
              maxLength={200}
              value={description}
              onInput={(e) => setDescription(e.currentTarget.value)}
            />
          </label>
        </div>
        <fieldset class="some">
          <legend>{w().which}</legend>
          {events.map((name) => (
            <label key={name}>
              <input
                type="checkbox"
                name="events"
                value={name}
                checked={chosen.includes(name)}
                onChange={() => toggle(name)}
              />{' '}
              {titles([name])}
            </label>
          ))}
          <p class="note">{w().whichHelp}</p>
        </fieldset>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="row">
          <button class="primary" disabled={busy} data-act="save">
            {was ? t().save : w().add}
          </button>
          {was && (
            <button type="button" onClick={() => done()}>
              {t().cancel}
            </button>
          )}
        </div>
      </form>
    </Card>
  );
}

const pageSize = 20;

/** The deliveries of a webhook. Each that has ended can be sent again. */
function Deliveries({ of: h }: { of: Webhook }) {
  const [state, setState] = useState<State | ''>('');
  const [offset, setOffset] = useState(0);
  const [note, setNote] = useState('');
  const [problem, setProblem] = useState('');
  const of = useLoad(
    () =>
      need(
        api.GET('/api/webhooks/{id}/deliveries', {
          params: {
            path: { id: h.id },
            query: { ...(state && { state }), limit: pageSize, offset },
          },
        }),
      ),
    [h.id, state, offset],
  );
  const replay = async (delivery_id: string) => {
    setNote('');
    setProblem('');
    try {
      await need(
        api.POST('/api/webhooks/{id}/replay', {
          params: { path: { id: h.id } },
          body: { delivery_id },
        }),
      );
      setNote(w().replayed);
    } catch (e) {
      setProblem(words(e));
    }
    of.reload();
  };
  return (
    <div class="stack" data-deliveries="">
      <h3>{w().deliveries}</h3>
      <p class="note">{w().deliveriesHelp}</p>
      <label class="pick">
        <span>{w().state}</span>
        <select
          name="state"
          value={state}
          onChange={(e) => {
            setState(e.currentTarget.value as State | '');
            setOffset(0);
          }}
        >
          <option value="">{w().every}</option>
          {Object.entries(w().states).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {note && (
        <p class="good" role="status">
          {note}
        </p>
      )}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Loaded of={of}>
        {({ deliveries, more }) => (
          <>
            {deliveries.length === 0 && <p>{w().noDeliveries}</p>}
            {deliveries.length > 0 && <Log of={deliveries} replay={replay} />}
            <div class="row">
              {offset > 0 && (
                <button type="button" onClick={() => setOffset(Math.max(offset - pageSize, 0))}>
                  {w().newer}
                </button>
              )}
              {more && (
                <button type="button" onClick={() => setOffset(offset + pageSize)}>
                  {w().older}
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Log({
  of,
  replay,
}: {
  of: Schemas['WebhookDelivery'][];
  replay: (id: string) => Promise<void>;
}) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={w().deliveries}>
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">{w().event}</th>
            <th scope="col">{w().state}</th>
            <th scope="col" class="num">
              {w().attempts}
            </th>
            <th scope="col">{w().result}</th>
            <th scope="col">
              <span class="hidden">{t().acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {of.map((d) => (
            <tr key={d.id} data-delivery={d.id}>
              <th scope="row">
                {titles([d.event])}
                <div class="note">{time(d.created_at)}</div>
                <details>
                  <summary>{w().message}</summary>
                  <Code text={d.payload} label={`webhook-id ${d.id}`} />
                </details>
              </th>
              <td data-state={d.state}>
                {w().states[d.state] ?? d.state}
                {d.next_attempt_at && <div class="note">{w().next(time(d.next_attempt_at))}</div>}
              </td>
              <td class="num">{count(d.attempts)}</td>
              <td>
                {d.status ?? '–'}
                {d.problem && <div class="note">{d.problem}</div>}
              </td>
              <td class="num">
                {d.state !== 'waiting' && (
                  <button
                    type="button"
                    class="small"
                    data-act="replay"
                    aria-label={`${w().replay}: ${titles([d.event])}, ${time(d.created_at)}`}
                    onClick={() => void replay(d.id)}
                  >
                    {w().replay}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
