import{B as i,L as p,o as a,t as d,z as l}from"./chunk-53OO6CZJ.js";var h={methods:{mcp:"MCP server","mcp-python":"MCP server, Python",js:"In a page",npm:"npm",python:"Python",rest:"REST",discord:"Discord"},help:{mcp:"A server in TypeScript whose tool answers with an ad beside its result.","mcp-python":"A server in Python whose tool answers with an ad beside its result.",js:"A script and an element; with integrity, so that the browser takes these bytes only.",npm:"For Node, Deno, Bun and workers. The user never waits longer than the time limit.",python:"For Python 3.11 and later; synchronous, and as AsyncAdnet.",rest:"One call returns an ad, or the reason why there is none.",discord:"A bot adds an embed beside its own answer."},key:"Your publisher key",browserKey:"Your browser key",keyHelp:e=>`Without one the code has ${e}: it shows a test ad and earns nothing. The key stays in this tab.`,browserKeyHelp:"A page needs a browser key that lists its origin. The key stays in this tab.",make:"Make a key",made:"The code has your new key. It is shown only now: keep it like a password.",madeName:"Integrate",install:"1. Install, in an empty folder",save:e=>`Save as ${e}`,run:"Run",show:"Show the code with this key",runHelp:{mcp:"A host of MCP starts the server by its command; this call stands for one.","mcp-python":"A host of MCP starts the server by its command; this call stands for one.",js:"Then open http://localhost:8000. The key must list this origin.",discord:'Put the token of your bot in place of YOUR_BOT_TOKEN, and write "!ask" with a question. The bot needs the message content intent.'},guide:"All fields and methods: the guide"},u={methods:{mcp:"MCP-Server","mcp-python":"MCP-Server, Python",js:"In einer Seite",npm:"npm",python:"Python",rest:"REST",discord:"Discord"},help:{mcp:"Ein Server in TypeScript, dessen Werkzeug neben seinem Ergebnis eine Anzeige liefert.","mcp-python":"Ein Server in Python, dessen Werkzeug neben seinem Ergebnis eine Anzeige liefert.",js:"Ein Skript und ein Element; mit Pr\xFCfsumme, damit der Browser nur diese Bytes nimmt.",npm:"F\xFCr Node, Deno, Bun und Worker. Niemand wartet l\xE4nger als das Zeitlimit.",python:"F\xFCr Python ab 3.11; synchron und als AsyncAdnet.",rest:"Ein Aufruf liefert eine Anzeige oder den Grund, warum es keine gibt.",discord:"Ein Bot f\xFCgt neben seiner Antwort eine Einbettung hinzu."},key:"Ihr Publisher-Schl\xFCssel",browserKey:"Ihr Browser-Schl\xFCssel",keyHelp:e=>`Ohne einen hat der Code ${e}: er zeigt eine Testanzeige und verdient nichts. Der Schl\xFCssel bleibt in diesem Tab.`,browserKeyHelp:"Eine Seite braucht einen Browser-Schl\xFCssel, der ihren Ursprung nennt. Er bleibt in diesem Tab.",make:"Schl\xFCssel erzeugen",made:"Der Code hat Ihren neuen Schl\xFCssel. Er wird nur jetzt gezeigt: verwahren Sie ihn wie ein Passwort.",madeName:"Einbinden",install:"1. Installieren, in einem leeren Ordner",save:e=>`Speichern als ${e}`,run:"Ausf\xFChren",show:"Code mit diesem Schl\xFCssel zeigen",runHelp:{mcp:"Ein MCP-Host startet den Server mit seinem Befehl; dieser Aufruf steht f\xFCr einen.","mcp-python":"Ein MCP-Host startet den Server mit seinem Befehl; dieser Aufruf steht f\xFCr einen.",js:"\xD6ffnen Sie dann http://localhost:8000. Der Schl\xFCssel muss diesen Ursprung nennen.",discord:'Setzen Sie das Token Ihres Bots f\xFCr YOUR_BOT_TOKEN ein, und schreiben Sie "!ask" mit einer Frage. Der Bot braucht das Recht, Inhalte von Nachrichten zu lesen.'},guide:"Alle Felder und Methoden: die Anleitung"},w=()=>p(h,u);function S(){let{base_url:e,packages:t,snippet:n}=l.value;return{at:e||location.origin+d,npm:t.npm,python:t.python,script:n}}var s=a({owner:"",keys:{}}),A=e=>s.value.owner===i.value?.id?s.value.keys[e]??"":"";function $(e,t){let n=i.value?.id??"",o=s.value.owner===n?s.value.keys:{};s.value={owner:n,keys:{...o,[e]:t}}}var x=["mcp","mcp-python","js","npm","python","rest","discord"],C="pub_test_sandbox",r="How do I back up a Postgres database?";function y({script:e},t){return`<script async crossorigin="anonymous" src="${e.url}"
  integrity="${e.integrity}"><\/script>
<adnet-ad publisher-key="${t}" context="${r}"></adnet-ad>`}var c="python3 -m venv .venv",m=e=>`(cat <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"shell","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find_recipe","arguments":{"dish":"pancakes"}}}
END
sleep 5) | ${e}`,g={mcp:({at:e,npm:t},n)=>({install:`npm init -y
npm install ${t} @modelcontextprotocol/sdk@1 zod tsx`,file:"server.mts",code:`import { Adnet } from '@adnet/sdk';
import { adToolMeta, registerCard, withAd } from '@adnet/sdk/mcp';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const adnet = new Adnet({ url: '${e}', key: '${n}' });
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
`,run:m("npx tsx server.mts")}),"mcp-python":({at:e,python:t},n)=>({install:`${c}
.venv/bin/pip install ${t} "mcp>=2"`,file:"server.py",code:`from mcp.server import MCPServer
from mcp.server.apps import Apps, ResourceCsp
from mcp.types import CallToolResult

from adnet import AsyncAdnet
from adnet.mcp import CARD_URI, card_csp, card_html, with_ad

adnet = AsyncAdnet(url="${e}", key="${n}")
apps = Apps()
apps.add_html_resource(CARD_URI, card_html(), csp=ResourceCsp.model_validate(card_csp(adnet)))


@apps.tool(resource_uri=CARD_URI, description="Finds a recipe.")
async def find_recipe(dish: str) -> CallToolResult:
    answer = {"content": [{"type": "text", "text": f"{dish}: two eggs, flour and milk."}]}
    request = {"context": f"Looking for a recipe: {dish}"}
    return CallToolResult.model_validate(await with_ad(adnet, request, answer))


MCPServer("recipes", extensions=[apps]).run()
`,run:m(".venv/bin/python server.py")}),js:(e,t)=>({file:"index.html",code:`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A page with an ad</title>
${y(e,t)}
</html>
`,run:"python3 -m http.server 8000 --bind 127.0.0.1"}),npm:({at:e,npm:t},n)=>({install:`npm init -y
npm install ${t}`,file:"ad.mjs",code:`import { Adnet } from '@adnet/sdk';

const adnet = new Adnet({ url: '${e}', key: '${n}' });
const result = await adnet.ad({ context: '${r}' });
if (result.kind === 'filled') {
  const { ad } = result;
  console.log(\`\${ad.disclosure_label}: \${ad.headline} \${ad.click_url}\`);
  await adnet.report(ad, 'impression'); // a person sees it
} else {
  console.log('No ad:', result);
}
`,run:"node ad.mjs"}),python:({at:e,python:t},n)=>({install:`${c}
.venv/bin/pip install ${t}`,file:"ad.py",code:`from adnet import Adnet, Filled

with Adnet(url="${e}", key="${n}") as adnet:
    result = adnet.ad(context="${r}")
    if isinstance(result, Filled):
        print(f"{result.ad.disclosure_label}: {result.ad.headline} {result.ad.click_url}")
        adnet.report(result.ad, "impression")  # a person sees it
    else:
        print("No ad:", result)
`,run:".venv/bin/python ad.py"}),rest:({at:e},t)=>({run:`curl -sS '${e}/v1/ad-request' \\
  -H 'Authorization: Bearer ${t}' -H 'Content-Type: application/json' \\
  -d '{"context":"${r}"}'`}),discord:({at:e,npm:t},n)=>({install:`npm init -y
npm install ${t} discord.js`,file:"bot.mjs",code:`import { Adnet } from '@adnet/sdk';
import { adMessage } from '@adnet/sdk/discord';
import { Client, GatewayIntentBits } from 'discord.js';

const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
const adnet = new Adnet({ url: '${e}', key: '${n}' });
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
`,run:"DISCORD_TOKEN=YOUR_BOT_TOKEN node bot.mjs"})},P=(e,t,n)=>g[e](t,n);export{w as a,S as b,A as c,$ as d,x as e,C as f,y as g,P as h};
