// The mock of an installation. http://…/CASE/ in front of a path says which case of the table a
// call
// belongs to: the replies are the case's, byte for byte, with its delays, cuts and closed
// connections. Before that the call and its reply go through a proxy of Prism, which holds both to
// openapi.json; of cases with "prism" the reply is what Prism makes of the document itself.
// GET /CASE/log tells what arrived and what Prism found wrong with it.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { answers, freePort } from './world.mjs';

/** What names mean in cases that a mock answers. */
export const values = {
  WORD: 'word',
  AD_ID: '5f0c2a4e-9f2f-4d7e-8c58-0a1f4d0f2b10',
  AUCTION_ID: 'AQmock',
  CLICK_ID: 'AQgCmock',
};

/** value with ${NAME} and "@ad" put in. */
export function filledIn(value, table, names) {
  if (typeof value === 'string') {
    if (value.startsWith('@')) return table.ads[value.slice(1)];
    if (value === '${LONG}') return 'long '.repeat(10_000);
    return value.replace(/\$\{(\w+)\}/g, (_, name) => names[name]);
  }
  if (Array.isArray(value)) return value.map((one) => filledIn(one, table, names));
  if (value && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, filledIn(one, table, names)]),
    );
  return value;
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function prism(command, document, ...rest) {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [
      new URL('node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url).pathname,
      command,
      '-h',
      '127.0.0.1',
      '-p',
      `${port}`,
      '-v',
      'error',
      document,
      ...rest,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

/** Starts the mock of document for the cases of table. */
export async function mock(document, table) {
  const arrived = new Map();
  const server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      response.writeHead(599).end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const [mocked, proxy] = await Promise.all([
    prism('mock', document),
    prism('proxy', document, `${url}/upstream`),
  ]);
  await Promise.all([answers(`${mocked.url}/healthz`), answers(`${proxy.url}/healthz`)]);

  /** Prism's verdict on a request and the case's reply; an empty list is none. */
  async function violations(path, headers, text, index) {
    const reply = await fetch(proxy.url + path, {
      method: 'POST',
      headers: { ...headers, 'x-case': `${index}` },
      body: text,
    });
    await reply.text();
    return JSON.parse(reply.headers.get('sl-violations') ?? '[]');
  }

  async function serve(request, response) {
    if (request.url.startsWith('/upstream')) {
      if (request.headers['x-case'] === undefined)
        return response
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end('{"status":"ok"}');
      const {
        status = 200,
        headers = {},
        body: sent,
        text = '',
      } = table.cases[request.headers['x-case']].replies?.at(-1) ?? {};
      return response
        .writeHead(status, { 'Content-Type': 'application/json', ...headers })
        .end(sent === undefined ? text : JSON.stringify(filledIn(sent, table, values)));
    }
    const [, turn, path] = /^\/([^/]+)(\/.*)$/.exec(request.url);
    const index = Number.parseInt(turn, 10); // what follows tells clients apart
    const log = arrived.get(turn) ?? [];
    if (path === '/log') return response.end(JSON.stringify(log));
    const one = table.cases[index];
    const text = await body(request);
    const { host: _, 'content-length': __, connection: ___, ...headers } = request.headers;
    log.push({
      path,
      headers,
      body: JSON.parse(text),
      violations: one.invalid || one.prism ? [] : await violations(path, headers, text, index),
    });
    arrived.set(turn, log);
    if (one.prism) {
      const made = await fetch(mocked.url + path, {
        method: 'POST',
        headers: { ...headers, Prefer: one.prism },
        body: text,
      });
      return response
        .writeHead(made.status, { 'Content-Type': 'application/json' })
        .end(await made.text());
    }
    await play(one.replies[Math.min(log.length, one.replies.length) - 1], response, table);
  }
  return {
    url,
    stop: () => (mocked.stop(), proxy.stop(), server.closeAllConnections(), server.close()),
  };
}

/** Sends one reply of the table. */
async function play(
  { status = 200, headers = {}, body: value, text, delay_ms = 0, cut, stall, reset, drip_ms },
  response,
  table,
) {
  if (reset) return response.destroy();
  if (drip_ms) {
    // the head of a reply, byte by byte
    const { socket } = response;
    for (const byte of `HTTP/1.1 200 OK\r\nServer: ${'slow '.repeat(50)}`) {
      if (socket.destroyed) return;
      socket.write(byte);
      await new Promise((done) => setTimeout(done, drip_ms));
    }
    return socket.destroy();
  }
  await new Promise((done) => setTimeout(done, delay_ms));
  const sent = value === undefined ? text : JSON.stringify(filledIn(value, table, values));
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(sent),
    ...headers,
  });
  if (cut !== undefined) return response.write(sent.slice(0, cut), () => response.destroy());
  if (stall !== undefined) return response.write(sent.slice(0, stall)); // and nothing more
  response.end(sent);
}
