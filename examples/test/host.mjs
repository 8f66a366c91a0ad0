// A host of MCP Apps in a page, of its reference implementation: it shows a card in a sandboxed
// frame
// under the policy that the server declared.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

globalThis.opened = [];

globalThis.showCard = async ({ html, csp, result }) => {
  const policy =
    `default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; ` +
    `connect-src ${csp.connectDomains.join(' ')}`;
  const frame = document.getElementById('app');
  const bridge = new AppBridge(
    null,
    { name: 'tests', version: '1.0.0' },
    { openLinks: {} },
    { hostContext: { theme: 'dark' } },
  );
  const ready = new Promise((done) => (bridge.oninitialized = done));
  bridge.onopenlink = async ({ url }) => (globalThis.opened.push(url), {});
  bridge.onsizechange = ({ height }) => (globalThis.height = height);
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html.replace(
    '<meta charset',
    `<meta http-equiv="Content-Security-Policy" content="${policy}"><meta charset`,
  );
  await ready;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result);
};
