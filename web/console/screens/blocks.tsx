import { useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { typedNumber } from '../../shared/money';
import { t } from '../state';
import { codes, lines } from '../ui/draft';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Page } from '../ui/page';

type Name = 'advertisers' | 'domains' | 'categories' | 'words';

/** The blocks of a publisher. */
export default function Blocks() {
  const of = useLoad(() => need(api.GET('/api/account/blocks')), []);
  const floor = useLoad(() => need(api.GET('/api/account/publishing')), []);
  return (
    <Page title={t().blocks} lead={t().blocksLead}>
      <Loaded of={of}>{(b) => <Form start={b} />}</Loaded>
      <Loaded of={floor}>{(p) => <Floor start={p} />}</Loaded>
    </Page>
  );
}

/** The minimum relevance of ads and the use of house ads. */
function Floor({ start }: { start: Schemas['Publishing'] }) {
  const text = (p: Schemas['Publishing']) =>
    p.min_relevance === null ? '' : String(p.min_relevance);
  const [typed, setTyped] = useState(text(start));
  const [house, setHouse] = useState(start.house_ads);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<ApiError | null>(null);
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    setSaid('');
    try {
      const kept = await need(
        api.PUT('/api/account/publishing', {
          body: {
            ...(await need(api.GET('/api/account/publishing'))),
            min_relevance: typed.trim() ? typedNumber(typed) : null,
            house_ads: house,
          },
        }),
      );
      setTyped(text(kept));
      setHouse(kept.house_ads);
      setSaid(t().leastSaved);
    } catch (e) {
      setProblem(e instanceof ApiError ? e : new ApiError(0, 'internal', String(e)));
    }
    setBusy(false);
  };
  return (
    <Card title={t().least}>
      <form class="stack" data-form="floor" onSubmit={save}>
        <p>{t().leastLead}</p>
        <label>
          {t().leastLabel}
          <input
            name="min_relevance"
            type="number"
            min={0}
            max={1}
            step="any"
            inputMode="decimal"
            value={typed}
            aria-describedby="floor-help"
            aria-invalid={problem?.field === 'min_relevance' || undefined}
            onInput={(e) => setTyped(e.currentTarget.value)}
          />
        </label>
        <p class="note" id="floor-help">
          {t().leastHelp}
        </p>
        <label class="check">
          <input
            type="checkbox"
            name="house_ads"
            checked={house}
            aria-describedby="house-help"
            onChange={(e) => setHouse(e.currentTarget.checked)}
          />
          {t().houseAds}
        </label>
        <p class="note" id="house-help">
          {t().houseHelp}
        </p>
        {problem && (
          <p class="problem" role="alert">
            {words(problem)}
          </p>
        )}
        {said && (
          <p class="good" role="status">
            {said}
          </p>
        )}
        <div class="row">
          <button class="primary" disabled={busy}>
            {t().leastSave}
          </button>
        </div>
      </form>
    </Card>
  );
}

function Form({ start }: { start: Schemas['Blocks'] }) {
  const names: Record<Name, string> = {
    advertisers: t().blockAdvertisers,
    domains: t().blockDomains,
    categories: t().blockCategories,
    words: t().blockWords,
  };
  const all = Object.keys(names) as Name[];
  const texts = (b: Schemas['Blocks']) =>
    Object.fromEntries(all.map((n) => [n, (b[n] ?? []).join('\n')])) as Record<Name, string>;
  const [typed, setTyped] = useState(texts(start));
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<ApiError | null>(null);
  const save = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    setSaid('');
    try {
      const body = Object.fromEntries(
        all.map((n) => [n, (n === 'words' ? lines : codes)(typed[n])]),
      ) as Record<Name, string[]>;
      setTyped(texts(await need(api.PUT('/api/account/blocks', { body }))));
      setSaid(t().blocksSaved);
    } catch (e) {
      setProblem(e instanceof ApiError ? e : new ApiError(0, 'internal', String(e)));
    }
    setBusy(false);
  };
  return (
    <Card wide>
      <form class="stack" data-form="blocks" onSubmit={save}>
        <p class="note" id="blocks-help">
          {t().blocksHelp}
        </p>
        <div class="fields">
          {all.map((n) => (
            <label key={n}>
              {names[n]}
              <textarea
                name={n}
                rows={6}
                value={typed[n]}
                aria-describedby="blocks-help"
                aria-invalid={problem?.field === n || undefined}
                onInput={(e) => {
                  const text = e.currentTarget.value;
                  setTyped((before) => ({ ...before, [n]: text }));
                }}
              />
            </label>
          ))}
        </div>
        {problem && (
          <p class="problem" role="alert">
            {words(problem)}
          </p>
        )}
        {said && (
          <p class="good" role="status">
            {said}
          </p>
        )}
        <div class="row">
          <button class="primary" disabled={busy}>
            {t().blocksSave}
          </button>
        </div>
      </form>
    </Card>
  );
}
