// The shared table of cases (sdk/cases) with the npm package: on a mock that replays the table's
// replies and lets Prism hold both sides to openapi.json, and on a real installation.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Adnet, AdnetError } from '@adnet/sdk';
import { withAd } from '@adnet/sdk/mcp';
import { filledIn } from './mock.mjs';

const world = JSON.parse(process.env.ADNET_WORLD);
const table = JSON.parse(readFileSync(world.table, 'utf8'));

/** Fails unless got has everything of want; "…" is any text but none. */
function holds(got, want, at = 'result') {
  if (want === '…')
    return assert.ok(typeof got === 'string' && got !== '', `${at} is ${JSON.stringify(got)}`);
  if (want === null || typeof want !== 'object') return assert.equal(got, want, at);
  assert.ok(got !== null && typeof got === 'object', `${at} is ${JSON.stringify(got)}`);
  if (Array.isArray(want)) assert.equal(got.length, want.length, at);
  for (const [name, one] of Object.entries(want)) holds(got[name], one, `${at}.${name}`);
}

const kinds = { filled: 'ad', no_fill: 'reason', error: 'error', tracked: 'tracked' };

/** Makes the call of a case. */
async function call(one, url, key, names, changed) {
  const { key: own, timeout, retries, event_retries: eventRetries } = one.options ?? {};
  const adnet = new Adnet({
    url,
    key: key ?? own ?? 'pub_live_0123456789abcdef',
    timeout: timeout ?? 5000,
    retries,
    eventRetries,
  });
  const args = filledIn(changed ?? one.args, table, names);
  const options = one.idempotency_key ? { idempotencyKey: one.idempotency_key } : {};
  switch (one.call) {
    case 'ad':
      return adnet.ad(args, options);
    case 'track':
      return adnet.track(args, options);
    case 'report':
      return adnet.report(
        { ad_id: names.AD_ID, auction_id: names.AUCTION_ID },
        args.event,
        options,
      );
    case 'conversion':
      return adnet.conversion(args, options);
    case 'batch':
      return adnet.trackBatch(args, options);
    case 'tool':
      return withAd(adnet, args, one.tool, { structured: one.structured });
  }
  throw new Error(`no call ${one.call}`);
}

function check(result, want, names, whole = false) {
  if (whole) return assert.deepEqual(result, filledIn(want, table, names));
  holds(result, filledIn(want, table, names));
  if (result.kind === 'error') assert.ok(result.error instanceof AdnetError);
  const said = Object.entries(kinds)
    .filter(([kind, field]) => kind !== 'tracked' && field in result && result.kind !== 'tracked')
    .map(([kind]) => kind);
  if (result.kind !== 'tracked')
    assert.deepEqual(said, [result.kind], 'exactly one of filled, no fill and error');
}

describe('the mock', () => {
  for (const [index, one] of table.cases.entries()) {
    test(one.name, async () => {
      const began = Date.now();
      const result = await call(one, `${world.mock.url}/${index}`, undefined, world.mock.values);
      const took = Date.now() - began;
      check(result, one.result, world.mock.values, one.call === 'tool');
      if (one.within_ms) assert.ok(took < one.within_ms, `it took ${took} ms`);
      const log = await (await fetch(`${world.mock.url}/${index}/log`)).json();
      for (const sent of log) {
        assert.deepEqual(sent.violations, [], 'Prism holds request and reply to openapi.json');
        assert.ok(sent.headers['idempotency-key'].length >= 16);
        assert.equal(
          sent.headers['idempotency-key'],
          log[0].headers['idempotency-key'],
          'one key for all tries',
        );
        holds(sent, filledIn(one.sent ?? {}, table, world.mock.values), 'sent');
      }
      if (one.tries !== undefined) assert.equal(log.length, one.tries, 'tries');
      if (one.call === 'ad' && !one.sent && one.tries !== 0)
        assert.deepEqual(log[0].body, one.args, 'the request as it was given');
    });
  }
});

test('the mock sees what openapi.json does not allow', async () => {
  await fetch(`${world.mock.url}/0-wrong/v1/ad-request`, {
    method: 'POST',
    headers: { Authorization: 'Bearer x', 'Content-Type': 'application/json' },
    body: '{"context": 1}',
  });
  const [sent] = await (await fetch(`${world.mock.url}/0-wrong/log`)).json();
  assert.notDeepEqual(sent.violations, []);
});

describe('adnet standalone', () => {
  for (const one of table.cases.filter((one) => one.real)) {
    test(one.name, async () => {
      const { key, args, result, times = 1 } = one.real;
      let got;
      for (let asked = 0; asked < times && got?.kind !== result.kind; asked++)
        got = await call(one, world.url, world.keys[key], world.values[0], args);
      check(got, result, world.values[0]);
    });
  }
});
