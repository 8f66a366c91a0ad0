// <adnet-ad publisher-key="pk_live_…" context="…">: an ad beside a conversation, or nothing.
//
// The page never waits for it, and it never throws: every failure results in no ad. It stores
// nothing in the browser, and it uses the server from which the script was loaded.

import { permitted } from '../shared/link';
import { Watch } from '../shared/viewable';

interface Ad {
  ad_id: string;
  type: string;
  headline: string;
  body: string;
  image_url: string;
  cta_label: string;
  click_url: string;
  impression_url: string;
  viewable_url: string;
  receipt_url?: string;
  disclosure_label: string;
  why_label?: string; // in another language than English
  advertiser?: { name: string }; // the payer, if the network permits its name
}

interface Reply {
  ad?: Ad | null;
  reason?: string;
  retry_after_turns?: number;
  code?: string; // of an error
  retry_after?: number; // seconds
}

// A module has no current script, and a server that renders a page has no document.
const page = globalThis.document;
const script = (page?.currentScript ?? page?.querySelector('script[src*="/sdk/adnet"]')) as
  | Partial<HTMLScriptElement>
  | null
  | undefined;
const home = /^(.*)\/sdk\/adnet[^/]*\.js/.exec(script?.src ?? '')?.[1];

// Fields of a request that are texts, numbers and lists, by the names of their attributes.
const texts = [
  'context',
  'format',
  'placement',
  'platform',
  'host-app',
  'user-region',
  'user-language',
  'session-id',
];
const numbers = ['turn', 'first-ad-turn', 'turns-between-ads', 'min-relevance'];
const fields = [
  ...texts,
  ...numbers,
  'publisher-key',
  'timeout',
  'active-tools',
  'server',
  'why',
  'suitability-flags',
  'suitability-age',
  'suitability-remember',
];
const property = (field: string) => field.replace(/-./g, (s) => s[1]!.toUpperCase());

// These styles limit the size of each part, so that the reserved space fits any ad. Colours and
// type are the page's: the ad is as readable as the page, dark or light.
const look = `:host{display:grid;font:inherit;color:inherit;line-height:1.4;min-height:calc(10.3em + 2px)}
:host([format=text]){min-height:8.8em}
.ad{box-sizing:border-box;display:grid;align-content:center;gap:.25em .75em;padding:.75em;border:1px solid;border-color:color-mix(in srgb,currentColor 35%,transparent);border-radius:.5em;text-align:start;overflow-wrap:anywhere;min-width:0}
.text{padding:0;border:0}
.img{grid-template-columns:minmax(0,1fr) 4em}
.img>img{grid-area:1/2/span 4;align-self:center;width:4em;height:4em;object-fit:cover;border-radius:.25em}
.label{font-size:.8em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.headline{font-weight:700}
.body{font-size:.9em}
.headline,.body{unicode-bidi:plaintext;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.foot{display:flex;align-items:center;justify-content:space-between;gap:1em;line-height:1.5em;white-space:nowrap}
a{color:inherit;text-decoration:underline}
a:focus-visible{outline:2px solid;outline-offset:2px}
.cta{overflow:hidden;text-overflow:ellipsis}
.why{font-size:.8em}`;

// styled returns a function that sets the first n style sheets of a root. Safari before 16.4 makes
// no sheets by script and gets an element instead. Where the page's policy forbids that, the ad has
// no style of its own.
const styled = (...css: string[]) => {
  try {
    const sheets = css.map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    if ('adoptedStyleSheets' in Document.prototype)
      return (root: ShadowRoot, n: number) => (root.adoptedStyleSheets = sheets.slice(0, n));
  } catch {}
  return (root: ShadowRoot, n: number) => {
    const style = root.querySelector('style') ?? root.appendChild(document.createElement('style'));
    style.textContent = css.slice(0, n).join('');
  };
};

const make = (tag: string, name: string, text: string, set: Record<string, string> = {}) => {
  const e = document.createElement(tag);
  e.className = name;
  e.part.add(name);
  e.textContent = text;
  for (const key in set) e.setAttribute(key, set[key]!);
  return e;
};

// Pace holds the server's limits for a conversation: no ad before a turn, no request before a time.
interface Pace {
  turn: number;
  next: number;
  until: number;
}
const paces: Record<string, Pace> = {};

// The last ads shown by this page. Without a session, frequency caps use them. They last until the
// page is left.
const seen: string[] = [];

const define = () => {
  const style = styled(look, ':host{display:none!important}');

  class AdnetAd extends HTMLElement {
    static observedAttributes = ['publisher-key', 'context', 'turn'];
    #consent?: object;
    #suitability?: object;
    #root = this.attachShadow({ mode: 'open' });
    #watch?: Watch;
    #control?: AbortController; // of the pending request
    #asked = false;
    #turn?: number; // of the last request
    #planned = false;

    constructor() {
      super();
      // Readers have seen the page without this element: a place that is kept now moves the rest,
      // unless the page has kept one that is as high.
      const late = this.isConnected && performance.getEntriesByType('paint').length > 0;
      const kept = late && this.offsetHeight;
      this.#fold(false);
      this.#fold(late && this.offsetHeight > +kept);
      this.addEventListener('refresh', () => void this.refresh());
    }

    /**
     * The reader's consent in the form of POST /v1/ad-request; also as JSON in the attribute.
     */
    get consent() {
      if (this.#consent) return this.#consent;
      const said = this.getAttribute('consent');
      try {
        return JSON.parse(said || 'null') ?? undefined;
      } catch {
        return { tcf: said! }; // unreadable consent counts as a refusal
      }
    }
    set consent(to: object | undefined) {
      this.#consent = to;
    }

    /**
     * The conversation in the form of POST /v1/ad-request; also by attributes.
     */
    get suitability() {
      if (this.#suitability) return this.#suitability;
      const flags = this.getAttribute('suitability-flags')
        ?.split(',')
        .map((flag) => flag.trim())
        .filter(Boolean);
      const age = this.getAttribute('suitability-age') || undefined;
      const remember = this.getAttribute('suitability-remember') == 'false' ? false : undefined;
      return flags?.[0] || age || remember == false ? { flags, age, remember } : undefined;
    }
    set suitability(to: object | undefined) {
      this.#suitability = to;
    }

    connectedCallback() {
      this.#plan();
    }

    disconnectedCallback() {
      this.#plan();
    }

    attributeChangedCallback() {
      this.#plan();
    }

    // plan collects simultaneous changes of the page: frameworks set attributes one by one, and
    // move elements by removing them first.
    #plan() {
      if (this.#planned) return;
      this.#planned = true;
      queueMicrotask(() => {
        this.#planned = false;
        try {
          this.#consider();
        } catch {}
      });
    }

    #consider() {
      if (!this.isConnected) {
        this.#watch?.stop();
        if (this.#control) this.#asked = false;
        this.#control?.abort();
        this.#control = undefined;
        return;
      }
      // A prerendered page may never be read.
      if ((document as { prerendering?: boolean }).prerendering)
        return document.addEventListener('prerenderingchange', () => this.#plan(), { once: true });
      this.#upgrade();
      this.#fold(this.#folded);
      this.#watch?.begin();
      const turn = this.#number('turn') || undefined;
      const ready = this.getAttribute('publisher-key') && this.getAttribute('context');
      if (this.#asked ? turn == this.#turn : !ready) {
        if (!this.#asked) this.#fold(true);
        return;
      }
      const pace = this.#pace();
      if (turn && turn < pace.turn) pace.next = 0; // another conversation
      if ((turn && turn < pace.next) || Date.now() < pace.until) {
        if (this.#asked) return;
        this.#fold(true);
        return this.#tell('empty', { reason: 'frequency_capped' });
      }
      void this.refresh();
    }

    // upgrade applies properties that were set before the script loaded.
    #upgrade() {
      for (const name of ['consent', 'suitability', ...fields.map(property)] as 'consent'[]) {
        if (!Object.getOwnPropertyDescriptor(this, name)) continue;
        const value = this[name];
        delete (this as { consent?: object })[name];
        this[name] = value;
      }
    }

    #number(name: string) {
      const n = Number(this.getAttribute(name) || NaN);
      return n === n ? n : undefined;
    }

    #pace() {
      return (paces[this.getAttribute('publisher-key') + ' ' + this.getAttribute('session-id')] ??=
        { turn: 0, next: 0, until: 0 });
    }

    #body() {
      const body: Record<string, unknown> = { integration_method: 'js_snippet' };
      const put = (name: string, value: unknown) => (body[name.replace(/-/g, '_')] = value);
      // The language of the page, unless it is none.
      const language = this.closest<HTMLElement>('[lang]')?.lang || navigator.language;
      if (/^[a-z]{2,3}([-_][a-z0-9]{2,8})*$/i.test(language)) put('user_language', language);
      for (const name of texts) if (this.getAttribute(name)) put(name, this.getAttribute(name));
      // A lone surrogate, as of a cut emoji, is invalid text for a server.
      put(
        'context',
        [...String(body.context ?? '').replace(/[\0\p{Cs}]/gu, '')].slice(-2000).join(''),
      );
      for (const name of numbers) put(name, this.#number(name));
      put('active_tools', this.getAttribute('active-tools')?.match(/[^\s,]+/g) ?? undefined);
      put('turn', body.turn || undefined);
      put('seen', seen[0] && seen);
      put('consent', this.consent);
      put('suitability', this.suitability);
      return JSON.stringify(body);
    }

    /** Requests an ad to replace the current one. */
    async refresh(): Promise<void> {
      const control = new AbortController();
      this.#control?.abort();
      this.#control = control;
      this.#asked = true;
      const timer = setTimeout(
        () => control.abort(),
        Math.min(this.#number('timeout') || 1500, 2 ** 31 - 1),
      );
      let reason = 'error';
      let ad: Ad | null | undefined;
      try {
        const turn = (this.#turn = this.#number('turn') || undefined);
        const pace = this.#pace();
        const server = (this.getAttribute('server') ?? home)?.replace(/\/$/, '');
        if (!server) throw home;
        const answer = await fetch(server + '/v1/ad-request', {
          method: 'POST',
          credentials: 'omit',
          signal: control.signal,
          headers: {
            Authorization: 'Bearer ' + this.getAttribute('publisher-key'),
            'Content-Type': 'application/json',
          },
          body: this.#body(),
        });
        const reply: Reply = await answer.json();
        reason = reply.reason ?? reply.code ?? reason;
        if (this.#control != control) return;
        ad = answer.ok ? reply.ad : null;
        const wait = reply.retry_after_turns ?? (ad && (this.#number('turns-between-ads') ?? 0));
        if (turn) {
          pace.turn = turn;
          if (wait) pace.next = turn + wait;
        }
        if (!answer.ok && reply.retry_after) pace.until = Date.now() + reply.retry_after * 1000;
        if (ad) this.#show(ad, server);
      } catch {
        ad = null;
        if (control.signal.aborted) reason = 'timeout';
      } finally {
        clearTimeout(timer);
      }
      if (this.#control != control) return;
      this.#control = undefined;
      try {
        if (!ad) this.#clear();
        this.#tell(ad ? 'filled' : 'empty', ad ? { ad } : { reason });
      } catch {}
    }

    #clear() {
      this.#watch?.stop();
      this.#watch = undefined;
      this.#root.replaceChildren();
      this.#fold(true);
    }

    #folded = false;
    #fold(folded: boolean) {
      this.#folded = folded;
      style(this.#root, folded ? 2 : 1);
    }

    #tell(name: string, detail?: object) {
      this.dispatchEvent(new CustomEvent(name, { detail }));
    }

    #show(ad: Ad, server: string) {
      const click = permitted(ad.click_url);
      const text = this.getAttribute('format') == 'text';
      const box = make('div', 'ad', '');
      box.classList.toggle('text', text);
      // Outside of every landmark it is one itself, so that no reader misses it.
      box.setAttribute(
        'role',
        this.closest('main,aside,nav,header,footer,section,form,[role]') ? 'group' : 'region',
      );
      box.setAttribute('aria-label', ad.disclosure_label + ': ' + ad.headline);
      box.append(
        make(
          'div',
          'label',
          [ad.disclosure_label || 'Ad', ad.advertiser?.name].filter(Boolean).join(' · '),
        ),
        make('div', 'headline', ad.headline),
      );
      if (ad.body) box.append(make('div', 'body', ad.body));
      const foot = make('div', 'foot', '');
      foot.append(
        make('a', 'cta', ad.cta_label || ad.headline, {
          href: click,
          target: '_blank',
          rel: 'sponsored noopener',
        }),
      );
      box.append(foot);
      try {
        foot.append(
          make('a', 'why', this.getAttribute('why') || ad.why_label || 'Why this ad?', {
            href: permitted(ad.receipt_url),
            target: '_blank',
            rel: 'noopener',
          }),
        );
      } catch {}
      try {
        if (ad.image_url && ad.type != 'video' && !text) {
          const image = make('img', 'image', '', {
            src: permitted(ad.image_url),
            alt: '',
            referrerpolicy: 'no-referrer',
          });
          // its space stays, so nothing moves
          image.onerror = () => (image.style.visibility = 'hidden');
          box.append(image);
          box.classList.add('img');
        }
      } catch {}
      // An event is sent to the ad's server as a form, which needs no preflight and outlives the
      // page.
      const send = (link: string) => {
        try {
          const body = new URLSearchParams(new URL(link).search);
          fetch(server + '/api/track', {
            method: 'POST',
            body,
            mode: 'no-cors',
            credentials: 'omit',
            keepalive: true,
          }).catch(() => {});
        } catch {}
      };
      this.#watch?.stop();
      this.#watch = new Watch(
        box,
        () => send(ad.impression_url),
        () => {
          send(ad.viewable_url);
          this.#tell('viewable', { ad });
        },
      );
      if (ad.ad_id && seen.push(ad.ad_id) > 64) seen.shift();
      this.#root.replaceChildren(box);
      this.#fold(false);
      this.#watch.begin();
    }
  }

  for (const name of fields) {
    Object.defineProperty(AdnetAd.prototype, property(name), {
      configurable: true,
      get(this: AdnetAd) {
        return this.getAttribute(name);
      },
      set(this: AdnetAd, value: unknown) {
        if (value == null) this.removeAttribute(name);
        else this.setAttribute(name, String(value));
      },
    });
  }
  customElements.define('adnet-ad', AdnetAd);
};

try {
  if (!customElements.get('adnet-ad')) define();
} catch {}
