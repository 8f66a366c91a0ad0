// The Discord bot against a gateway and an API that are mocked at the HTTP level: discord.js speaks
// to them as to Discord.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { until } from './chromium.mjs';
import { discord, ids, user } from './gateway.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
test('the Discord bot answers, and posts a labelled ad that mentions nobody', async () => {
  const mocked = await discord();
  const events = [];
  // Between bot and adnet, to see what the bot reports.
  const between = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const reply = await fetch(world.url + request.url, {
      method: 'POST',
      headers: { authorization: request.headers.authorization, 'content-type': 'application/json' },
      body,
    });
    events.push({ path: request.url, body: JSON.parse(body), status: reply.status });
    response
      .writeHead(reply.status, { 'Content-Type': 'application/json' })
      .end(await reply.text());
  }).listen(0, '127.0.0.1');
  await once(between, 'listening');
  const bot = spawn(at('../node_modules/.bin/tsx'), [at('../discord-bot/bot.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ADNET_URL: `http://127.0.0.1:${between.address().port}`,
      ADNET_KEY: world.keys.sandbox,
      DISCORD_TOKEN: 'Ym90.x.y',
      DISCORD_API: mocked.url,
    },
  });
  let said = '';
  bot.stdout.on('data', (chunk) => (said += chunk));
  try {
    await until('the bot to be ready', () => said.includes('ready'));
    mocked.say('hello everybody');
    mocked.say('!ask from another bot', user('100000000000000009', true));
    mocked.say('!ask how do I back up postgres?');
    await until('the answer and the ad', () => mocked.posted.length >= 2);
    const [answer, ad] = mocked.posted;
    assert.equal(answer.content, 'You asked: how do I back up postgres?');
    assert.equal(ad.embeds[0].footer.text, 'Sponsored');
    assert.ok(ad.embeds[0].title.length > 0);
    assert.deepEqual(ad.allowed_mentions, { parse: [] });
    const buttons = ad.components[0].components;
    assert.ok(
      buttons.every((button) => button.style === 5 && button.url.startsWith(world.url)),
      'links of the installation',
    );
    await until('the impression', () => events.length >= 2);
    assert.equal(events[0].path, '/v1/ad-request');
    assert.equal(events[0].body.platform, 'discord');
    assert.ok(!JSON.stringify(events[0].body).includes(ids.channel), "nobody's ids");
    assert.deepEqual(
      [events[1].path, events[1].body.event, events[1].status],
      ['/api/track', 'impression', 200],
    );
    assert.equal(mocked.posted.length, 2, 'one answer to one question');
  } finally {
    bot.kill();
    mocked.stop();
    between.closeAllConnections();
    between.close();
  }
});
