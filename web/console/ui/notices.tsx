import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { n } from '../i18n/notices';
import { t } from '../state';
import { Loaded, useLoad, words } from './load';
import { Card } from './page';

/** The mails that the account gets. */
export function Notices() {
  const of = useLoad(() => need(api.GET('/api/account/notices')), []);
  return <Loaded of={of}>{(start) => <Form start={start} />}</Loaded>;
}

function Form({ start }: { start: Schemas['Notices'] }) {
  const [d, set] = useState(start);
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState(false);
  const send = async (e: Event) => {
    e.preventDefault();
    setProblem('');
    setDone(false);
    try {
      set(
        await need(
          api.PATCH('/api/account/notices', { body: { language: d.language, off: d.off } }),
        ),
      );
      setDone(true);
    } catch (e) {
      setProblem(words(e));
    }
  };
  const turn = (kind: Schemas['NoticeKind'], on: boolean) =>
    set((b) => ({ ...b, off: on ? b.off.filter((k) => k !== kind) : [...b.off, kind] }));
  return (
    <Card title={n().title} wide>
      <form class="stack" data-form="notices" onSubmit={send}>
        <p class="note">{n().help}</p>
        {!d.mails ? <p>{n().unsent}</p> : !d.confirmed && <p>{n().unconfirmed}</p>}
        <div class="stack">
          {d.kinds.map((kind) => (
            <label class="pick" key={kind}>
              <input
                type="checkbox"
                name={kind}
                checked={!d.off.includes(kind)}
                onChange={(e) => turn(kind, e.currentTarget.checked)}
              />{' '}
              <span>{n().kinds[kind] ?? kind}</span>
            </label>
          ))}
        </div>
        <label>
          {n().language}
          <select
            name="mail-language"
            value={d.language}
            onChange={(e) => {
              const language = e.currentTarget.value as Schemas['Notices']['language'];
              set((b) => ({ ...b, language }));
            }}
          >
            <option value="en" lang="en">
              English
            </option>
            <option value="de" lang="de">
              Deutsch
            </option>
          </select>
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        {done && (
          <p class="good" role="status">
            {n().saved}
          </p>
        )}
        <div class="row">
          <button class="primary">{t().save}</button>
        </div>
      </form>
    </Card>
  );
}
