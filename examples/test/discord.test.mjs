// The Discord bot against a gateway and an API that are mocked at the HTTP level: discord.js speaks
// to them as to Discord.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { until } from './chromium.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const ids = {
  bot: '100000000000000001',
  guild: '100000000000000002',
  channel: '100000000000000003',
  person: '100000000000000004',
};
const user = (id, bot) => ({
  id,
  username: bot ? 'bot' : 'person',
  discriminator: '0',
  avatar: null,
  bot,
});

/** Discord: what the bot posts is in posted, say() is a person's message. */
async function discord() {
  const posted = [];
  let next = 200000000000000000n,
    gateway;
  const send = (t, d, s) => gateway.send(JSON.stringify({ op: 0, t, s, d }));
  const message = (author, content, more) => ({
    id: `${next++}`,
    channel_id: ids.channel,
    guild_id: ids.guild,
    author,
    content,
    timestamp: new Date().toISOString(),
    edited_timestamp: null,
    tts: false,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: [],
    embeds: [],
    pinned: false,
    type: 0,
    ...more,
  });
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    response.setHeader('Content-Type', 'application/json');
    const { port } = server.address();
    if (request.url.endsWith('/gateway/bot'))
      return response.end(
        JSON.stringify({
          url: `ws://127.0.0.1:${port}`,
          shards: 1,
          session_start_limit: { total: 9, remaining: 9, reset_after: 0, max_concurrency: 1 },
        }),
      );
    if (request.method === 'POST' && request.url.endsWith(`/channels/${ids.channel}/messages`)) {
      posted.push(JSON.parse(body));
      return response.end(JSON.stringify(message(user(ids.bot, true), '', JSON.parse(body))));
    }
    response.writeHead(404).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  new WebSocketServer({ server }).on('connection', (socket) => {
    gateway = socket;
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 45000 } }));
    socket.on('message', (data) => {
      const { op } = JSON.parse(data);
      if (op === 1) socket.send(JSON.stringify({ op: 11 }));
      if (op !== 2) return;
      send(
        'READY',
        {
          v: 10,
          user: user(ids.bot, true),
          guilds: [{ id: ids.guild, unavailable: true }],
          session_id: 's',
          resume_gateway_url: `ws://127.0.0.1:${server.address().port}`,
          application: { id: ids.bot, flags: 0 },
        },
        1,
      );
      send(
        'GUILD_CREATE',
        {
          id: ids.guild,
          name: 'guild',
          owner_id: ids.person,
          channels: [
            { id: ids.channel, type: 0, name: 'talk', position: 0, permission_overwrites: [] },
          ],
          threads: [],
          members: [],
          roles: [
            {
              id: ids.guild,
              name: '@everyone',
              permissions: '274877975552',
              position: 0,
              color: 0,
              colors: { primary_color: 0 },
              hoist: false,
              managed: false,
              mentionable: false,
            },
          ],
          emojis: [],
          stickers: [],
          features: [],
          member_count: 2,
          presences: [],
          voice_states: [],
          stage_instances: [],
          guild_scheduled_events: [],
        },
        2,
      );
    });
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    posted,
    say: (content, author = user(ids.person, false)) =>
      send('MESSAGE_CREATE', message(author, content), 3),
    stop: () => (server.closeAllConnections(), server.close()),
  };
}

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
