// A client on a platform that lacks something. As a program it takes away what its arguments name
// before the package is loaded, makes each call, and prints the kinds of the results as JSON.
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const base = 'https://ads.example.com';
const ad = {
  ad_id: '1',
  auction_id: 'a',
  type: 'native',
  headline: 'Headline',
  disclosure_label: 'Sponsored',
  click_url: `${base}/s/x`,
  impression_url: `${base}/i`,
};

/** Signals as React Native has them: without a reason, and deaf to options of listeners. */
class OldController {
  signal = {
    aborted: false,
    heard: new Set(),
    addEventListener: (_, heard) => this.signal.heard.add(heard),
    removeEventListener: (_, heard) => this.signal.heard.delete(heard),
  };
  abort() {
    this.signal.aborted = true;
    for (const heard of this.signal.heard) heard();
  }
}

/** Replaces a platform's part by that of React Native. */
const replaced = {
  AbortController: OldController,
  URL: class {
    get origin() {
      throw new Error('not implemented');
    }
  },
};

/**
 * Removes what a name means: a global, `URL.canParse_static` of the constructor, `Array.at` of the
 * instances, `=URL` for the one of React Native. Returns a function that restores it.
 */
export function take(name) {
  const restore = (holder, key) => {
    const had = Object.getOwnPropertyDescriptor(holder, key);
    if (had === undefined) return () => {};
    if (!Reflect.deleteProperty(holder, key)) throw new Error(`${name} cannot be taken away`);
    return () => Object.defineProperty(holder, key, had);
  };
  if (name.startsWith('=')) {
    const bring = restore(globalThis, name.slice(1));
    globalThis[name.slice(1)] = replaced[name.slice(1)];
    return bring;
  }
  const [owner, member] = name.split('.');
  if (member === undefined) return restore(globalThis, owner);
  const holder = globalThis[owner];
  if (holder === undefined) return () => {};
  if (member.endsWith('_static')) return restore(holder, member.replace('_static', ''));
  return restore(holder.prototype ?? holder, member);
}

/** The kind of each call's result, or the code of its error, with a fetch that replies at once. */
export async function attempt({ Adnet }, { withAd }, { adMessage }) {
  const replies = {
    '/v1/ad-request': { ad },
    '/api/track': { tracked: true, event: 'click' },
    '/api/track?action=batch': { tracked: 1 },
  };
  const keys = new Set();
  const options = {
    url: base,
    key: 'pub_test_sandbox',
    eventTimeout: 200,
    fetch: async (url, { headers, signal }) => {
      const key = headers['Idempotency-Key'] ?? headers.get('Idempotency-Key');
      if (!/^[ -~]{16,255}$/.test(key) || keys.has(key)) throw new Error(`the key ${key}`);
      keys.add(key);
      if (signal.aborted) throw new Error('aborted');
      return {
        status: 200,
        headers: { get: () => null },
        text: async () => JSON.stringify(replies[url.slice(base.length)]),
      };
    },
  };
  const adnet = new Adnet(options);
  const silent = new Adnet({ ...options, fetch: () => new Promise(() => {}) });
  const control = typeof AbortController === 'undefined' ? undefined : new AbortController();
  const ended = silent.ad({ context: 'x' }, { signal: control?.signal, timeout: 500 });
  setTimeout(() => control?.abort(), 10);
  const results = await Promise.all([
    adnet.ad({ context: 'half of an emoji \ud83d' }),
    adnet.track({ event: 'click' }),
    adnet.trackBatch([{ event: 'click' }]),
    adnet.report(ad, 'impression'),
    adnet.conversion({ click_id: 'x' }),
    silent.track({ event: 'click' }),
    ended,
  ]);
  const tool = await withAd(adnet, { context: 'x' }, { content: [{ type: 'text', text: 'x' }] });
  return [
    ...results.map((result) => result.error?.code ?? result.kind),
    `${tool.content.length} blocks`,
    `${adMessage(ad).embeds.length} embed`,
  ].join(', ');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of process.argv.slice(2)) take(name);
  const modules = ['', '/mcp', '/discord'].map((name) => import(`@adnet/sdk${name}`));
  console.log(await attempt(...(await Promise.all(modules))));
}
