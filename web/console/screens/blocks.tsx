import { useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { t } from '../state';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Page } from '../ui/page';

type Name = 'advertisers' | 'domains' | 'categories' | 'words';
const lines = (text: string) => text.split(/[\n,]/).map((l) => l.trim()).filter(Boolean);

/** What a publisher does not show. */
export default function Blocks() {
  const of = useLoad(() => need(api.GET('/api/account/blocks')), []);
  return <Page title={t().blocks} lead={t().blocksLead}><Loaded of={of}>{(b) => <Form start={b} />}</Loaded></Page>;
}

function Form({ start }: { start: Schemas['Blocks'] }) {
  const names: Record<Name, string> = { advertisers: t().blockAdvertisers, domains: t().blockDomains, categories: t().blockCategories, words: t().blockWords };
  const all = Object.keys(names) as Name[];
  const texts = (b: Schemas['Blocks']) => Object.fromEntries(all.map((n) => [n, (b[n] ?? []).join('\n')])) as Record<Name, string>;
  const [typed, setTyped] = useState(texts(start));
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<ApiError | null>(null);
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true); setProblem(null); setSaid('');
    try {
      const body = Object.fromEntries(all.map((n) => [n, lines(typed[n])])) as Record<Name, string[]>;
      setTyped(texts(await need(api.PUT('/api/account/blocks', { body }))));
      setSaid(t().blocksSaved);
    } catch (e) { setProblem(e instanceof ApiError ? e : new ApiError(0, 'internal', String(e))); }
    setBusy(false);
  };
  return (
    <Card wide>
      <form class="stack" data-form="blocks" onSubmit={save}>
        <p class="note" id="blocks-help">{t().blocksHelp}</p>
        <div class="fields">{all.map((n) => (
          <label key={n}>{names[n]}<textarea name={n} rows={6} value={typed[n]} aria-describedby="blocks-help" aria-invalid={problem?.field === n || undefined}
            onInput={(e) => { const text = e.currentTarget.value; setTyped((before) => ({ ...before, [n]: text })); }} /></label>))}</div>
        {problem && <p class="problem" role="alert">{words(problem)}</p>}
        {said && <p class="good" role="status">{said}</p>}
        <div class="row"><button class="primary" disabled={busy}>{t().blocksSave}</button></div>
      </form>
    </Card>
  );
}
