// Draws an ad as a surface shows it, in the sandbox of a preview: the console's page that frames
// this
// one tells it what POST /api/campaigns/preview answered. What publishers' pages run is run here
// (adnet.js); what players play is played from the same VAST document. Nothing is sent anywhere:
// the
// policy of the page allows no connection, and the ad's own questions are answered here.
import { adMessage } from '../sdk/src/discord';
import { whyOf } from '../sdk/src/text';

interface Ad {
  headline: string;
  disclosure_label: string;
  why_label?: string;
  click_url: string;
  image_url: string;
  receipt_url: string;
}
interface Shown {
  ad: Ad;
  html?: string;
  vast?: string;
}

const surface = document.documentElement.dataset.surface;
const main = document.querySelector('main')!;
const style = document.head.appendChild(document.createElement('style'));
style.textContent = `html,body{margin:0}body{font:15px/1.45 system-ui,sans-serif;color:CanvasText;background:Canvas;padding:8px;overflow-wrap:anywhere}
[data-surface=banner] body{padding:0}
.embed{border-inline-start:4px solid #4453c9;border-radius:4px;padding:10px 14px;background:color-mix(in srgb,CanvasText 7%,Canvas);display:grid;gap:6px;max-width:432px}
.embed img{max-width:100%;border-radius:4px}.embed small{opacity:.8}.buttons{display:flex;flex-wrap:wrap;gap:8px;margin-top:8px}
.buttons span{padding:5px 12px;border-radius:6px;background:color-mix(in srgb,CanvasText 14%,Canvas)}
.player{position:relative;max-width:480px}.player video{width:100%;display:block;background:#000}
.player>span,.player>button,.player>a{position:absolute;background:#000;color:#fff;padding:4px 10px;font-size:13px;border:1px solid #fff;border-radius:4px}
.player>span{top:8px;left:8px}.player>button{right:8px;bottom:60px}.player>a{left:8px;bottom:60px}`;

const element = (tag: string, parent: Node, text = '', set: Record<string, string> = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const name in set) made.setAttribute(name, set[name]!);
  return parent.appendChild(made);
};

// The element of publishers' pages asks for an ad and reports events; here both are answered by
// what
// the console told, and go nowhere.
let current: Ad | undefined;
window.fetch = async (to) =>
  new Response(JSON.stringify(String(to).endsWith('/v1/ad-request') ? { ad: current } : {}), {
    status: 200,
  });

const draws: Record<string, (of: Shown) => void> = {
  card: () => element('adnet-ad', main, '', { 'publisher-key': 'preview', context: 'preview' }),
  text: () =>
    element('adnet-ad', main, '', {
      'publisher-key': 'preview',
      context: 'preview',
      format: 'text',
    }),
  // What bids have as their markup, as it is; scripts in it would not run.
  banner: ({ html }) => {
    main.innerHTML = html ?? '';
  },
  embed: ({ ad }) => embed(ad),
  vast: ({ vast }) => play(vast ?? ''),
};

// embed is the message of @adnet/sdk/discord, drawn as in chats.
const plain = (markdown: string) =>
  markdown.replace(/\\(.)/g, '$1').replace(/&lt;/g, '<').replace(/&amp;/g, '&');
function embed(ad: Ad) {
  const message = adMessage(ad as Parameters<typeof adMessage>[0]);
  const [one] = message.embeds;
  const box = element('div', main, '', { class: 'embed', dir: 'auto' });
  element('b', box, one!.title);
  if (one!.description) element('span', box, plain(one!.description));
  if (ad.image_url && !/\.(webm|mp4|m4v|mov|m3u8)([?#]|$)/i.test(ad.image_url))
    element('img', box, '', { src: ad.image_url, alt: '', referrerpolicy: 'no-referrer' });
  element('small', box, one!.footer.text);
  const row = element('div', main, '', { class: 'buttons' });
  for (const label of [
    'cta_label' in ad && ad.cta_label ? String(ad.cta_label) : 'Learn more',
    whyOf(ad),
  ])
    element('span', row, label);
}

// play plays one linear ad, with the part of VAST that adnet uses.
function play(vast: string) {
  const document = new DOMParser().parseFromString(vast, 'application/xml');
  const text = (name: string) => document.getElementsByTagName(name)[0]?.textContent?.trim() ?? '';
  const file = text('MediaFile');
  if (document.querySelector('parsererror') || !/^https?:\/\//.test(file)) return;
  const seconds = (clock: string) =>
    clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  const skip = document.getElementsByTagName('Linear')[0]?.getAttribute('skipoffset');
  const box = element('div', main, '', { class: 'player' });
  const video = element('video', box, '', {
    src: file,
    controls: '',
    playsinline: '',
    preload: 'metadata',
    'aria-label': text('AdTitle'),
  }) as HTMLVideoElement;
  video.muted = true;
  element('span', box, text('DisclosureLabel'), { dir: 'auto' });
  if (/^https?:\/\//.test(text('ClickThrough')))
    element('a', box, text('Advertiser') || 'Learn more', {
      href: text('ClickThrough'),
      target: '_blank',
      rel: 'noopener sponsored',
    });
  if (skip) {
    const button = element('button', box, `Skip (${seconds(skip)} s)`, {
      type: 'button',
      disabled: '',
    }) as HTMLButtonElement;
    video.addEventListener('timeupdate', () => {
      if (video.currentTime < Math.min(seconds(skip), video.duration || Infinity)) return;
      button.disabled = false;
      button.textContent = 'Skip';
    });
    button.addEventListener('click', () => {
      video.pause();
      video.currentTime = 0;
    });
  }
}

// The origin of this page is none of anybody's, and the policy says who frames it.
const tell = (what: object) => parent.postMessage({ preview: what }, '*');
window.addEventListener('message', ({ source, data }: MessageEvent<{ show?: Shown }>) => {
  if (source !== parent || parent === window || !data?.show) return;
  current = data.show.ad;
  main.replaceChildren();
  draws[surface!]?.(data.show);
});
new ResizeObserver(() =>
  tell({ height: Math.ceil(document.documentElement.getBoundingClientRect().height) }),
).observe(document.documentElement);
tell({ ready: true });
