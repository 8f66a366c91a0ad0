import { useRef, useState } from 'preact/hooks';
import { api, ApiError, need, type Schemas } from '../../shared/api';
import { isAdmin, t, time } from '../state';
import { Empty, Loaded, useLoad, words } from '../ui/load';
import { Card, Code, Page } from '../ui/page';

type Kind = Schemas['KeyKind'];

/** API keys: made, shown once, and revoked. */
export default function Keys() {
  const of = useLoad(() => need(api.GET('/api/keys')), []);
  const [made, setMade] = useState<{ key: string; name: string } | null>(null);
  const [problem, setProblem] = useState('');
  const shown = useRef<HTMLDialogElement>(null);
  const revoke = async (id: string, name: string) => {
    if (!confirm(t().revokeSure(name))) return;
    try {
      await need(api.DELETE('/api/keys/{id}', { params: { path: { id } } }));
      setProblem('');
    } catch (e) { setProblem(e instanceof ApiError ? words(e) : String(e)); }
    of.reload();
  };
  const show = (key: string, name: string) => { setMade({ key, name }); of.reload(); shown.current?.showModal(); };
  return (
    <Page title={t().keys} lead={t().keysLead}>
      <dialog ref={shown} aria-labelledby="new-key" onClose={() => setMade(null)}>
        <h2 id="new-key">{t().keyMade}</h2>
        <p>{t().keyOnce}</p>
        {made && <Code text={made.key} label={t().keyMade} />}
        <form method="dialog"><button class="primary">{t().keyKept}</button></form>
      </dialog>
      <NewKey show={show} />
      {problem && <p class="problem" role="alert">{problem}</p>}
      <Loaded of={of}>{({ keys }) => keys.length === 0 ? <Empty title={t().noKeys} /> : (
        <div class="scroll card flush" tabIndex={0} role="region" aria-label={t().keys}>
          <table class="rows"><thead><tr><th scope="col">{t().name}</th><th scope="col">{t().kind}</th><th scope="col">{t().prefix}</th><th scope="col">{t().created}</th><th scope="col"><span class="hidden">{t().acts}</span></th></tr></thead>
            <tbody>{keys.map((k) => <tr key={k.id}><th scope="row">{k.name || '–'}</th><td>{t().keyKinds[k.kind]}</td><td class="mono">{k.prefix}…</td><td>{time(k.created_at)}</td>
              <td class="num"><button type="button" class="small danger" aria-label={`${t().revoke}: ${k.name || k.prefix}`} onClick={() => void revoke(k.id, k.name || k.prefix)}>{t().revoke}</button></td></tr>)}</tbody></table>
        </div>)}</Loaded>
    </Page>
  );
}

function NewKey({ show }: { show: (key: string, name: string) => void }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Kind>('publisher');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const make = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      const made = await need(api.POST('/api/keys', { body: { kind, name } }));
      setName('');
      show(made.key, made.name);
    } catch (e) { setProblem(e instanceof ApiError ? words(e) : String(e)); }
    setBusy(false);
  };
  const kinds: Kind[] = isAdmin.value ? ['publisher', 'conversion', 'seat'] : ['publisher', 'conversion'];
  return (
    <Card title={t().newKey} wide>
      <form class="row end" onSubmit={make}>
        <label>{t().name}<input name="name" value={name} maxLength={100} required onInput={(e) => setName(e.currentTarget.value)} /></label>
        <label>{t().kind}<select value={kind} onChange={(e) => setKind(e.currentTarget.value as Kind)}>{kinds.map((k) => <option key={k} value={k}>{t().keyKinds[k]}</option>)}</select></label>
        <button class="primary" disabled={busy}>{t().makeKey}</button>
      </form>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </Card>
  );
}
