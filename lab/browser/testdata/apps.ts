// A host of MCP Apps as its reference makes one: it asks for an ad, shows the card, and does what the
// card asks for.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const asked = new URLSearchParams(location.search);
const report = { opened: [] as string[], height: 0, title: '' };
Object.assign(window, { report });

const type = 'text/html;profile=mcp-app';
const client = new Client(
  { name: 'host', version: '1' },
  { capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [type] } } } },
);
await client.connect(
  new StreamableHTTPClientTransport(new URL('/api/mcp', location.href), {
    requestInit: { headers: { Authorization: 'Bearer ' + asked.get('key') } },
  }),
);
const call = {
  name: 'get_sponsored_content',
  arguments: { context: asked.get('context'), min_relevance: Number(asked.get('least')) },
};
const result: any = await client.callTool(call);
const tool: any = (await client.listTools()).tools.find((t) => t.name === call.name);
const { contents } = await client.readResource({
  uri: result._meta?.ui.resourceUri ?? tool._meta.ui.resourceUri,
});
const card: any = contents[0];
if (card.mimeType !== type) throw new Error(card.mimeType);
const { connectDomains, resourceDomains } = card._meta.ui.csp;

const bridge = new AppBridge(
  client,
  { name: 'host', version: '1' },
  { openLinks: {}, serverTools: {} },
  {
    hostContext: {
      theme: asked.get('theme') as 'light' | 'dark',
      locale: asked.get('locale') ?? 'en',
    },
  },
);
bridge.onopenlink = async ({ url }) => {
  report.opened.push(url);
  return {};
};
bridge.onsizechange = ({ height }) => {
  report.height = height ?? 0;
  frame.style.height = height + 'px';
};
bridge.oninitialized = () => {
  void bridge.sendToolInput({ arguments: call.arguments });
  void bridge.sendToolResult(result);
};
const frame = document.createElement('iframe');
frame.title = 'ad';
frame.setAttribute('sandbox', 'allow-scripts');
frame.style.cssText = 'border:0;width:100%;height:0';
const policy = `default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src ${connectDomains.join(' ') || "'none'"}; img-src data: ${resourceDomains.join(' ')}`;
frame.srcdoc = card.text.replace(
  '<head>',
  `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`,
);
document.querySelector('main')!.append(frame);
await bridge.connect(new PostMessageTransport(frame.contentWindow!, frame.contentWindow!));
