// Both MCP servers, driven by the official client, and their cards by the reference host of MCP
// Apps (AppBridge) in Chromium.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { build } from 'esbuild';
import { browse, until } from './chromium.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const servers = {
  TypeScript: { command: at('../node_modules/.bin/tsx'), args: [at('../mcp-server/server.ts')] },
  Python: { command: process.env.ADNET_PYTHON, args: [at('../mcp-server-python/server.py')] },
};

const appsOfHost = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};

async function connected(server, url = world.url) {
  const client = new Client({ name: 'tests', version: '1.0.0' }, { capabilities: appsOfHost });
  const env = { ...process.env, ADNET_URL: url, ADNET_KEY: world.keys.sandbox };
  await client.connect(new StdioClientTransport({ ...server, env, stderr: 'inherit' }));
  return client;
}

/** Shows the card of a result as a host does, and answers the frame of it. */
async function show(page, host, { html, csp, result }) {
  await page.goto(`${world.url}/healthz`); // some page
  await page.setContent(
    "<!doctype html><iframe id=app sandbox='allow-scripts' style='width:600px;height:300px'></iframe>",
  );
  await page.addScriptTag({ content: host });
  await page.evaluate((given) => globalThis.showCard(given), { html, csp, result });
  const handle = await page.waitForSelector('#app');
  return handle.contentFrame();
}

for (const [language, server] of Object.entries(servers)) {
  describe(`the MCP server in ${language}`, () => {
    let client;
    before(async () => {
      client = await connected(server);
    });
    after(() => client.close());

    test('names the card in its tool, and serves it', async () => {
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map((tool) => [tool.name, tool._meta.ui.resourceUri]),
        [['find_recipe', 'ui://adnet/ad']],
      );
      const {
        contents: [card],
      } = await client.readResource({ uri: 'ui://adnet/ad' });
      assert.equal(card.mimeType, 'text/html;profile=mcp-app');
      assert.deepEqual(card._meta.ui.csp.connectDomains, [world.url]);
    });

    test("adds a labelled ad for the person to the tool's answer", async () => {
      const result = await client.callTool({
        name: 'find_recipe',
        arguments: { dish: 'Pancakes' },
      });
      const [answer, ad] = result.content;
      assert.match(answer.text, /Two eggs/);
      assert.equal(answer.annotations, undefined);
      assert.deepEqual(ad.annotations.audience, ['user']);
      assert.match(ad.text, /^\*\*Sponsored:\*\* /);
      assert.deepEqual(Object.keys(result.structuredContent), ['dish', 'recipe']);
      assert.match(result.structuredContent.recipe, /Two eggs/);
      const sponsored = result._meta['adnet/ad'];
      assert.equal(sponsored.disclosure_label, 'Sponsored');
      assert.equal(sponsored.auction_id, undefined, "the auction's token stays on the server");
      assert.equal(result._meta.ui.resourceUri, 'ui://adnet/ad');
    });

    test('adds none to a failure', async () => {
      const result = await client.callTool({ name: 'find_recipe', arguments: { dish: 'gravel' } });
      assert.equal(result.isError, true);
      assert.equal(result.content.length, 1);
    });

    test('answers as well when adnet is away', async () => {
      const alone = await connected(server, 'http://127.0.0.1:9');
      const result = await alone.callTool({ name: 'find_recipe', arguments: { dish: 'risotto' } });
      assert.equal(result.content.length, 1);
      assert.match(result.content[0].text, /rice/);
      await alone.close();
    });
  });
}

test('the reference host shows the card, which reports what the reader sees', async () => {
  const client = await connected(servers.TypeScript);
  const {
    contents: [card],
  } = await client.readResource({ uri: 'ui://adnet/ad' });
  const result = await client.callTool({ name: 'find_recipe', arguments: { dish: 'Pancakes' } });
  await client.close();
  const ad = result._meta['adnet/ad'];
  const {
    outputFiles: [host],
  } = await build({ entryPoints: [at('host.mjs')], bundle: true, format: 'iife', write: false });
  const { page, errors, loaded, stop } = await browse();
  try {
    const frame = await show(page, host.text, { html: card.text, csp: card._meta.ui.csp, result });
    await frame.waitForSelector('main');
    const shown = await frame.$eval('main', (card) => card.innerText);
    for (const text of ['Sponsored', ad.headline, ad.body, ad.cta_label, 'Why this ad?'])
      assert.ok(shown.includes(text), `${text} in ${shown}`);
    assert.equal(await until('the impression', () => loaded.get(ad.impression_url)), 200);
    assert.equal(await until('the viewable event', () => loaded.get(ad.viewable_url)), 200);
    await frame.click('.cta');
    assert.deepEqual(
      await until('the host to be asked for the link', () =>
        page.evaluate(() => globalThis.opened.length && globalThis.opened),
      ),
      [ad.click_url],
    );
    assert.ok(
      await page.evaluate(() => globalThis.height > 40),
      "the host knows the card's height",
    );
    assert.deepEqual(errors, []);
  } finally {
    await stop();
  }
});
