import {
  AdnetError,
  ClientError,
  errorOf,
  NetworkError,
  ReplyError,
  RequestError,
  TimeLimitError,
} from './errors.js';
import { callKey, isAddress } from './platform.js';
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
    if (!isAddress(options.url))
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
    // Signals of older platforms carry no reason, so what ended the call is held here.
    const ended: { by?: TimeLimitError } = {};
    let clean = () => {};
    try {
      const wait = Math.min(call.options?.timeout ?? call.timeout, longest);
      const signal = call.options?.signal;
      const limit = new AbortController();
      let finish: (result: Failed) => void;
      // A fetch of the caller's that ignores the signal must not hold the call up.
      const early = new Promise<Failed>((done) => {
        finish = done;
      });
      const end = (message: string, code: string) => {
        ended.by ??= new TimeLimitError(message, { code });
        finish(failed(ended.by));
        limit.abort();
      };
      const abort = () => end('the caller ended the call', 'aborted');
      if (signal?.aborted) abort();
      if (ended.by) return failed(ended.by);
      signal?.addEventListener('abort', abort);
      const timer = setTimeout(() => end(`no reply within ${wait} ms`, 'timeout'), wait);
      clean = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      };
      return await Promise.race([early, this.#tries(call, limit.signal, Date.now() + wait)]);
    } catch (cause) {
      return failed(ended.by ?? unsent(cause));
    } finally {
      clean();
    }
  }

  /**
   * Tries until the result is final, signal ends the call, or ends, a time in ms, is too near.
   * Throws when no request can be made.
   */
  async #tries<T>(call: Call<T>, signal: AbortSignal, ends: number): Promise<T | Failed> {
    const request = this.#request(call);
    for (let tried = 0; ; tried++) {
      const result = await this.#try(call, request, signal);
      const pause = again(result, tried, call.retries);
      // A pause that outlasts the limit would only turn a telling error into a timeout.
      if (pause === undefined || Date.now() + pause >= ends) return result;
      await sleep(pause, signal);
      if (signal.aborted) return result;
    }
  }

  #request<T>(call: Call<T>): RequestInit {
    const key = call.options?.idempotencyKey || callKey();
    if (typeof key !== 'string' || !/^[ -~]+$/.test(key))
      throw new RequestError('idempotencyKey must be 16 to 255 characters of ASCII', invalid);
    const headers = {
      Authorization: `Bearer ${this.#key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    };
    return {
      method: 'POST',
      headers: typeof Headers === 'undefined' ? headers : new Headers(headers),
      body: json(call.body),
      redirect: 'manual', // the key stays with the installation
    };
  }

  /** One try. Throws when there is no fetch. */
  async #try<T>(call: Call<T>, request: RequestInit, signal: AbortSignal): Promise<T | Failed> {
    const send = this.#options.fetch ?? globalThis.fetch;
    if (typeof send !== 'function') throw new TypeError('fetch is missing: pass the option fetch');
    let reply: Response;
    let text: string;
    try {
      reply = await send(this.#url + call.path, { ...request, signal });
      text = await reply.text();
    } catch (cause) {
      return failed(
        new NetworkError('adnet could not be reached, or the reply was cut off', {
          code: 'network',
          cause,
        }),
      );
    }
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      body = undefined;
    }
    try {
      if (reply.status === 200) return call.read(body);
      return failed(errorOf(reply.status, body, reply.headers.get('retry-after')));
    } catch (cause) {
      return failed(
        new ReplyError('the reply could not be read', { code: 'invalid_reply', cause }),
      );
    }
  }
}

const invalid = { code: 'invalid_request' };

function failed(error: AdnetError): Failed {
  return { kind: 'error', error };
}

/** Returns value as JSON. Throws a RequestError when it has no such form. */
function json(value: unknown): string {
  try {
    return JSON.stringify(value, whole);
  } catch (cause) {
    throw new RequestError('the request cannot be sent: it must be JSON', { ...invalid, cause });
  }
}

/**
 * Half of a surrogate pair, as of an emoji that was cut, is no text to a server. With the flag u
 * the range matches only halves. React Native has no character properties.
 */
function whole(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/[\ud800-\udfff]/gu, '\ufffd') : value;
}

/** How long to wait before the next try, in ms; undefined when there is none. */
function again(result: unknown, tried: number, retries: number): number | undefined {
  const { error } = result as { error?: AdnetError };
  if (error === undefined || !error.retryable || !(tried < retries)) return undefined;
  // Jitter: clients that failed together come back apart.
  return error.retry_after === undefined
    ? 100 * 2 ** tried * (0.5 + Math.random())
    : error.retry_after * 1000;
}

/** Waits for ms, or until signal ends the call. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), done()));
  });
}

/** The error of a call that failed before anything was sent. */
function unsent(cause: unknown): AdnetError {
  if (cause instanceof AdnetError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ClientError(`the request could not be prepared: ${why}`, {
    code: 'client_error',
    cause,
  });
}
