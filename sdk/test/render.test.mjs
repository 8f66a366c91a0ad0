// What is made of an ad whose texts are hostile, in each form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Adnet, publicAd } from '@adnet/sdk';
import { adMessages, adPart, withoutAds, writeAd } from '@adnet/sdk/ai-sdk';
import { adMessage } from '@adnet/sdk/discord';
import { addAd, adBlock, adMetaKey, withAd } from '@adnet/sdk/mcp';

const base = 'https://ads.example.com';
const ad = {
  ad_id: '1',
  auction_id: 'SECRET',
  type: 'native',
  headline: '**Click** [me](https://evil.example) @everyone <img src=x>',
  body: 'one\n\n# two `three`',
  image_url: '',
  cta_label: 'Go](https://evil.example',
  click_url: `${base}/s/x)y`,
  impression_url: `${base}/i`,
  viewable_url: `${base}/v`,
  disclosure_label: 'Sponsored',
  receipt_url: `${base}/r/x`,
  sandbox: true,
};

test('Markdown shows the characters of the texts, and links lead to the installation alone', () => {
  const { text, annotations } = adBlock(ad);
  assert.deepEqual(annotations.audience, ['user']);
  assert.ok(text.startsWith('**Sponsored:** \\*\\*Click\\*\\* \\[me\\]'));
  const links = [...text.matchAll(/(?<!\\)\]\(([^)]*)\)/g)].map((match) => match[1]);
  assert.deepEqual(links, [`${base}/s/x%29y`, `${base}/r/x`]);
  assert.ok(!text.includes('<img') && !text.includes('\n# two'));
});

test('an ad says who paid', () => {
  const by = { ...ad, advertiser: { name: 'Example *Ltd*\n[x](y)', verified: false } };
  assert.ok(adBlock(by).text.startsWith('**Sponsored · Example \\*Ltd\\* \\[x\\]\\(y\\):** '));
  assert.ok(adMessage(by).embeds[0].footer.text.startsWith('Sponsored · Example *Ltd* '));
  for (const none of [undefined, null, {}, { name: 7 }, { name: '' }, 'x'])
    assert.ok(adBlock({ ...ad, advertiser: none }).text.startsWith('**Sponsored:** '));
});

test('the receipt is linked in the language of the reply', () => {
  const german = { ...ad, disclosure_label: 'Anzeige', why_label: 'Warum [diese] Anzeige?' };
  assert.ok(adBlock(german).text.includes(`· [Warum \\[diese\\] Anzeige?](${base}/r/x)`));
  assert.ok(adBlock(ad).text.includes(`· [Why this ad?](${base}/r/x)`));
  const labels = (one) => adMessage(one).components[0].components.map((button) => button.label);
  assert.equal(labels(german)[1], 'Warum [diese] Anzeige?');
  assert.equal(labels(ad)[1], 'Why this ad?');
});

/** value, with all that it has, protected against changes. */
function frozen(value) {
  if (typeof value !== 'object' || value === null) return value;
  for (const one of Object.values(value)) frozen(one);
  return Object.freeze(value);
}

test('a result keeps what it had', () => {
  const had = frozen({
    content: [{ type: 'text', text: 'answer' }],
    structuredContent: { a: 1 },
    _meta: { b: 2, ui: { prefersBorder: true } },
  });
  const result = addAd(had, ad);
  assert.equal(result.content.length, 2);
  assert.deepEqual(result.structuredContent, { a: 1 });
  assert.deepEqual(result._meta, {
    b: 2,
    [adMetaKey]: publicAd(ad),
    ui: { prefersBorder: true, resourceUri: 'ui://adnet/ad' },
  });
  assert.ok(!JSON.stringify(result).includes('SECRET'));
  const own = { _meta: { ui: { resourceUri: 'ui://recipes/card' } } };
  assert.deepEqual(addAd(own, ad)._meta.ui, own._meta.ui, 'a tool keeps its own card');
});

test('structured content has the ad only where the author wants it', () => {
  const content = [{ type: 'text', text: 'answer' }];
  const structured = { structured: true };
  assert.ok(!('structuredContent' in addAd({ content }, ad)));
  assert.ok(!('structuredContent' in addAd({ content }, ad, structured)));
  assert.deepEqual(
    addAd({ content, structuredContent: { a: 1 } }, ad, structured).structuredContent,
    {
      a: 1,
      sponsored: publicAd(ad),
    },
  );
  for (const own of [{ sponsored: null }, { sponsored: 'x' }, [1], 'x', null])
    assert.deepEqual(
      addAd({ content, structuredContent: own }, ad, structured).structuredContent,
      own,
    );
});

test('a result that an ad could harm is returned as it is', async () => {
  const events = [];
  const adnet = new Adnet({
    url: base,
    key: 'x',
    fetch: async (url, { body }) => {
      if (url.endsWith('/api/track')) events.push(body);
      return new Response(JSON.stringify({ ad }));
    },
  });
  const text = { type: 'text', text: 'answer' };
  class Result {
    content = [text];
    get structuredContent() {
      return { a: 1 };
    }
  }
  for (const result of [
    { isError: true, content: [text] },
    { content: [] },
    { structuredContent: { a: 1 } },
    { content: [], structuredContent: { a: 1 } },
    { content: 'answer' },
    { content: null },
    { content: [text], _meta: 'mine' },
    { content: [text], _meta: { ui: 'mine' } },
    { toolResult: 5 },
    {},
    undefined,
    null,
    'answer',
    [text],
    new Result(),
    new ReadableStream(),
    (async function* () {})(),
  ]) {
    const options = { reportImpression: true, structured: true };
    assert.equal(await withAd(adnet, { context: 'x' }, result, options), result);
    assert.equal(await withAd(adnet, { context: 'x' }, Promise.resolve(result)), result);
  }
  assert.deepEqual(events, [], 'what is not shown is not reported');
  const bare = Object.assign(Object.create(null), { content: [text] });
  for (const result of [frozen({ content: [text] }), bare])
    assert.equal((await withAd(adnet, { context: 'x' }, result)).content.length, 2);
});

test('withAd rejects only if the tool does, and waits for both at once', async () => {
  const slow = new Adnet({ url: base, key: 'x', fetch: () => new Promise(() => {}), timeout: 50 });
  const began = Date.now();
  assert.deepEqual(await withAd(slow, { context: 'x' }, Promise.resolve({ content: [] })), {
    content: [],
  });
  assert.ok(Date.now() - began < 1000);
  await assert.rejects(withAd(slow, { context: 'x' }, Promise.reject(new Error('tool'))), /tool/);
});

test('Discord gets texts within its limits, links as buttons, and mentions nobody', () => {
  const long = adMessage({
    ...ad,
    headline: '😀'.repeat(300),
    cta_label: 'x'.repeat(200),
    body: 'y'.repeat(9000),
  });
  const [embed] = long.embeds;
  assert.ok(
    embed.title.length <= 256 &&
      embed.title.isWellFormed !== false &&
      !/[\ud800-\udbff]…/.test(embed.title),
  );
  assert.ok(embed.description.length <= 4096);
  assert.deepEqual(
    long.components[0].components.map(({ label, url }) => [label.length, url]),
    [
      [80, ad.click_url],
      [12, ad.receipt_url],
    ],
  );
  assert.deepEqual(adMessage(ad).allowedMentions, { parse: [] });
  const far = adMessage({
    ...ad,
    click_url: `${base}/s/${'x'.repeat(600)}`,
    receipt_url: undefined,
  });
  assert.deepEqual(far.components, []);
  assert.ok(far.embeds[0].url.length > 600);
  assert.equal(
    adMessage({ ...ad, image_url: 'http://plain.example/x.png' }).embeds[0].image,
    undefined,
  );
  const film = { ...ad, image_url: 'https://backup.example/ad.mp4' };
  assert.ok(adMessage(film).embeds[0].image);
  assert.equal(
    adMessage({ ...film, type: 'video' }).embeds[0].image,
    undefined,
    'a film is no picture',
  );
});

test('the data part has no token of the auction', () => {
  assert.deepEqual(adPart(ad), { type: 'data-ad', id: '1', data: publicAd(ad) });
  assert.equal(publicAd(ad).auction_id, undefined);
  const messages = [
    { id: '1', role: 'assistant', parts: [{ type: 'text', text: 'a' }, adPart(ad)] },
  ];
  assert.deepEqual(withoutAds(messages)[0].parts, [{ type: 'text', text: 'a' }]);
  const older = [{ role: 'user', content: 'a message without parts' }];
  assert.deepEqual(withoutAds(older), older);
  assert.deepEqual(adMessages(older), []);
});

test('messages of an ad request are the last texts, as many as the API takes', () => {
  const text = (role, content) => ({
    role,
    parts: [{ type: 'text', text: content }, { type: 'file' }],
  });
  assert.deepEqual(
    adMessages([
      text('system', 'rules'),
      text('user', 'a'),
      text('assistant', ''),
      text('user', 'b'),
    ]),
    [
      { role: 'user', content: 'a' },
      { role: 'user', content: 'b' },
    ],
  );
  assert.equal(adMessages(Array.from({ length: 99 }, () => text('user', 'x'))).length, 32);
  const cut = adMessages([
    text('user', 'old'),
    text('assistant', `${'é'.repeat(7990)}`),
    text('user', '0123456789ABC'),
  ]);
  assert.equal(
    cut.map(({ content }) => content.length).reduce((a, b) => a + b),
    8000,
  );
  assert.equal(cut.length, 2);
});

test('the client refuses settings that cannot work', () => {
  for (const options of [
    undefined,
    {},
    { key: 'x' },
    { key: 'x', url: 'ads.example.com' },
    { key: 'a b', url: base },
    { key: '', url: base },
    { key: 'x', url: 'http://' },
    { key: 'x', url: 'http://[::1' },
    { key: 'x', url: 'ftp://ads.example.com' },
    { key: 'x', url: { toString: () => base } },
  ])
    assert.throws(() => new Adnet(options), TypeError);
});

test('a call that the caller ends, or that cannot be written, is an error and no exception', async () => {
  const adnet = new Adnet({
    url: base,
    key: 'x',
    fetch: (_, { signal }) =>
      new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason))),
  });
  const ended = new AbortController();
  const asked = adnet.ad({ context: 'x' }, { signal: ended.signal });
  ended.abort();
  assert.equal((await asked).error.code, 'aborted');
  assert.equal((await adnet.ad({ context: 'x' }, { signal: ended.signal })).error.code, 'aborted');
  const circular = {};
  circular.context = circular;
  const fails = {
    toJSON() {
      throw new RangeError('no form');
    },
  };
  for (const context of [1n, circular, fails])
    assert.equal((await adnet.ad({ context })).error.code, 'invalid_request');
  for (const idempotencyKey of ['two\nlines', 'é'.repeat(16)])
    assert.equal(
      (await adnet.ad({ context: 'x' }, { idempotencyKey })).error.code,
      'invalid_request',
    );
});

test('no call throws, whatever it is given', async () => {
  const adnet = new Adnet({
    url: base,
    key: 'x',
    fetch: async () => new Response('{"error": "no", "code": "invalid_request"}', { status: 400 }),
  });
  const calls = [
    adnet.ad(),
    adnet.ad(null, null),
    adnet.report(undefined, 'impression'),
    adnet.track(null, null),
    adnet.trackBatch(),
    adnet.conversion(null),
    adnet.ad({}, { signal: 5 }),
    adnet.ad({}, { timeout: 1n }),
    adnet.ad({}, { timeout: Number.NaN }),
    adnet.ad({}, { idempotencyKey: 5 }),
  ];
  for (const { kind } of await Promise.all(calls)) assert.equal(kind, 'error');
});

test('a stream that has ended takes no ad, and nothing fails', async () => {
  const adnet = new Adnet({
    url: base,
    key: 'x',
    fetch: async () => new Response(JSON.stringify({ ad })),
  });
  const written = [];
  assert.equal(
    (await writeAd({ write: (part) => written.push(part) }, adnet, { context: 'x' })).kind,
    'filled',
  );
  assert.equal(written.length, 1);
  const ended = {
    write: () => {
      throw new TypeError('the stream is closed');
    },
  };
  assert.equal((await writeAd(ended, adnet, { context: 'x' })).error.code, 'aborted');
});
