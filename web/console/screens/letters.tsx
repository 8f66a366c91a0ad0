import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import { ApiError, api, need, type Schemas } from '../../shared/api';
import { s } from '../i18n/system';
import { count, t, time } from '../state';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Code, Page, Pages } from '../ui/page';

type Letter = Schemas['DeadLetter'];
const perPage = 50;

/** The records that could not be decoded: their content, and a way to replay them. */
export default function Letters() {
  const { query, path, route } = useLocation();
  const state = query.state === 'all' ? 'all' : 'open',
    problem = query.problem ?? '',
    offset = Math.max(0, Number(query.offset ?? 0) || 0);
  const of = useLoad(
    () =>
      need(
        api.GET('/api/admin/dead_letters', {
          params: { query: { state, limit: perPage, offset, ...(problem ? { problem } : {}) } },
        }),
      ),
    [state, problem, offset],
  );
  const [shown, show] = useState('');
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries({ offset: undefined, ...changes }))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''), true);
  };
  return (
    <Page title={s().letters} lead={s().lettersLead}>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {s().problem}
          <input
            type="search"
            name="problem"
            maxLength={100}
            value={problem}
            onInput={(e) => set({ problem: e.currentTarget.value })}
          />
        </label>
        <label>
          {s().state}
          <select
            value={state}
            onChange={(e) => set({ state: e.currentTarget.value === 'all' ? 'all' : undefined })}
          >
            <option value="open">{s().openOnes}</option>
            <option value="all">{s().all}</option>
          </select>
        </label>
      </form>
      <Loaded of={of}>
        {({ dead_letters, more }) =>
          dead_letters.length === 0 ? (
            <Empty title={s().noLetters} />
          ) : (
            <>
              <div class="scroll card flush" tabIndex={0} role="region" aria-label={s().letters}>
                <table class="rows">
                  <thead>
                    <tr>
                      <th scope="col">{s().when}</th>
                      <th scope="col">{s().reason}</th>
                      <th scope="col">{s().place}</th>
                      <th scope="col" class="num">
                        {s().bytes}
                      </th>
                      <th scope="col">{s().state}</th>
                      <th scope="col">
                        <span class="hidden">{t().acts}</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {dead_letters.map((l) => (
                      <tr key={l.id} data-id={l.id}>
                        <td>{time(l.at)}</td>
                        <th scope="row" class="break">
                          {l.problem}
                          <br />
                          <span class="note">{l.summary}</span>
                        </th>
                        <td class="mono break">
                          {l.topic} {l.partition}:{l.offset}
                        </td>
                        <td class="num">{count(l.bytes)}</td>
                        <td>
                          <Sent of={l} />
                        </td>
                        <td>
                          <button
                            type="button"
                            class="small"
                            data-act="read"
                            aria-label={`${s().read}: ${l.id}`}
                            onClick={() => show(l.id)}
                          >
                            {s().read}
                          </button>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <Pages
                offset={offset}
                size={perPage}
                more={more}
                onTurn={(to) => set({ offset: String(to) })}
              />
            </>
          )
        }
      </Loaded>
      {shown && <Evidence key={shown} id={shown} onSent={of.reload} />}
    </Page>
  );
}

const Sent = ({ of }: { of: Letter }) => (
  <>
    {of.replayed_at
      ? `${s().sent} ${time(of.replayed_at)}`
      : of.replays > 0
        ? s().begun
        : s().openOnes}
  </>
);

/** The whole content of a dead letter, and its replay. */
function Evidence({ id, onSent }: { id: string; onSent: () => void }) {
  const of = useLoad(
    () => need(api.GET('/api/admin/dead_letters/{id}', { params: { path: { id } } })),
    [id],
  );
  const [said, setSaid] = useState(''),
    [problem, setProblem] = useState(''),
    [busy, setBusy] = useState(false);
  const replay = async (again: boolean) => {
    setBusy(true);
    setSaid('');
    setProblem('');
    try {
      await need(
        api.POST('/api/admin/dead_letters/{id}/replay', {
          params: { path: { id } },
          body: { again },
        }),
      );
      setSaid(s().replayed);
      onSent();
    } catch (e) {
      setProblem(e instanceof ApiError ? words(e) : String(e));
    }
    setBusy(false);
    of.reload();
  };
  return (
    <Card title={s().evidence} wide>
      <Loaded of={of}>
        {({ dead_letter: l }) => (
          <>
            <dl class="facts">
              <dt>{s().place}</dt>
              <dd class="mono">{l.id}</dd>
              <dt>{s().reason}</dt>
              <dd>{l.problem}</dd>
              <dt>{s().state}</dt>
              <dd>
                <Sent of={l} />
                {l.replayed_by && (
                  <>
                    {' '}
                    <span class="mono">{l.replayed_by}</span>
                  </>
                )}
              </dd>
            </dl>
            <h3>{s().fields}</h3>
            {l.decoded ? (
              <Code text={JSON.stringify(l.decoded, null, 2)} label={s().fields} />
            ) : (
              <p>{s().nothingDecoded}</p>
            )}
            <h3>{s().firstBytes}</h3>
            <Code text={hex(l.raw ?? '')} label={s().firstBytes} />
            <p class="note">{s().replayHelp}</p>
            <div class="row">
              <button
                type="button"
                data-act="replay"
                disabled={busy}
                onClick={() => replay(l.replays > 0)}
              >
                {s().replay}
              </button>
              <output aria-live="polite" class="good">
                {said}
              </output>
            </div>
            {problem && (
              <p class="problem" role="alert">
                {problem}
              </p>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** At most 512 bytes as hex, 16 a line. */
function hex(raw: string): string {
  const bytes = [...atob(raw)]
    .slice(0, 512)
    .map((c) => c.charCodeAt(0).toString(16).padStart(2, '0'));
  const lines: string[] = [];
  for (let i = 0; i < bytes.length; i += 16) lines.push(bytes.slice(i, i + 16).join(' '));
  return lines.join('\n') || '–';
}
