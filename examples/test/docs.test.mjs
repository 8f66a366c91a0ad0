// Runs every code block of docs/integrating.md that is not for a shell (those: cmd/readme_test.go),
// against a real installation. A block of a kind that nothing here knows how to run is a failure.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { build } from 'esbuild';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { browse, until } from './chromium.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const page = readFileSync(process.env.ADNET_MANUAL, 'utf8');
const schemas = JSON.parse(readFileSync(process.env.ADNET_OPENAPI, 'utf8')).components.schemas;

/** The blocks in their order, with the installation and the keys of the test. */
const blocks = [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({
  language,
  lines: text.trim().split('\n').length,
  text: text
    .replaceAll('http://127.0.0.1:8080', world.url)
    .replaceAll('https://ads.example.com', world.url)
    .replaceAll('pk_live_…', world.keys.browser)
    .replaceAll('conv_live_…', world.keys.conversion)
    .replaceAll('AQgC…', world.values[0].CLICK_ID)
    .replaceAll('pub_…', world.keys.publisher),
}));
const of = (...languages) => blocks.filter((block) => languages.includes(block.language));

let folder;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'adnet-docs-'));
  symlinkSync(at('../node_modules'), join(folder, 'node_modules'));
  cpSync(at('../ai-sdk/model.ts'), join(folder, 'model.ts'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
});
after(() => rmSync(folder, { recursive: true }));

test('every block is of a kind that is run', () => {
  const known = ['sh', 'bash', 'js', 'ts', 'tsx', 'python', 'json', 'html', 'csp', 'css', 'http'];
  assert.deepEqual(
    blocks.filter(({ language }) => !known.includes(language)),
    [],
  );
  for (const { lines } of of('js').concat(of('python')[0], of('html')[0]))
    assert.ok(lines <= 10, 'five minutes are ten lines');
});

const packages = {
  js: {
    line: 'npm install @adnet/sdk',
    install: (place) => {
      writeFileSync(join(place, 'package.json'), '{}'); // else npm looks in the folders above
      execFileSync('npm', ['install', '--silent', process.env.ADNET_TARBALL], { cwd: place });
    },
    command: () => process.execPath,
    ending: 'mjs',
  },
  python: {
    line: 'pip install adnet',
    install: (place) => {
      execFileSync(process.env.ADNET_PYTHON, ['-m', 'venv', join(place, 'venv')]);
      execFileSync(join(place, 'venv/bin/pip'), ['install', '-q', process.env.ADNET_WHEEL], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    },
    command: (place) => join(place, 'venv/bin/python'),
    ending: 'py',
  },
};

for (const [language, { line, install, command, ending }] of Object.entries(packages)) {
  test(`the built package installs into an empty folder, and the blocks in ${language} run`, () => {
    assert.ok(
      of('bash').some(({ text }) => text.trim() === line),
      `the page says ${line}`,
    );
    const place = join(folder, `empty-${language}`);
    mkdirSync(place);
    install(place);
    for (const [index, { text }] of of(language).entries()) {
      writeFileSync(join(place, `block${index}.${ending}`), text);
      const { status, stdout, stderr } = spawnSync(command(place), [`block${index}.${ending}`], {
        cwd: place,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      assert.match(
        stdout,
        index === 0
          ? /^Sponsored: .* http/
          : text.includes('helpline')
            ? /^helpline: /
            : /^tracked/,
      );
    }
  });
}

test('TypeScript blocks type-check and run', async () => {
  const files = of('ts', 'tsx').map(({ language, text }, index) => {
    const file = join(folder, `block${index}.${language}`);
    writeFileSync(file, text);
    return { file, text };
  });
  cpSync(at('../tsconfig.json'), join(folder, 'tsconfig.json'));
  const { include: _, ...config } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'));
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ ...config, files: files.map(({ file }) => file) }),
  );
  const checked = spawnSync(at('../node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
  assert.equal(checked.status, 0, checked.stdout);

  const loaded = async (part) => {
    const { file } = files.find(({ text }) => text.includes(part));
    const outfile = file.replace(/\.tsx?$/, '.mjs');
    await build({
      entryPoints: [file],
      bundle: true,
      format: 'esm',
      jsx: 'automatic',
      packages: 'external',
      outfile,
    });
    return outfile;
  };
  const server = await loaded('registerCard');
  const started = spawnSync(process.execPath, [server], {
    encoding: 'utf8',
    input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
  });
  assert.equal(started.status, 0, started.stderr);
  assert.match(started.stdout, /"result":\{\}/);

  const { Answer } = await import(pathToFileURL(await loaded('SponsoredAd')));
  assert.equal(
    renderToString(createElement(Answer, { question: 'x', turn: 1 })),
    '',
    'nothing before there is an ad',
  );

  const { POST } = await import(pathToFileURL(await loaded('withoutAds')));
  const body = JSON.stringify({
    messages: [
      {
        id: '1',
        role: 'user',
        parts: [{ type: 'text', text: 'How do I back up a Postgres database?' }],
      },
    ],
  });
  const streamed = await (
    await POST(new Request('http://localhost/', { method: 'POST', body }))
  ).text();
  assert.match(streamed, /"type":"data-ad".*"disclosure_label":"Sponsored"/);
  assert.match(streamed, /"type":"text-delta"/);

  const { besideAnswer } = await import(pathToFileURL(await loaded('besideAnswer')));
  assert.match(
    await besideAnswer('How do I back up a Postgres database?', ['self-harm/intent']),
    /not alone/,
  );
  assert.doesNotMatch(await besideAnswer('How do I back up a Postgres database?', []), /not alone/);

  const { helpBeside } = await import(pathToFileURL(await loaded('helpBeside')));
  const [ad, help] = [new EventTarget(), { hidden: true }];
  helpBeside(ad, help);
  ad.dispatchEvent(Object.assign(new Event('empty'), { detail: { reason: 'unsuitable' } }));
  assert.equal(help.hidden, false);

  const sent = [];
  const { showAd } = await import(pathToFileURL(await loaded('@adnet/sdk/discord')));
  await showAd(
    { send: async (message) => sent.push(message) },
    'How do I back up a Postgres database?',
  );
  assert.equal(sent[0].embeds[0].footer.text, 'Sponsored');
});

test('JSON blocks are what the API answers, and MCP configurations work', async () => {
  for (const { text } of of('json')) {
    const value = JSON.parse(text);
    if (value.mcpServers) {
      const { type, url, headers } = value.mcpServers.adnet;
      assert.equal(type, 'http');
      const client = new Client({ name: 'docs', version: '1.0.0' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
      );
      assert.ok(
        (await client.listTools()).tools.some(({ name }) => name === 'get_sponsored_content'),
      );
      await client.close();
    } else if (value.code) {
      assert.ok(schemas.Error.properties.code.enum.includes(value.code));
    } else {
      const known = value.ad ? schemas.Ad.properties : schemas.AdReply.properties;
      for (const name of Object.keys(value.ad ?? value))
        assert.ok(name in known, `${name} is a field`);
      if (value.reason) assert.ok(known.reason.enum.includes(value.reason));
    }
  }
});

test('HTTP blocks answer as the text says', async () => {
  const register = await (
    await fetch(`${world.url}/api/auth?action=register`, {
      method: 'POST',
      body: JSON.stringify({
        email: `docs-${Date.now()}@example.com`,
        password: 'kittens climb old trees',
      }),
    })
  ).json();
  const token = register.session?.access_token ?? register.access_token;
  const call = async (path, body, bearer = token) => {
    const reply = await fetch(world.url + path, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(bearer && { Authorization: `Bearer ${bearer}` }),
      },
      body,
    });
    return { status: reply.status, said: await reply.json() };
  };
  const { said: made } = await call(
    '/api/keys',
    JSON.stringify({ kind: 'browser', name: 'page', origins: ['https://app.example.com'] }),
  );
  for (const line of of('http').flatMap(({ text }) => text.trim().split('\n'))) {
    const [, path, body] = /^POST (\S+)\s*(.*)$/.exec(line);
    if (path.startsWith('/api/rtb/')) {
      const { status } = await call(
        path,
        '{"id":"1","imp":[{"id":"1","banner":{"w":300,"h":250}}]}',
        '',
      );
      assert.equal(
        status,
        401,
        'a key in a path that was never issued, or from an address that it does not name',
      );
      continue;
    }
    const { status, said } = await call(path.replace('KEY_ID', made.id ?? made.key_id), body);
    // An exchange has its seat of the operator: the same call is refused to everyone else.
    assert.ok(
      status === 201 || (body.includes('seatpath') && status === 403),
      `${line}: ${status} ${JSON.stringify(said)}`,
    );
  }
});

test('HTML blocks show an ad on a page with the policy of the text', async () => {
  const policy = of('csp')[0].text.trim();
  const bodies = of('html').map(({ text }) => text);
  const server = createServer((request, response) => {
    if (request.url === '/favicon.ico') return response.writeHead(204).end();
    response
      .setHeader('Content-Type', 'text/html; charset=utf-8')
      .setHeader('Content-Security-Policy', `default-src 'none'; ${policy}`);
    response.end(
      `<!doctype html><html ` +
        `lang="en"><title>page</title><main>${bodies[Number(request.url.slice(1))]}</main>`,
    );
  }).listen(new URL(world.page).port, 'localhost');
  const { page, errors, stop } = await browse();
  const broken = [];
  page.on('console', (message) => message.type() === 'error' && broken.push(message.text()));
  try {
    for (const [index, text] of bodies.entries()) {
      await page.goto(`${world.page}/${index}`);
      if (text.includes('<adnet-ad')) {
        assert.match(
          await until('the ad', () =>
            page.evaluate(
              () =>
                document.querySelector('adnet-ad').shadowRoot?.querySelector('.label')?.textContent,
            ),
          ),
          /Sponsored/,
        );
      } else if (text.includes('<script')) {
        await page.waitForFunction(() => customElements.get('adnet-ad'));
      } else {
        assert.match(
          await page.$eval('a[rel~=sponsored]', (link) => link.closest('aside').innerText),
          /Sponsored/,
        );
      }
    }
    assert.deepEqual([...errors, ...broken], []);
  } finally {
    await stop();
    server.closeAllConnections();
    server.close();
  }
});
