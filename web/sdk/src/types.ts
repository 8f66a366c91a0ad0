import type { components } from './api.gen.js';
import type { AdnetError } from './errors.js';

type Schemas = components['schemas'];

/** What an ad is asked for with: `context`, `messages` or both, and what makes the match better. */
export type AdRequest = Schemas['AdRequestFields'] &
  ({ context: string } | { messages: Schemas['Message'][] });

/** An ad as the API answers it. `auction_id` proves its events: keep it on your server. */
export type Ad = Schemas['Ad'];

/** What of an ad may go into pages, messages and tool results: everything but `auction_id`. */
export type PublicAd = Omit<Ad, 'auction_id'>;

/** What a reader agreed to. */
export type Consent = Schemas['Consent'];

/** What you know of the conversation beside its texts: it adds refusals and clears none. */
export type Suitability = Schemas['Suitability'];

/** One event for `POST /api/track`. */
export type TrackEvent = Schemas['TrackEvent'];

/** Names of events. */
export type EventType = Schemas['EventType'];

/** A conversion as an advertiser reports it: with the click id of the landing page. */
export type Conversion = Omit<TrackEvent, 'event' | 'event_type' | 'click_id'> & {
  click_id: string;
};

/** There is an ad: show it with its `disclosure_label`. */
export interface Filled {
  kind: 'filled';
  ad: Ad;
}

/** There is no ad, which is normal: show nothing. */
export interface NoFill {
  kind: 'no_fill';
  /** Why, as `no_match`; later servers may know reasons that this list does not have. */
  reason: string;
  /** What `GET /api/auctions/{auction_id}/explain` takes. */
  auction_id?: string;
  /** Seconds after which asking again may help. */
  retry_after?: number;
  /** Turns of the conversation until it may have an ad. */
  retry_after_turns?: number;
}

/** The call failed: show nothing. */
export interface Failed {
  kind: 'error';
  error: AdnetError;
}

/** Exactly one of an ad, no ad, and an error. */
export type AdResult = Filled | NoFill | Failed;

/** An event is durable. */
export interface Tracked {
  kind: 'tracked';
  event: EventType;
  /** The same event was sent before; nothing is counted twice. */
  deduped: boolean;
  /** Of a conversion: whether it may be charged. */
  verified?: boolean;
}

/** An event of a batch that was refused; the others stand. */
export interface Rejected {
  index: number;
  code: string;
  error: string;
  field?: string;
}

/** The events of a batch are durable, but for the rejected. */
export interface BatchTracked {
  kind: 'tracked';
  tracked: number;
  deduped: boolean;
  rejected: Rejected[];
}

export type TrackResult = Tracked | Failed;
export type BatchResult = BatchTracked | Failed;

/** What of ad may leave the server. */
export function publicAd(ad: Ad | PublicAd): PublicAd {
  const { auction_id: _, ...rest } = ad as Ad;
  return rest;
}
