// A real installation for tests: `adnet standalone` in memory on free ports, with keys, campaigns
// of
// each format, and a click to report a conversion of.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

export function freePort() {
  return new Promise((done, fail) => {
    const server = createServer()
      .on('error', fail)
      .listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        server.close(() => done(port));
      });
  });
}

/** Waits until url answers 200 to a GET, or to a POST of body, or fails after 30 s. */
export async function answers(url, body) {
  for (let i = 0; i < 300; i++) {
    const asked = fetch(url, body === undefined ? {} : { method: 'POST', body });
    if (
      await asked.then(
        async (reply) => (await reply.text(), reply.ok),
        () => false,
      )
    )
      return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${url} does not answer`);
}

/** Starts the program and returns its URL and what ends it. */
export async function standalone(program) {
  const [port, admin] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    program,
    [
      'standalone',
      '--http-addr',
      `127.0.0.1:${port}`,
      '--admin-addr',
      `127.0.0.1:${admin}`,
      '--log-level',
      'error',
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      // limits that a test reaches
      env: { ...process.env, ADNET_RATE_PER_MINUTE: '100', ADNET_RATE_BURST: '100' },
    },
  );
  const ended = new Promise((done) => child.on('exit', done));
  try {
    await answers(`${url}/readyz?for=ads`);
  } catch (error) {
    child.kill();
    throw error;
  }
  return { url, stop: () => (child.kill(), ended) };
}

/** A client of the management API that fails loudly. */
function api(url) {
  return async (path, body, token, status = 200) => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token && { Authorization: `Bearer ${token}` }),
    };
    const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await reply.text();
    if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${text}`);
    return JSON.parse(text);
  };
}

// Texts and sites have little in common: a copy belongs to the family of what it copies, of which
// only the first campaign delivers at once.
const creatives = {
  native: { headline: 'Rides in a', subtext: 'Above the clouds' },
  image: {
    headline: 'Photos of a',
    subtext: 'Taken at dawn by pilots',
    media_url: 'https://backup.example/ad.png',
  },
  video: {
    headline: 'See the famous',
    subtext: 'A film about engineers',
    media_url: 'https://backup.example/ad.mp4',
    poster_url: 'https://backup.example/poster.jpg',
  },
};

/** An account with its login. */
async function account(call, stamp, who) {
  const made = await call(
    '/api/auth?action=register',
    { email: `${who}-${stamp}@example.com`, password: 'kittens climb old trees' },
    undefined,
    201,
  );
  return { id: made.user.id, token: made.session?.access_token ?? made.access_token };
}

/**
 * What the cases of the table with "real" need, by the names that stand in them; values for
 * two clients, and the origin that the browser key is for.
 */
export async function world(url) {
  const call = api(url);
  const stamp = `${Date.now()}`.slice(-9);
  const word = `zeppelin${stamp}`;
  const publisher = await account(call, stamp, 'publisher');
  const key = async (who, body) => (await call('/api/keys', body, who.token, 201)).key;
  const page = `http://localhost:${await freePort()}`;
  const keys = {
    sandbox: 'pub_test_sandbox',
    unknown: 'pub_live_ThisKeyWasNeverIssued0000000',
    bad_conversion: 'conv_live_ThisKeyWasNeverIssued0000',
    publisher: await key(publisher, { kind: 'publisher', name: 'tests' }),
    browser: await key(publisher, {
      kind: 'browser',
      name: 'page',
      origins: ['https://app.example.com', page],
    }),
  };
  const greedy = await account(call, stamp, 'greedy');
  keys.limited = await key(greedy, { kind: 'publisher', name: 'greedy' });
  let advertiser;
  for (const [format, { headline, ...creative }] of Object.entries(creatives)) {
    // An account's first campaign delivers at once, later ones wait for a reviewer.
    advertiser = await account(call, stamp, format);
    await call(
      '/api/campaigns/create',
      {
        advertiser_id: advertiser.id,
        format,
        headline: `${headline} ${word}${format}`,
        cta_label: 'Fly',
        cta_url: `https://${format}-rides.example/`,
        billing_model: 'cpm',
        bid_amount: 100,
        pacing: 'asap',
        target_intent_tokens: [`${word}${format}`],
        ...creative,
      },
      advertiser.token,
      201,
    );
  }
  keys.conversion = await key(advertiser, { kind: 'conversion', name: 'shop' });

  const ask = (context, bearer = keys.publisher) => call('/v1/ad-request', { context }, bearer);
  const values = [await shownAds(ask, word), await shownAds(ask, word)];
  return { url, page, keys, values };
}

/**
 * What names in cases mean to one client: an ad to report events of, and a click that sold
 * something.
 */
async function shownAds(ask, word) {
  const filled = async (format) => {
    for (let asked = 0; asked < 20; asked++) {
      // a campaign is on every node a moment after its creation
      const { ad } = await ask(`Where can I learn about ${word}${format}?`);
      if (ad?.type === format) return ad;
      await new Promise((done) => setTimeout(done, 250));
    }
    throw new Error(`no ${format} ad`);
  };
  const ad = await filled('video');
  await fetch(ad.impression_url);
  await new Promise((done) => setTimeout(done, 300));
  const clicked = await fetch(ad.click_url, {
    redirect: 'manual',
    headers: { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0' },
  });
  const shown = await filled('native');
  return {
    WORD: word,
    AD_ID: shown.ad_id,
    AUCTION_ID: shown.auction_id,
    CLICK_ID: new URL(clicked.headers.get('location')).searchParams.get('adnet_click'),
  };
}
