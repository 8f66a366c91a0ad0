import { base, info } from '../state';

export const methods = ['mcp', 'js', 'npm', 'python', 'rest', 'discord'] as const;
export type Method = (typeof methods)[number];

/** The immutable file of adnet.js, and an element with a browser key. */
export function inPage(key: string): string {
  const { url, integrity } = info.value!.snippet;
  return (
    `<script async crossorigin="anonymous" src="${url}"\n  ` +
    `integrity="${integrity}"></script>\n<adnet-ad publisher-key="${key}" context="How do ` +
    `I cache a monorepo pipeline?"></adnet-ad>`
  );
}

/** The code that a publisher pastes for an integration method. */
export function snippet(method: Method, key: string): string {
  const at = info.value?.base_url ?? location.origin + base;
  switch (method) {
    case 'mcp':
      return (
        `{\n  "mcpServers": {\n    "adnet": {\n      "type": "http",\n      "url": ` +
        `"${at}/api/mcp",\n      "headers": { "Authorization": "Bearer ${key}" }\n    }\n  ` +
        `}\n}`
      );
    case 'js':
      return inPage(key);
    case 'npm':
      return (
        `import { Adnet } from "@adnet/sdk";\n\nconst adnet = new Adnet({ url: "${at}", ` +
        `key: "${key}" });\nconst result = await adnet.ad({ context: question, platform: ` +
        `"web" });\nif (result.kind === "filled") show(result.ad); // else: show nothing`
      );
    case 'python':
      return (
        `from adnet import Adnet\n\nadnet = Adnet(url="${at}", key="${key}")\nresult = ` +
        `adnet.ad(context=question, platform="web")\nif result.kind == "filled":\n    ` +
        `show(result.ad)  # else: show nothing`
      );
    case 'rest':
      return (
        `curl -sS '${at}/v1/ad-request' \\\n  -H 'Authorization: Bearer ${key}' -H ` +
        `'Content-Type: application/json' \\\n  -d '{"context":"How do I cache a monorepo ` +
        `pipeline?","platform":"web"}'`
      );
    case 'discord':
      return (
        `// discord.js: beside the bot's own answer\nimport { Adnet } from ` +
        `"@adnet/sdk";\nimport { adMessage } from "@adnet/sdk/discord";\n\nconst adnet = ` +
        `new Adnet({ url: "${at}", key: "${key}" });\nconst result = await adnet.ad({ ` +
        `context: message.content, format: "embed", platform: "discord" });\nif ` +
        `(result.kind === "filled") {\n  await ` +
        `message.channel.send(adMessage(result.ad));\n  await adnet.report(result.ad, ` +
        `"impression");\n}`
      );
  }
}
