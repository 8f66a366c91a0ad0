// Every snippet of the console (web/console/ui/snippets.ts), pasted unchanged into an empty folder,
// shows an ad of a real installation, which serves the packages.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { transformSync } from 'esbuild';
import { browse, until } from './chromium.mjs';
import { discord } from './gateway.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const source = fileURLToPath(new URL('../../web/console/ui/snippets.ts', import.meta.url));
const { code } = transformSync(readFileSync(source, 'utf8'), { loader: 'ts', format: 'esm' });
const { methods, snippet, testKey } = await import(
  `data:text/javascript,${encodeURIComponent(code)}`
);
const info = await (await fetch(`${world.url}/api/info`)).json();
const place = { at: info.base_url, ...info.packages, script: info.snippet };

/** Runs a part of a snippet in its folder, to its end unless stop is awaited. */
function shell(folder, line, env = {}) {
  const child = spawn('bash', ['-c', line], {
    cwd: folder,
    detached: true, // a group of its own, which ends with it
    env: { ...process.env, PYTHONUNBUFFERED: '1', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const running = { said: '' };
  child.stdout.on('data', (chunk) => (running.said += chunk));
  running.end = new Promise((done) => child.on('exit', done));
  running.stop = () => process.kill(-child.pid);
  return running;
}

/** What shows that a method's ad is there. */
const proofs = {
  async js(folder, run) {
    const { port } = new URL(world.page); // the browser key lists its origin
    assert.match(run, / 8000 /);
    const server = shell(folder, `exec ${run.replace('8000', port)}`);
    const { page, errors, stop } = await browse();
    try {
      await until('the page', () =>
        page.goto(world.page).then(
          () => true,
          () => false,
        ),
      );
      const label = () =>
        document.querySelector('adnet-ad')?.shadowRoot?.querySelector('.label')?.textContent;
      assert.match(await until('the ad', () => page.evaluate(label)), /Sponsored/);
      assert.deepEqual(errors, []);
    } finally {
      await stop();
      server.stop();
    }
  },
  async discord(folder, run) {
    const mocked = await discord();
    assert.match(run, /YOUR_BOT_TOKEN/);
    const bot = shell(folder, run.replace('YOUR_BOT_TOKEN', 'Ym90.x.y'), {
      DISCORD_API: mocked.url,
    });
    try {
      await until('the bot', () => bot.said.includes('ready'));
      mocked.say('!ask how do I back up postgres?');
      await until('the ad', () => mocked.posted.length >= 2);
      assert.equal(mocked.posted[1].embeds[0].footer.text, 'Sponsored');
    } finally {
      bot.stop();
      mocked.stop();
    }
  },
};

async function printed(folder, run) {
  const shown = shell(folder, run);
  await shown.end;
  assert.match(shown.said, /Sponsored/);
}

for (const method of methods) {
  test(`the snippet ${method} shows an ad in an empty folder`, { timeout: 300_000 }, async () => {
    const key = method === 'js' ? world.keys.browser : testKey;
    const { install, file, code, run } = snippet(method, place, key);
    for (const text of [install, code, run]) assert.doesNotMatch(text ?? '', /…/);
    const folder = mkdtempSync(join(tmpdir(), 'adnet-snippet-'));
    try {
      if (install) execFileSync('bash', ['-ec', install], { cwd: folder, stdio: 'pipe' });
      if (file) writeFileSync(join(folder, file), code);
      await (proofs[method] ?? printed)(folder, run);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
