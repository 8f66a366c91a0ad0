// The card of an ad in a host of MCP Apps (SEP-1865): it draws the result of get_sponsored_content,
// or the ad that a publisher's server added to a result of its own with an SDK, and tells the host,
// by the messages of that standard, what happens to the ad. Of get_sponsored_content it has no
// network: events are calls of the tool track_event. A publisher's server has no such tool: its
// policy allows adnet, and events are the ad's links. Links for the reader are opened by the host.
import { permitted } from '../shared/link';
import { Watch } from '../shared/viewable';

interface Ad {
  auction_id?: string; // absent if a publisher's server added the ad
  headline: string;
  subtext: string;
  media_url: string;
  poster_url: string | null;
  cta_label: string;
  disclosure_label: string;
  why_label?: string; // in another language than English
  advertiser?: { name: string }; // the payer, if the network permits its name
  receipt_url: string;
  tracking: { click: string; [event: string]: string };
}

/** An ad of POST /v1/ad-request without its auction_id, as the SDKs hand it on. */
interface Sponsored extends Omit<Ad, 'subtext' | 'tracking'> {
  body: string;
  click_url: string;
  impression_url: string;
  viewable_url: string;
}

interface Message {
  id?: number | string;
  method?: string;
  params?: Record<string, any>;
  result?: Record<string, any>;
  error?: object;
}

const host = window.parent;
let asked = 0;
const waiting = new Map<number | string, (m: Message) => void>();

// The host's origin cannot be known, and nothing here is secret from the page that framed us.
const post = (m: Message) => host.postMessage({ jsonrpc: '2.0', ...m }, '*');

const ask = (method: string, params: object) =>
  new Promise<Message>((done) => {
    waiting.set(++asked, done);
    post({ id: asked, method, params });
  });

const element = (tag: string, parent: Node, text = '', set: Record<string, string> = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const name in set) made.setAttribute(name, set[name]!);
  return parent.appendChild(made);
};

// web reports whether an ad may link to an address or load from it.
const web = (link: unknown): link is string => {
  try {
    return !!permitted(link);
  } catch {
    return false;
  }
};

// link adds a link that the host opens, or else the browser.
const link = (parent: Node, text: string, href: string, set: Record<string, string>) => {
  const a = element('a', parent, text, { href, target: '_blank', ...set });
  a.addEventListener('click', async (event) => {
    event.preventDefault();
    const opened = await ask('ui/open-link', { url: href });
    if (opened.error || opened.result?.isError) window.open(href, '_blank', 'noopener');
  });
};

// picture returns the address of the ad's picture if the declared policy permits loading it.
const picture = (ad: Ad) => {
  const from = ad.poster_url || ad.media_url;
  return web(from) && new URL(from).origin === document.documentElement.dataset.media ? from : '';
};

let watch: Watch | undefined;

// draw shows an ad, or nothing.
const draw = (ad: Ad | undefined) => {
  watch?.stop();
  document.querySelector('main')?.remove();
  if (!ad || !web(ad.tracking?.click) || !web(ad.receipt_url) || !ad.disclosure_label) return;
  const report = (event: string) => {
    if (ad.auction_id)
      return void ask('tools/call', {
        name: 'track_event',
        arguments: { event, auction_id: ad.auction_id },
      });
    const url = ad.tracking[event];
    if (web(url))
      fetch(url, { mode: 'no-cors', keepalive: true, credentials: 'omit' }).catch(() => {});
  };
  const source = picture(ad);
  const box = element('main', document.body, '', {
    class: source ? 'ad media' : 'ad',
    'aria-label': `${ad.disclosure_label}: ${ad.headline}`,
  });
  if (source)
    element('img', box, '', {
      src: source,
      alt: '',
      width: '72',
      height: '72',
      referrerpolicy: 'no-referrer',
    });
  const top = element('div', box, '', { class: 'top' });
  const by = ad.advertiser?.name;
  element('span', top, by ? `${ad.disclosure_label} · ${by}` : ad.disclosure_label);
  link(top, ad.why_label || 'Why this ad?', ad.receipt_url, { rel: 'noopener' });
  element('button', top, '×', { type: 'button', 'aria-label': 'Close the ad' }).addEventListener(
    'click',
    () => {
      report('close');
      draw(undefined);
    },
  );
  element('h1', box, ad.headline);
  if (ad.subtext) element('p', box, ad.subtext);
  link(box, ad.cta_label || ad.headline, ad.tracking.click, {
    class: 'cta',
    rel: 'sponsored noopener',
  });
  watch = new Watch(
    box,
    () => report('impression'),
    () => report('viewable'),
  );
  watch.begin();
};

// known converts an ad of an SDK to the form of get_sponsored_content. It omits pictures, because
// the card's policy lists no origins for them.
const known = ({
  body,
  click_url: click,
  impression_url: impression,
  viewable_url: viewable,
  ...rest
}: Sponsored): Ad => ({
  ...rest,
  subtext: body,
  media_url: '',
  poster_url: null,
  tracking: { click, impression, viewable },
});

// take draws a tool's result. Hosts without structured content pass its text.
const take = (result: Record<string, any>) => {
  let ad = result.structuredContent;
  const added = result._meta?.['adnet/ad'] ?? ad?.sponsored;
  if (added) return draw(known(added));
  try {
    ad ??= JSON.parse(result.content[0].text);
  } catch {} // an error of the tool, which the host shows
  draw(ad?.auction_id && ad.tracking ? ad : undefined);
};

// dress applies the host's theme, colours and language.
const dress = (context: Record<string, any> = {}) => {
  const root = document.documentElement;
  if (context.theme === 'light' || context.theme === 'dark') root.style.colorScheme = context.theme;
  for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
    if (name.startsWith('--') && typeof value === 'string') root.style.setProperty(name, value);
  }
  if (typeof context.locale === 'string')
    root.dir = /^(ar|fa|he|ur|yi)\b/.test(context.locale) ? 'rtl' : 'ltr';
};

window.addEventListener('message', ({ source, data }: MessageEvent<Message>) => {
  if (source !== host || typeof data !== 'object' || data === null) return;
  const { id, method, params = {} } = data;
  switch (method) {
    case undefined:
      waiting.get(id!)?.(data);
      waiting.delete(id!);
      return;
    case 'ui/notifications/tool-result':
      return take(params);
    case 'ui/notifications/tool-cancelled':
      return draw(undefined);
    case 'ui/notifications/host-context-changed':
      return dress(params);
    case 'ui/resource-teardown':
      draw(undefined);
  }
  if (id === undefined) return;
  const known = method === 'ui/resource-teardown' || method === 'ping';
  post(known ? { id, result: {} } : { id, error: { code: -32601, message: 'no such method' } });
});

new ResizeObserver(() => {
  const { width, height } = document.body.getBoundingClientRect();
  post({
    method: 'ui/notifications/size-changed',
    params: { width: Math.ceil(width), height: Math.ceil(height) },
  });
}).observe(document.body);

void ask('ui/initialize', {
  appInfo: { name: 'adnet', version: '1.0.0' },
  appCapabilities: {},
  protocolVersion: '2026-01-26',
}).then(({ result }) => {
  dress(result?.hostContext);
  post({ method: 'ui/notifications/initialized' });
});
