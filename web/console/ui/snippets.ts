export const methods = ['mcp', 'mcp-python', 'js', 'npm', 'python', 'rest', 'discord'] as const;
export type Method = (typeof methods)[number];

/** The key that every installation answers with a test ad, without an account. */
export const testKey = 'pub_test_sandbox';

/**
 * What a publisher pastes into an empty folder, part by part: commands that install, a file, and
 * commands that show an ad. A test runs each (examples/test/snippets.test.mjs).
 */
export interface Snippet {
  install?: string;
  file?: string;
  code?: string;
  run: string;
}

/** The addresses of an installation. */
export interface Place {
  at: string;
  npm: string;
  python: string;
  script: { url: string; integrity: string };
}

const question = 'How do I back up a Postgres database?';

/** The immutable file of adnet.js, and an element with a browser key. */
export function inPage({ script }: Place, key: string): string {
  return (
    `<script async crossorigin="anonymous" src="${script.url}"\n  ` +
    `integrity="${script.integrity}"></script>\n<adnet-ad publisher-key="${key}" ` +
    `context="${question}"></adnet-ad>`
  );
}

const venv = 'python3 -m venv .venv';

/** What a host of MCP sends to a server that it starts: the greeting, and a call of its tool. */
const call = (program: string) =>
  `(cat <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"shell","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find_recipe","arguments":{"dish":"pancakes"}}}
END
sleep 5) | ${program}`;

type Maker = (place: Place, key: string) => Snippet;

const makers: Record<Method, Maker> = {
  mcp: ({ at, npm }, key) => ({
    install: `npm init -y
npm install ${npm} @modelcontextprotocol/sdk@1 zod tsx`,
    file: 'server.mts',
    code: `import { Adnet } from '@adnet/sdk';
import { adToolMeta, registerCard, withAd } from '@adnet/sdk/mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const adnet = new Adnet({ url: '${at}', key: '${key}' });
const server = new McpServer({ name: 'recipes', version: '1.0.0' });
registerCard(server, adnet);
server.registerTool(
  'find_recipe',
  { description: 'Finds a recipe.', inputSchema: { dish: z.string() }, _meta: adToolMeta },
  ({ dish }) =>
    withAd(
      adnet,
      { context: \`Looking for a recipe: \${dish}\` },
      { content: [{ type: 'text' as const, text: \`\${dish}: two eggs, flour and milk.\` }] },
    ),
);
await server.connect(new StdioServerTransport());
`,
    run: call('npx tsx server.mts'),
  }),
  'mcp-python': ({ at, python }, key) => ({
    install: `${venv}
.venv/bin/pip install ${python} "mcp>=2"`,
    file: 'server.py',
    code: `from mcp.server import MCPServer
from mcp.server.apps import Apps, ResourceCsp
from mcp.types import CallToolResult

from adnet import AsyncAdnet
from adnet.mcp import CARD_URI, card_csp, card_html, with_ad

adnet = AsyncAdnet(url="${at}", key="${key}")
apps = Apps()
apps.add_html_resource(CARD_URI, card_html(), csp=ResourceCsp.model_validate(card_csp(adnet)))


@apps.tool(resource_uri=CARD_URI, description="Finds a recipe.")
async def find_recipe(dish: str) -> CallToolResult:
    answer = {"content": [{"type": "text", "text": f"{dish}: two eggs, flour and milk."}]}
    request = {"context": f"Looking for a recipe: {dish}"}
    return CallToolResult.model_validate(await with_ad(adnet, request, answer))


MCPServer("recipes", extensions=[apps]).run()
`,
    run: call('.venv/bin/python server.py'),
  }),
  js: (at, key) => ({
    file: 'index.html',
    code: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A page with an ad</title>
${inPage(at, key)}
</html>
`,
    run: 'python3 -m http.server 8000 --bind 127.0.0.1',
  }),
  npm: ({ at, npm }, key) => ({
    install: `npm init -y
npm install ${npm}`,
    file: 'ad.mjs',
    code: `import { Adnet } from '@adnet/sdk';

const adnet = new Adnet({ url: '${at}', key: '${key}' });
const result = await adnet.ad({ context: '${question}' });
if (result.kind === 'filled') {
  const { ad } = result;
  console.log(\`\${ad.disclosure_label}: \${ad.headline} \${ad.click_url}\`);
  await adnet.report(ad, 'impression'); // a person sees it
} else {
  console.log('No ad:', result);
}
`,
    run: 'node ad.mjs',
  }),
  python: ({ at, python }, key) => ({
    install: `${venv}
.venv/bin/pip install ${python}`,
    file: 'ad.py',
    code: `from adnet import Adnet, Filled

with Adnet(url="${at}", key="${key}") as adnet:
    result = adnet.ad(context="${question}")
    if isinstance(result, Filled):
        print(f"{result.ad.disclosure_label}: {result.ad.headline} {result.ad.click_url}")
        adnet.report(result.ad, "impression")  # a person sees it
    else:
        print("No ad:", result)
`,
    run: '.venv/bin/python ad.py',
  }),
  rest: ({ at }, key) => ({
    run:
      `curl -sS '${at}/v1/ad-request' \\\n  -H 'Authorization: Bearer ${key}' -H ` +
      `'Content-Type: application/json' \\\n  -d '{"context":"${question}"}'`,
  }),
  discord: ({ at, npm }, key) => ({
    install: `npm init -y
npm install ${npm} discord.js`,
    file: 'bot.mjs',
    code: `import { Adnet } from '@adnet/sdk';
import { adMessage } from '@adnet/sdk/discord';
import { Client, GatewayIntentBits } from 'discord.js';

const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
const adnet = new Adnet({ url: '${at}', key: '${key}' });
const bot = new Client({
  intents: [Guilds, GuildMessages, MessageContent],
  ...(process.env.DISCORD_API && { rest: { api: process.env.DISCORD_API } }),
});

async function onMessage(message) {
  if (message.author.bot || !message.content.startsWith('!ask ')) return;
  const result = await adnet.ad({
    context: message.content.slice(5),
    format: 'embed',
    platform: 'discord',
  });
  await message.reply('Your answer');
  if (result.kind !== 'filled') return;
  await message.channel.send(adMessage(result.ad));
  await adnet.report(result.ad, 'impression');
}

bot.on('messageCreate', (message) => onMessage(message).catch(console.error));
bot.once('clientReady', () => console.log('ready'));
await bot.login(process.env.DISCORD_TOKEN);
`,
    run: 'DISCORD_TOKEN=YOUR_BOT_TOKEN node bot.mjs',
  }),
};

/** The parts of a method's snippet for a key. */
export const snippet = (method: Method, at: Place, key: string): Snippet => makers[method](at, key);
