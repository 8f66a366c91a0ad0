import { useEffect, useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { base, day, info, t, user } from '../state';
import { Loaded, useLoad } from '../ui/load';
import { Card, Code, Page } from '../ui/page';

const methods = ['rest', 'mcp', 'js', 'python', 'discord'] as const;
type Method = (typeof methods)[number];

/** How to show ads: a snippet for each way, and a light that says when the first one was seen. */
export default function Integrate() {
  const [method, setMethod] = useState<Method>('rest');
  const keys = useLoad(() => need(api.GET('/api/keys')), []);
  return (
    <Page title={t().integrate} lead={t().integrateLead}>
      <Light />
      <Loaded of={keys}>{({ keys }) => {
        const key = keys.find((k) => k.kind === 'publisher');
        return (
          <>
            {key ? <p class="note">{t().snippetKey(key.name || key.prefix, key.prefix)}</p>
              : <p class="notice">{t().needKey} <a href={`${base}/console/keys`}>{t().makeKey}</a></p>}
            <Card wide>
              <fieldset class="tabs"><legend class="hidden">{t().method}</legend>{methods.map((m) => (
                <label key={m}><input type="radio" name="method" value={m} checked={m === method} onChange={() => setMethod(m)} /><span>{t().methods[m]}</span></label>))}</fieldset>
              <p>{t().methodHelp[method]}</p>
              <Code text={snippet(method, info.value?.base_url ?? location.origin + base, key ? `${key.prefix}…` : 'YOUR_KEY')} label={t().methods[method]} />
            </Card>
            <Card title={t().afterwards} wide><ol class="steps"><li>{t().stepImpression}</li><li>{t().stepClick}</li><li>{t().stepLabel}</li></ol></Card>
          </>);
      }}</Loaded>
    </Page>
  );
}

/** Asks every five seconds, for ten minutes at most, whether an impression has come. */
function Light() {
  const [state, set] = useState<'waiting' | 'seen' | 'unknown'>('waiting');
  useEffect(() => {
    let tries = 0, timer = 0, gone = false;
    const look = async () => {
      try {
        const s = await need(api.GET('/api/stats', { params: { query: { type: 'developer', developer_id: user.value!.developer_id, since: day(29), until: day() } } }));
        if (gone) return;
        if (s.impressions + s.sandbox + s.invalid_impressions > 0) return set('seen');
        if (++tries < 120) timer = window.setTimeout(() => void look(), 5000);
      } catch { if (!gone) set('unknown'); }
    };
    void look();
    return () => { gone = true; clearTimeout(timer); };
  }, []);
  return <p class={`light ${state}`} role="status"><span class="dot" aria-hidden="true" />{state === 'seen' ? t().lightSeen : state === 'waiting' ? t().lightWaiting : t().errorUnknown}</p>;
}

function snippet(method: Method, at: string, key: string): string {
  switch (method) {
    case 'rest':
      return `curl -sS '${at}/v1/ad-request' \\\n  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\\n  -d '{"context":"How do I cache a monorepo pipeline?","platform":"web"}'`;
    case 'mcp':
      return `{\n  "mcpServers": {\n    "adnet": {\n      "type": "http",\n      "url": "${at}/api/mcp",\n      "headers": { "Authorization": "Bearer ${key}" }\n    }\n  }\n}`;
    case 'js':
      return `// On your server: the key is a secret.\nconst reply = await fetch('${at}/v1/ad-request', {\n  method: 'POST',\n  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },\n  body: JSON.stringify({ context: question, platform: 'web' }),\n  signal: AbortSignal.timeout(1500),\n});\nconst { ad } = await reply.json(); // no ad: show nothing`;
    case 'python':
      return `import httpx\n\nreply = httpx.post(\n    "${at}/v1/ad-request",\n    headers={"Authorization": "Bearer ${key}"},\n    json={"context": question, "platform": "web"},\n    timeout=1.5,\n)\nad = reply.json().get("ad")  # None: show nothing`;
    case 'discord':
      return `// discord.js: beside the bot's own answer\nconst { ad } = await (await fetch('${at}/v1/ad-request', {\n  method: 'POST',\n  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },\n  body: JSON.stringify({ context: message.content, platform: 'discord' }),\n})).json();\nif (ad) await message.channel.send({ embeds: [{ title: ad.headline, description: ad.body,\n  url: ad.click_url, footer: { text: ad.disclosure_label } }] });`;
  }
}
