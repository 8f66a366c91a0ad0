import createClient from 'openapi-fetch';
import type { components, paths } from './api.gen';
import { parseExact, writeExact } from './money';

export type Schemas = components['schemas'];

/** The base path of the installation, without a trailing slash. */
export const base = document.querySelector<HTMLMetaElement>('meta[name=adnet-base]')?.content ?? '';

/** An error reply of the API. */
export class ApiError extends Error {
  /** When it was received. */
  readonly at = Date.now();
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field?: string,
    readonly retryAfter?: number,
    /** The present state of a campaign that is not in the version of the call. */
    readonly campaign?: Schemas['Campaign'],
  ) {
    super(message);
  }
}

/** A call of a page, for display as curl. */
export interface Call {
  method: string;
  path: string;
}

type Listener = (call: Call) => void;
const listeners: Listener[] = [];
/** Sets the listener for read calls. */
export function onCall(listener: Listener) {
  listeners.push(listener);
}

let answered: (at: string) => void = () => {};
/** Sets the listener for the server's time of each answer to a read call. */
export function onAnswered(f: (at: string) => void) {
  answered = f;
}

let signedOut: () => void = () => {};
/** Sets the listener for the end of the session. */
export function onSignedOut(f: () => void) {
  signedOut = f;
}

async function exact(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (request.method === 'GET')
    for (const hear of listeners) hear({ method: 'GET', path: url.pathname + url.search });
  const response = await fetch(request);
  const at = Date.parse(response.headers.get('Date') ?? '');
  if (request.method === 'GET' && response.ok && at) answered(new Date(at).toISOString());
  if (!response.headers.get('Content-Type')?.includes('json')) return response;
  const value = parseExact(await response.text());
  return {
    ok: response.ok,
    status: response.status,
    headers: response.headers,
    json: async () => value,
    text: async () => JSON.stringify(value),
  } as unknown as Response;
}

export const api = createClient<paths>({
  baseUrl: base,
  fetch: exact,
  bodySerializer: writeExact,
  querySerializer: { array: { style: 'form', explode: false } },
});
api.use({
  onRequest({ request }) {
    request.headers.set('X-Adnet-Console', '1');
    if (request.method !== 'GET' && !request.headers.has('Idempotency-Key'))
      request.headers.set('Idempotency-Key', crypto.randomUUID());
    return request;
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: { status: number; headers: Headers };
}

interface Said {
  error?: string;
  code?: string;
  field?: string;
  retry_after?: number;
  campaign?: Schemas['Campaign'];
}

/** The error of a reply. One that says that the session has ended ends it here. */
function refusal(status: number, said: Said): ApiError {
  if (status === 401 && said.code !== 'invalid_credentials') signedOut();
  const { code = 'internal', error = '', field, retry_after, campaign } = said;
  return new ApiError(status, code, error, field, retry_after, campaign);
}

/** Returns the answer of a call or throws an ApiError. */
export async function need<T>(call: Promise<Answer<T>>): Promise<Exclude<T, string>> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch {
    throw new ApiError(0, 'unreachable', '');
  }
  if (answer.error === undefined && answer.data !== undefined)
    return answer.data as Exclude<T, string>; // CSV is downloaded
  throw refusal(answer.response.status, (answer.error ?? {}) as Said);
}

/**
 * Saves a reply of the API as a file, with the name that the API gives it or else that one. A link
 * would not do: a browser that follows it sends no header of the console, and the reply is 401.
 */
export async function save(path: string, name: string): Promise<void> {
  const response = await fetch(base + path, { headers: { 'X-Adnet-Console': '1' } }).catch(() => {
    throw new ApiError(0, 'unreachable', '');
  });
  if (!response.ok) throw refusal(response.status, await response.json().catch(() => ({})));
  const given = /filename="?([^";]+)/.exec(response.headers.get('Content-Disposition') ?? '')?.[1];
  const href = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement('a'), { href, download: given ?? name }).click();
  URL.revokeObjectURL(href);
}
