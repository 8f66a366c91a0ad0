// Discord's gateway and API, mocked at the HTTP level: discord.js speaks to them as to Discord.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { WebSocketServer } from 'ws';

export const ids = {
  bot: '100000000000000001',
  guild: '100000000000000002',
  channel: '100000000000000003',
  person: '100000000000000004',
};
export const user = (id, bot) => ({
  id,
  username: bot ? 'bot' : 'person',
  discriminator: '0',
  avatar: null,
  bot,
});

/** Discord: what the bot posts is in posted, say() is a person's message. */
export async function discord() {
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
