import{m as o,s as r}from"./chunk-KQ4SWXTT.js";var i=["mcp","js","npm","python","rest","discord"];function s(t){let{url:e,integrity:n}=r.value.snippet;return`<script async crossorigin="anonymous" src="${e}"
  integrity="${n}"><\/script>
<adnet-ad publisher-key="${t}" context="How do I cache a monorepo pipeline?"></adnet-ad>`}function d(t,e){let n=r.value?.base_url??location.origin+o;switch(t){case"mcp":return`{
  "mcpServers": {
    "adnet": {
      "type": "http",
      "url": "${n}/api/mcp",
      "headers": { "Authorization": "Bearer ${e}" }
    }
  }
}`;case"js":return s(e);case"npm":return`import { Adnet } from "@adnet/sdk";

const adnet = new Adnet({ url: "${n}", key: "${e}" });
const result = await adnet.ad({ context: question, platform: "web" });
if (result.kind === "filled") show(result.ad); // else: show nothing`;case"python":return`from adnet import Adnet

adnet = Adnet(url="${n}", key="${e}")
result = adnet.ad(context=question, platform="web")
if result.kind == "filled":
    show(result.ad)  # else: show nothing`;case"rest":return`curl -sS '${n}/v1/ad-request' \\
  -H 'Authorization: Bearer ${e}' -H 'Content-Type: application/json' \\
  -d '{"context":"How do I cache a monorepo pipeline?","platform":"web"}'`;case"discord":return`// discord.js: beside the bot's own answer
import { Adnet } from "@adnet/sdk";
import { adMessage } from "@adnet/sdk/discord";

const adnet = new Adnet({ url: "${n}", key: "${e}" });
const result = await adnet.ad({ context: message.content, format: "embed", platform: "discord" });
if (result.kind === "filled") {
  await message.channel.send(adMessage(result.ad));
  await adnet.report(result.ad, "impression");
}`}}export{i as a,s as b,d as c};
