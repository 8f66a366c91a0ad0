// A reader's browser: Debian's Chromium, with a reader's user agent, because that of a headless one
// is invalid traffic.
import { execSync } from 'node:child_process';
import puppeteer from 'puppeteer-core';

/** Starts the browser and opens a page that keeps what went wrong in it. */
export async function browse() {
  const executablePath = execSync(
    'command -v chromium || command -v chromium-browser || command -v google-chrome',
    { shell: '/bin/sh' },
  )
    .toString()
    .trim();
  const browser = await puppeteer.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const page = await browser.newPage();
  await page.setUserAgent({
    userAgent:
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) ' +
      'Chrome/138.0.0.0 Safari/537.36',
  });
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  const loaded = new Map(); // URL to status
  page.on(
    'response',
    (response) =>
      response.request().method() !== 'OPTIONS' && loaded.set(response.url(), response.status()),
  );
  const asked = []; // URLs of all requests but preflights, also of those that were given up
  page.on('request', (request) => request.method() !== 'OPTIONS' && asked.push(request.url()));
  return { page, errors, loaded, asked, stop: () => browser.close() };
}

/** Waits until check answers something, or fails after 10 s. */
export async function until(what, check) {
  for (let i = 0; i < 100; i++) {
    const found = await check();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`waited in vain for ${what}`);
}
