// Reads replies. What is not as openapi.json says is refused here once, so that nothing later shows
// half an ad or follows a link that is none.
import { ReplyError } from './errors.js';
import { isAddress } from './platform.js';
import type { Ad, AdResult, BatchResult, EventType, Rejected, TrackResult } from './types.js';

type Fields = Record<string, unknown>;

function fields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined;
}

function invalid(what: string): { kind: 'error'; error: ReplyError } {
  return { kind: 'error', error: new ReplyError(what, { code: 'invalid_reply', status: 200 }) };
}

const texts = ['ad_id', 'auction_id', 'type', 'headline', 'disclosure_label'];
const optionalTexts = ['body', 'cta_label', 'why_label'];
// What a reader may follow or a page may load.
const links = ['click_url', 'impression_url'];
const optionalLinks = ['viewable_url', 'receipt_url', 'image_url'];

/** What is wrong with an ad; empty if nothing is. */
function fault(ad: Fields): string {
  const empty = (name: string) => ad[name] === undefined || ad[name] === null || ad[name] === '';
  const wrong =
    texts.find((name) => typeof ad[name] !== 'string' || ad[name] === '') ??
    optionalTexts.find((name) => !empty(name) && typeof ad[name] !== 'string') ??
    links.find((name) => !isAddress(ad[name])) ??
    optionalLinks.find((name) => !empty(name) && !isAddress(ad[name]));
  return wrong === undefined ? '' : `the ad of the reply has no usable ${wrong}`;
}

/** The result that the reply of POST /v1/ad-request means. */
export function adResult(body: unknown): AdResult {
  const reply = fields(body);
  if (reply === undefined || reply['ad'] === undefined)
    return invalid('the reply is no reply to an ad request');
  if (reply['ad'] === null) {
    return {
      kind: 'no_fill',
      reason: typeof reply['reason'] === 'string' ? reply['reason'] : 'unknown',
      ...(typeof reply['auction_id'] === 'string' && { auction_id: reply['auction_id'] }),
      ...(typeof reply['retry_after'] === 'number' && { retry_after: reply['retry_after'] }),
      ...(typeof reply['retry_after_turns'] === 'number' && {
        retry_after_turns: reply['retry_after_turns'],
      }),
    };
  }
  const ad = fields(reply['ad']);
  const wrong = ad === undefined ? 'the ad of the reply is none' : fault(ad);
  return wrong === '' ? { kind: 'filled', ad: ad as unknown as Ad } : invalid(wrong);
}

/** The result that the reply of POST /api/track means. */
export function trackResult(body: unknown): TrackResult {
  const reply = fields(body);
  if (reply?.['tracked'] !== true || typeof reply['event'] !== 'string')
    return invalid('the reply is no reply to an event');
  return {
    kind: 'tracked',
    event: reply['event'] as EventType,
    deduped: reply['deduped'] === true,
    ...(typeof reply['verified'] === 'boolean' && { verified: reply['verified'] }),
  };
}

/** The result that the reply of POST /api/track?action=batch means. */
export function batchResult(body: unknown): BatchResult {
  const reply = fields(body);
  if (typeof reply?.['tracked'] !== 'number')
    return invalid('the reply is no reply to a batch of events');
  const rejected = Array.isArray(reply['rejected']) ? (reply['rejected'] as Rejected[]) : [];
  return {
    kind: 'tracked',
    tracked: reply['tracked'],
    deduped: reply['deduped'] === true,
    rejected,
  };
}
