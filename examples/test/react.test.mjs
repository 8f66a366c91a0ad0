// The React chat in Chromium, on an origin that its browser key names.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { AdCard } from '@adnet/sdk/react';
import { build } from 'esbuild';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { browse, until } from './chromium.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
let server, browser;

before(async () => {
  const {
    outputFiles: [script],
  } = await build({
    entryPoints: [at('../react-chat/chat.tsx')],
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"development"' },
    write: false,
  });
  const html = readFileSync(at('../react-chat/index.html'), 'utf8')
    .replace('https://ads.example.com', world.url)
    .replace('pk_live_…', world.keys.browser);
  server = createServer((request, response) => {
    const js = request.url === '/chat.js';
    response
      .setHeader('Content-Type', js ? 'text/javascript' : 'text/html')
      .end(js ? script.contents : html);
  }).listen(new URL(world.page).port, 'localhost');
  browser = await browse();
});
after(async () => {
  await browser?.stop();
  server.closeAllConnections();
  server.close();
});

async function say(text) {
  await browser.page.type('input', text);
  await browser.page.click('button');
}

test('an answer gets an ad, which reports what the reader sees', async () => {
  const { page, errors, loaded, asked } = browser;
  await page.goto(world.page);
  await say(`Where can I learn about ${world.values[0].WORD}native?`);
  await page.waitForSelector("aside a[rel='sponsored noopener']");
  const shown = await page.$eval('aside', (aside) => aside.innerText);
  for (const text of ['Sponsored', `Rides in a ${world.values[0].WORD}native`, 'Why this ad?'])
    assert.ok(shown.includes(text), `${text} in ${shown}`);
  const event = (name) => [...loaded].find(([url]) => url.includes(`event=${name}`))?.[1];
  assert.equal(await until('the impression', () => event('impression')), 200);
  assert.equal(await until('the viewable event', () => event('viewable')), 200);
  assert.equal(loaded.get(`${world.url}/v1/ad-request`), 200);
  assert.equal(
    asked.filter((url) => url.endsWith('/v1/ad-request')).length,
    1,
    'one auction, although StrictMode mounts twice',
  );
  assert.deepEqual(errors, []);
});

test('a server renders the card, and takes no film for a picture', () => {
  const ad = {
    ad_id: '1',
    type: 'image',
    headline: 'H',
    body: '',
    image_url: 'https://backup.example/ad',
    cta_label: 'Go',
    click_url: `${world.url}/s/x`,
    impression_url: `${world.url}/i`,
    disclosure_label: 'Sponsored',
  };
  assert.match(
    renderToString(createElement(AdCard, { ad })),
    /^<aside.*Sponsored.*<img src="https:\/\/backup\.example\/ad"/,
  );
  assert.doesNotMatch(
    renderToString(createElement(AdCard, { ad: { ...ad, type: 'video' } })),
    /<img/,
  );
});

test('without an ad there is nothing, and the chat goes on', async () => {
  const { page, errors } = browser;
  await page.setRequestInterception(true);
  page.on('request', (request) =>
    request.url().endsWith('/v1/ad-request') ? request.abort() : request.continue(),
  );
  await say('and now?');
  await page.waitForFunction(() => document.querySelectorAll('li').length === 2);
  await new Promise((done) => setTimeout(done, 500));
  assert.equal(await page.$('li:last-child aside'), null);
  assert.deepEqual(errors, []);
});

test('an ad is shown where nothing tells what is in view, as in jsdom, and reports nothing', async () => {
  const { page, errors, asked, stop } = await browse();
  try {
    await page.evaluateOnNewDocument(() => delete globalThis.IntersectionObserver);
    await page.goto(world.page);
    await page.type('input', `Where can I learn about ${world.values[0].WORD}native?`);
    await page.click('button');
    await page.waitForSelector("aside a[rel='sponsored noopener']");
    await new Promise((done) => setTimeout(done, 500));
    assert.deepEqual(
      asked.filter((url) => url.includes('event=')),
      [],
    );
    assert.deepEqual(errors, []);
  } finally {
    await stop();
  }
});
