/** What a failed call says. Every field that the server sent has the API's name. */
export interface ErrorDetails {
  /**
   * The API's code, as `rate_limited`; or one of the SDK: `timeout`, `aborted`, `network`,
   * `invalid_reply`, `client_error`.
   */
  code: string;
  /** HTTP status; left out when there was no reply. */
  status?: number | undefined;
  /** The field of the request that is wrong. */
  field?: string | undefined;
  /** Seconds after which asking again may help. */
  retry_after?: number | undefined;
  cause?: unknown;
}

/** Why a call failed. Calls never throw it: they return it as the `error` of their result. */
export class AdnetError extends Error {
  override readonly name: string = 'AdnetError';
  readonly code: string;
  readonly status: number | undefined;
  readonly field: string | undefined;
  readonly retry_after: number | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean = false;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.status = details.status;
    this.field = details.field;
    this.retry_after = details.retry_after;
  }
}

/** The request is wrong (400, 404, 405, 410, 413): change it. */
export class RequestError extends AdnetError {
  override readonly name: string = 'RequestError';
}

/** The key is missing, does not work, or does not open this (401, 403). */
export class AuthError extends AdnetError {
  override readonly name: string = 'AuthError';
}

/** The call is at odds with another one (409); one that still runs is over soon. */
export class ConflictError extends AdnetError {
  override readonly name: string = 'ConflictError';
  override readonly retryable: boolean = this.code === 'idempotency_in_progress';
}

/** Too many calls (429): `retry_after` says when to come back. */
export class RateLimitError extends AdnetError {
  override readonly name: string = 'RateLimitError';
  override readonly retryable: boolean = true;
}

/** The server failed (5xx). */
export class ServerError extends AdnetError {
  override readonly name: string = 'ServerError';
  override readonly retryable: boolean = this.code !== 'demo_mode';
}

/** The time limit ended first, or the caller's signal did (`aborted`). */
export class TimeLimitError extends AdnetError {
  override readonly name: string = 'TimeLimitError';
  override readonly retryable: boolean = this.code === 'timeout';
}

/** No reply arrived. */
export class NetworkError extends AdnetError {
  override readonly name: string = 'NetworkError';
  override readonly retryable: boolean = true;
}

/**
 * The client failed before anything was sent, as on a platform without fetch. The request is not at
 * fault.
 */
export class ClientError extends AdnetError {
  override readonly name: string = 'ClientError';
}

/**
 * The reply is none of adnet's: cut off, garbage, a redirect, or an ad with links that are no
 * links.
 */
export class ReplyError extends AdnetError {
  override readonly name: string = 'ReplyError';
}

/** The error for a reply with this status; body is what the server sent, parsed if it was JSON. */
export function errorOf(status: number, body: unknown, retryAfter: string | null): AdnetError {
  const said = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const details: ErrorDetails = {
    status,
    code: typeof said['code'] === 'string' ? said['code'] : `http_${status}`,
    field: typeof said['field'] === 'string' ? said['field'] : undefined,
    retry_after:
      typeof said['retry_after'] === 'number' ? said['retry_after'] : seconds(retryAfter),
  };
  const message =
    typeof said['error'] === 'string' ? said['error'] : `the server answered ${status}`;
  return new (classOf(status))(message, details);
}

function classOf(status: number): typeof AdnetError {
  if (status === 401 || status === 403) return AuthError;
  if (status === 409) return ConflictError;
  if (status === 429) return RateLimitError;
  if (status >= 500) return ServerError;
  return status >= 400 ? RequestError : ReplyError;
}

/** Retry-After in its form of whole seconds, the only one that adnet sends. */
function seconds(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}
