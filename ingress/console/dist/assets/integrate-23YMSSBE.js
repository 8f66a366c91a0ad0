import{a as $,b as x,c as m}from"./chunk-L5SU6SVM.js";import{a as e,b,d as v}from"./chunk-VLWHFZ3S.js";import{E as h,a as p,c as g,j as l,l as c,m as u,o as y,q as w,w as t}from"./chunk-HRNRLIPL.js";import{e as f}from"./chunk-HEG4UUZV.js";var k=["rest","mcp","js","python","discord"];function j(){let[n,o]=p("rest"),a=b(()=>u(c.GET("/api/keys")),[]);return e($,{title:t().integrate,lead:t().integrateLead,children:[e(C,{}),e(v,{of:a,children:({keys:r})=>{let s=r.find(i=>i.kind==="publisher");return e(f,{children:[s?e("p",{class:"note",children:t().snippetKey(s.name||s.prefix,s.prefix)}):e("p",{class:"notice",children:[t().needKey," ",e("a",{href:`${l}/console/keys`,children:t().makeKey})]}),e(m,{wide:!0,children:[e("fieldset",{class:"tabs",children:[e("legend",{class:"hidden",children:t().method}),k.map(i=>e("label",{children:[e("input",{type:"radio",name:"method",value:i,checked:i===n,onChange:()=>o(i)}),e("span",{children:t().methods[i]})]},i))]}),e("p",{children:t().methodHelp[n]}),e(x,{text:S(n,y.value?.base_url??location.origin+l,s?`${s.prefix}\u2026`:"YOUR_KEY"),label:t().methods[n]})]}),e(m,{title:t().afterwards,wide:!0,children:e("ol",{class:"steps",children:[e("li",{children:t().stepImpression}),e("li",{children:t().stepClick}),e("li",{children:t().stepLabel})]})})]})}})]})}function C(){let[n,o]=p("waiting");return g(()=>{let a=0,r=0,s=!1,i=async()=>{try{let d=await u(c.GET("/api/stats",{params:{query:{type:"developer",developer_id:w.value.developer_id,since:h(29),until:h()}}}));if(s)return;if(d.impressions+d.sandbox+d.invalid_impressions>0)return o("seen");++a<120&&(r=window.setTimeout(()=>{i()},5e3))}catch{s||o("unknown")}};return i(),()=>{s=!0,clearTimeout(r)}},[]),e("p",{class:`light ${n}`,role:"status",children:[e("span",{class:"dot","aria-hidden":"true"}),n==="seen"?t().lightSeen:n==="waiting"?t().lightWaiting:t().errorUnknown]})}function S(n,o,a){switch(n){case"rest":return`curl -sS '${o}/v1/ad-request' \\
  -H 'Authorization: Bearer ${a}' -H 'Content-Type: application/json' \\
  -d '{"context":"How do I cache a monorepo pipeline?","platform":"web"}'`;case"mcp":return`{
  "mcpServers": {
    "adnet": {
      "type": "http",
      "url": "${o}/api/mcp",
      "headers": { "Authorization": "Bearer ${a}" }
    }
  }
}`;case"js":return`// On your server: the key is a secret.
const reply = await fetch('${o}/v1/ad-request', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${a}', 'Content-Type': 'application/json' },
  body: JSON.stringify({ context: question, platform: 'web' }),
  signal: AbortSignal.timeout(1500),
});
const { ad } = await reply.json(); // no ad: show nothing`;case"python":return`import httpx

reply = httpx.post(
    "${o}/v1/ad-request",
    headers={"Authorization": "Bearer ${a}"},
    json={"context": question, "platform": "web"},
    timeout=1.5,
)
ad = reply.json().get("ad")  # None: show nothing`;case"discord":return`// discord.js: beside the bot's own answer
const { ad } = await (await fetch('${o}/v1/ad-request', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${a}', 'Content-Type': 'application/json' },
  body: JSON.stringify({ context: message.content, platform: 'discord' }),
})).json();
if (ad) await message.channel.send({ embeds: [{ title: ad.headline, description: ad.body,
  url: ad.click_url, footer: { text: ad.disclosure_label } }] });`}}export{j as default};
