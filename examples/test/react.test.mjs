// The React chat in Chromium, on an origin that its browser key names.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { browse, until } from "./chromium.mjs";

const world = JSON.parse(process.env.ADNET_WORLD);
const at = (path) => fileURLToPath(new URL(path, import.meta.url));
let server, browser;

before(async () => {
  const { outputFiles: [script] } = await build({ entryPoints: [at("../react-chat/chat.tsx")], bundle: true, format: "esm", jsx: "automatic", define: { "process.env.NODE_ENV": '"development"' }, write: false });
  const html = readFileSync(at("../react-chat/index.html"), "utf8").replace("https://ads.example.com", world.url).replace("pk_live_…", world.keys.browser);
  server = createServer((request, response) => {
    const js = request.url === "/chat.js";
    response.setHeader("Content-Type", js ? "text/javascript" : "text/html").end(js ? script.contents : html);
  }).listen(new URL(world.page).port, "localhost");
  browser = await browse();
});
after(async () => {
  await browser?.stop();
  server.closeAllConnections();
  server.close();
});

async function say(text) {
  await browser.page.type("input", text);
  await browser.page.click("button");
}

test("an answer gets an ad, which reports what the reader sees", async () => {
  const { page, errors, loaded } = browser;
  await page.goto(world.page);
  await say(`Where can I learn about ${world.values[0].WORD}native?`);
  await page.waitForSelector("aside a[rel='sponsored noopener']");
  const shown = await page.$eval("aside", (aside) => aside.innerText);
  for (const text of ["Sponsored", `Rides in a ${world.values[0].WORD}native`, "Why this ad?"]) assert.ok(shown.includes(text), `${text} in ${shown}`);
  const event = (name) => [...loaded].find(([url]) => url.includes(`event=${name}`))?.[1];
  assert.equal(await until("the impression", () => event("impression")), 200);
  assert.equal(await until("the viewable event", () => event("viewable")), 200);
  const asked = [...loaded].filter(([url]) => url.endsWith("/v1/ad-request"));
  assert.deepEqual(asked.map(([, status]) => status), [200]);
  assert.deepEqual(errors, []);
});

test("without an ad there is nothing, and the chat goes on", async () => {
  const { page, errors } = browser;
  await page.setRequestInterception(true);
  page.on("request", (request) => (request.url().endsWith("/v1/ad-request") ? request.abort() : request.continue()));
  await say("and now?");
  await page.waitForFunction(() => document.querySelectorAll("li").length === 2);
  await new Promise((done) => setTimeout(done, 500));
  assert.equal(await page.$("li:last-child aside"), null);
  assert.deepEqual(errors, []);
});
