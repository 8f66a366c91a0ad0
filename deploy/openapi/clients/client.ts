// Real calls with openapi-fetch and the types that openapi-typescript generates from openapi.json.
// The file is type-checked before it runs.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

const base = process.env.ADNET_BASE_URL!;
const api = createClient<paths>({ baseUrl: base });

function must<T>(what: string, reply: { data?: T; error?: unknown; response: Response }): T {
  if (reply.data === undefined)
    throw new Error(`${what}: ${reply.response.status} ${JSON.stringify(reply.error)}`);
  return reply.data;
}

function equal(what: string, got: unknown, want: unknown) {
  if (got !== want)
    throw new Error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`);
}

const email = `ts-${Date.now()}@example.com`;
const password = 'kittens climb old trees';
const word = `zeppelin${Date.now()}`;
must('register', await api.POST('/api/auth/register', { body: { email, password } }));
const session = must('login', await api.POST('/api/auth/login', { body: { email, password } }));
const login = { Authorization: `Bearer ${session.session.access_token}` };

const created = must(
  'create',
  await api.POST('/api/campaigns/create', {
    headers: login,
    body: {
      advertiser_id: session.user.id,
      headline: `Rides in a ${word}`,
      cta_url: 'https://rides.example/',
      billing_model: 'cpm',
      bid_amount: 900,
      target_intent_tokens: [word],
    },
  }),
);
equal('format without media', created.campaign.format, 'native');
equal('first campaign', created.auto_approved, true);
const id = created.campaign.id;

const key = must(
  'key',
  await api.POST('/api/keys', { headers: login, body: { kind: 'publisher', name: 'ts' } }),
);
const publisher = { Authorization: `Bearer ${key.key}` };
const served = must(
  'ad request',
  await api.POST('/v1/ad-request', {
    headers: publisher,
    body: { context: `Where can I ride a ${word}?` },
  }),
);
const ad = served.ad;
if (!ad) throw new Error(`no ad at once after the creation: ${served.reason}`);
equal('the new campaign', ad.ad_id, id);

const event = { event: 'impression' as const, campaign_id: id, auction_id: ad.auction_id };
const first = must('track', await api.POST('/api/track', { body: event }));
if (!('event' in first)) throw new Error('the answer of a batch');
equal('first', first.deduped, undefined);
const batch = must('batch', await api.POST('/api/track/batch', { body: { events: [event] } }));
equal('repeat', batch.deduped, true);

const paused = must(
  'pause',
  await api.POST('/api/campaigns/pause', { headers: login, body: { id } }),
);
equal('paused', paused.campaign.status, 'paused');
must('resume', await api.POST('/api/campaigns/resume', { headers: login, body: { id } }));
const list = must(
  'list',
  await api.GET('/api/campaigns/list', { headers: login, params: { query: { limit: 5 } } }),
);
equal('listed', list.campaigns[0]?.id, id);
must('balance', await api.GET('/api/billing/balance', { headers: login }));
must(
  'stats',
  await api.GET('/api/stats', { headers: publisher, params: { query: { type: 'developer' } } }),
);
const refused = await api.POST('/api/campaigns/pause', { headers: login, body: { id: 'x' } });
equal('an error', refused.error?.code, 'invalid_request');
console.log('typescript: ok');
