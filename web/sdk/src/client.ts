import {
  AdnetError,
  errorOf,
  NetworkError,
  ReplyError,
  RequestError,
  TimeLimitError,
} from './errors.js';
import { adResult, batchResult, trackResult } from './read.js';
import type {
  Ad,
  AdRequest,
  AdResult,
  BatchResult,
  Conversion,
  EventType,
  Failed,
  TrackEvent,
  TrackResult,
} from './types.js';

/** How an installation is reached. */
export interface Options {
  /**
   * A publisher key for ads on a server, a browser key (`pk_live_…`) in a page, a conversion key in
   * a shop.
   */
  key: string;
  /** The installation, as `https://ads.example.com`. */
  url: string;
  /** Time limit of an ad request in ms, all tries together; 1,500 by default. */
  timeout?: number;
  /**
   * Time limit of an event in ms, all tries together; 10,000 by default: events can wait, readers
   * cannot.
   */
  eventTimeout?: number;
  /** Further tries of an ad request that failed in a way that may pass; 0 by default. */
  retries?: number;
  /** Further tries of an event; 2 by default. The server counts repeats once. */
  eventRetries?: number;
  /** Instead of the global one. */
  fetch?: typeof globalThis.fetch;
}

/** What one call may have of its own. */
export interface CallOptions {
  /** Ends the call early: the result is an error with the code `aborted`. */
  signal?: AbortSignal;
  /** Time limit of this call in ms. */
  timeout?: number;
  /** 16 to 255 characters that name this call and its repeats; made up when left out. */
  idempotencyKey?: string;
}

/** The longest time limit that timers know, in ms. */
const longest = 2 ** 31 - 1;

/** What a call is made of; the same for each try. */
interface Call<T> {
  path: string;
  body: unknown;
  timeout: number;
  retries: number;
  options?: CallOptions | undefined;
  read: (body: unknown) => T | Failed;
}

/** A client of one installation. Its calls never throw: whatever happens is in the result. */
export class Adnet {
  readonly #key: string;
  readonly #url: string;
  readonly #options: Options;

  /** Throws a TypeError when the key or the URL cannot be one. */
  constructor(options: Options) {
    if (typeof options?.key !== 'string' || !/^[\x21-\x7e]+$/.test(options.key))
      throw new TypeError('adnet: key must be a key of adnet');
    if (!/^https?:\/\//.test(options.url) || !URL.canParse(options.url))
      throw new TypeError(
        'adnet: url must be that of an adnet installation, as https://ads.example.com',
      );
    this.#key = options.key;
    this.#url = options.url.replace(/\/+$/, '');
    this.#options = options;
  }

  /** Where the installation is, without a slash at its end. */
  get url(): string {
    return this.#url;
  }

  /** Asks for an ad. The result is exactly one of `filled`, `no_fill` and `error`. */
  ad(request: AdRequest, options?: CallOptions): Promise<AdResult> {
    const { timeout = 1500, retries = 0 } = this.#options;
    // The reader of a page with a browser key loads the links, so the rules for browsers hold.
    const body = this.#key.startsWith('pk_')
      ? { integration_method: 'npm_sdk', ...request }
      : request;
    return this.#call({ path: '/v1/ad-request', body, timeout, retries, options, read: adResult });
  }

  /**
   * Reports what happened to an ad, from a server that knows. Readers' links report by themselves.
   */
  report(
    ad: Pick<Ad, 'ad_id' | 'auction_id'>,
    event: Exclude<EventType, 'conversion'>,
    options?: CallOptions,
  ): Promise<TrackResult> {
    return this.track({ event, campaign_id: ad?.ad_id, auction_id: ad?.auction_id }, options);
  }

  /** Reports a conversion, with a conversion key and the `adnet_click` of the landing page. */
  conversion(conversion: Conversion, options?: CallOptions): Promise<TrackResult> {
    return this.track({ ...conversion, event: 'conversion' }, options);
  }

  /** Sends one event. */
  track(event: TrackEvent, options?: CallOptions): Promise<TrackResult> {
    return this.#call({
      path: '/api/track',
      body: event,
      ...this.#patience(),
      options,
      read: trackResult,
    });
  }

  /** Sends up to 500 events at once. */
  trackBatch(events: TrackEvent[], options?: CallOptions): Promise<BatchResult> {
    return this.#call({
      path: '/api/track?action=batch',
      body: { events },
      ...this.#patience(),
      options,
      read: batchResult,
    });
  }

  #patience(): { timeout: number; retries: number } {
    const { eventTimeout = 10_000, eventRetries = 2 } = this.#options;
    return { timeout: eventTimeout, retries: eventRetries };
  }

  /** Makes a call within its time limit. */
  async #call<T>(call: Call<T>): Promise<T | Failed> {
    const limit = new AbortController();
    const signal = call.options?.signal;
    const abort = () =>
      limit.abort(new TimeLimitError('the caller ended the call', { code: 'aborted' }));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const wait = Math.min(call.options?.timeout ?? call.timeout, longest);
    const timer = setTimeout(
      () => limit.abort(new TimeLimitError(`no reply within ${wait} ms`, { code: 'timeout' })),
      wait,
    );
    // A fetch of the caller's that ignores the signal must not hold the call up.
    const ended = new Promise<never>((_, fail) =>
      limit.signal.addEventListener('abort', () => fail(limit.signal.reason), { once: true }),
    );
    ended.catch(() => undefined);
    try {
      limit.signal.throwIfAborted();
      return await Promise.race([this.#tries(call, limit.signal, Date.now() + wait), ended]);
    } catch (error) {
      return { kind: 'error', error: limit.signal.aborted ? limit.signal.reason : refused(error) };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Tries until the result is final or ends, a time in ms, is too near. Throws when signal ends it.
   */
  async #tries<T>(call: Call<T>, signal: AbortSignal, ends: number): Promise<T | Failed> {
    const request = this.#request(call);
    for (let tried = 0; ; tried++) {
      const result = await this.#try(call, request, signal);
      const pause = again(result, tried, call.retries);
      // A pause that outlasts the limit would only turn a telling error into a timeout.
      if (pause === undefined || Date.now() + pause >= ends) return result;
      await sleep(pause, signal);
    }
  }

  #request<T>(call: Call<T>): RequestInit {
    return {
      method: 'POST',
      // Made here, so that a key that no header can have is a wrong request and no broken network.
      headers: new Headers({
        Authorization: `Bearer ${this.#key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': call.options?.idempotencyKey ?? crypto.randomUUID(),
      }),
      body: JSON.stringify(call.body, whole),
      redirect: 'manual', // the key stays with the installation
    };
  }

  /** One try. Throws only when signal ends it. */
  async #try<T>(call: Call<T>, request: RequestInit, signal: AbortSignal): Promise<T | Failed> {
    const send = this.#options.fetch ?? globalThis.fetch;
    let reply: Response;
    let text: string;
    try {
      reply = await send(this.#url + call.path, { ...request, signal });
      text = await reply.text();
    } catch (cause) {
      signal.throwIfAborted();
      return {
        kind: 'error',
        error: new NetworkError('adnet could not be reached, or the reply was cut off', {
          code: 'network',
          cause,
        }),
      };
    }
    signal.throwIfAborted();
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      body = undefined;
    }
    if (reply.status !== 200)
      return {
        kind: 'error',
        error: errorOf(reply.status, body, reply.headers.get('retry-after')),
      };
    return call.read(body);
  }
}

/** Half of a surrogate pair, as of an emoji that was cut, is no text to a server. */
function whole(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Cs}/gu, '\ufffd') : value;
}

/** How long to wait before the next try, in ms; undefined when there is none. */
function again(result: unknown, tried: number, retries: number): number | undefined {
  const { error } = result as { error?: AdnetError };
  if (error === undefined || !error.retryable || tried >= retries) return undefined;
  // Jitter: clients that failed together come back apart.
  return error.retry_after === undefined
    ? 100 * 2 ** tried * (0.5 + Math.random())
    : error.retry_after * 1000;
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), fail(signal.reason)), {
      once: true,
    });
  });
}

/** The error of a request that could not be written. */
function refused(cause: unknown): AdnetError {
  if (cause instanceof AdnetError) return cause;
  return cause instanceof TypeError
    ? new RequestError(
        "the request cannot be sent: it must be JSON, its idempotencyKey a header's text",
        { code: 'invalid_request', cause },
      )
    : new ReplyError('the reply could not be read', { code: 'invalid_reply', cause });
}
