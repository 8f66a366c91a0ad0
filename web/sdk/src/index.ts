/** The client of an adnet installation. What comes from the API keeps the API's names. */
export { Adnet, type CallOptions, type Options } from './client.js';
export {
  AdnetError,
  AuthError,
  ClientError,
  ConflictError,
  NetworkError,
  RateLimitError,
  ReplyError,
  RequestError,
  ServerError,
  TimeLimitError,
  type ErrorDetails,
} from './errors.js';
export {
  publicAd,
  type Ad,
  type AdRequest,
  type AdResult,
  type BatchResult,
  type BatchTracked,
  type Consent,
  type Conversion,
  type EventType,
  type Failed,
  type Filled,
  type NoFill,
  type PublicAd,
  type Rejected,
  type Suitability,
  type TrackEvent,
  type Tracked,
  type TrackResult,
} from './types.js';
export type { components, operations, paths } from './api.gen.js';
