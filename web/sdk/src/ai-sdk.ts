/**
 * Ads beside the answers of AI SDK backends: a data part of the message stream, which pages render
 * and models never read.
 */
import type { Adnet, CallOptions } from './client.js';
import { AdnetError } from './errors.js';
import { publicAd, type Ad, type AdRequest, type AdResult, type PublicAd } from './types.js';

/** The type of the data part: `data-ad` in messages. */
export const adPartType = 'data-ad';

/** The data part of an ad. */
export interface AdPart {
  type: typeof adPartType;
  id: string;
  data: PublicAd;
}

/** For `UIMessage<unknown, AdData>`. */
export type AdData = { ad: PublicAd };

/** The required part of the `writer` of createUIMessageStream. */
export interface StreamWriter {
  write(part: AdPart): void;
}

/** The part of a conversation message that this module reads. */
interface Message {
  role: string;
  parts: readonly { type: string; text?: string }[];
}

/** The data part that shows ad. */
export function adPart(ad: Ad | PublicAd): AdPart {
  return { type: adPartType, id: ad.ad_id, data: publicAd(ad) };
}

/**
 * Requests an ad and writes it into the stream. Call it without await before the answer is
 * streamed, so that the ad does not delay the answer. Never rejects.
 */
export async function writeAd(
  writer: StreamWriter,
  adnet: Adnet,
  request: AdRequest,
  options?: CallOptions,
): Promise<AdResult> {
  const result = await adnet.ad(request, options);
  if (result.kind !== 'filled') return result;
  try {
    writer.write(adPart(result.ad));
  } catch (cause) {
    return {
      kind: 'error',
      error: new AdnetError('the stream takes no ad: it has ended', { code: 'aborted', cause }),
    };
  }
  return result;
}

const roles = ['user', 'assistant', 'tool', 'system'] as const;

/** The API's limits: turns, and total characters. */
const most = { turns: 32, characters: 8000 } as const;

/**
 * The last turns of a conversation for `messages` of an ad request: texts only, no ads, no files.
 */
export function adMessages(
  messages: readonly Message[],
): { role: (typeof roles)[number]; content: string }[] {
  const turns: { role: (typeof roles)[number]; content: string }[] = [];
  let left: number = most.characters;
  for (const message of messages.slice(-most.turns).reverse()) {
    const role = roles.find((one) => one === message.role);
    const text = (message.parts ?? [])
      .filter((part) => part.type === 'text')
      .map((part) => part.text ?? '')
      .join('\n')
      .trim();
    if (role === undefined || role === 'system' || text === '') continue;
    if (left <= 0) break;
    // the API counts characters; the end of a long text matters most
    const characters = Array.from(text);
    const content = characters.slice(-left).join('');
    left -= Math.min(left, characters.length);
    turns.unshift({ role, content });
  }
  return turns;
}

/** messages without ads: what a prompt is made of, and what is stored. */
export function withoutAds<M extends { parts: { type: string }[] }>(messages: readonly M[]): M[] {
  return messages.map((message) => {
    const parts = message.parts?.filter((part) => part.type !== adPartType);
    return parts === undefined ? message : { ...message, parts };
  });
}
