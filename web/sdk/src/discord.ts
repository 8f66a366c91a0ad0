/**
 * An ad as a Discord message. The renderer has no dependency: it writes what Discord's API takes.
 */
import { cut, inert, label as labelOf, whyOf } from './text.js';
import type { Ad, PublicAd } from './types.js';

/** Discord's limits, in UTF-16 units. */
const limits = { title: 256, description: 4096, footer: 2048, label: 80, url: 512 } as const;

/** A button that is a link. */
export interface LinkButton {
  type: 2;
  style: 5;
  label: string;
  url: string;
}

/** What POST /channels/{id}/messages takes, and `send` and `reply` of discord.js. */
export interface AdMessage {
  embeds: {
    title: string;
    description?: string;
    url?: string;
    image?: { url: string };
    footer: { text: string };
  }[];
  components: { type: 1; components: LinkButton[] }[];
  /** The texts are an advertiser's: they mention nobody. */
  allowed_mentions: { parse: never[] };
  allowedMentions: { parse: never[] };
}

/** The message that shows ad: labelled, its link counted, and a button to why it was shown. */
export function adMessage(ad: Ad | PublicAd): AdMessage {
  const buttons = [
    button(ad.cta_label || 'Learn more', ad.click_url),
    button(whyOf(ad), ad.receipt_url),
  ].filter((one) => one !== undefined);
  const short = ad.click_url.length <= limits.url;
  return {
    embeds: [
      {
        title: cut(ad.headline, limits.title),
        ...(ad.body && { description: cut(inert(ad.body), limits.description) }),
        // A link that is too long for a button may stand in the embed.
        ...(!short && ad.click_url.length <= 2048 && { url: ad.click_url }),
        // Of a video the address is the film's, which is no picture.
        ...(ad.type !== 'video' &&
          ad.image_url?.startsWith('https://') && { image: { url: ad.image_url } }),
        footer: { text: cut(labelOf(ad), limits.footer) },
      },
    ],
    components: buttons.length === 0 ? [] : [{ type: 1, components: buttons }],
    allowed_mentions: { parse: [] },
    allowedMentions: { parse: [] },
  };
}

function button(label: string, url: string | undefined): LinkButton | undefined {
  return url && url.length <= limits.url
    ? { type: 2, style: 5, label: cut(label, limits.label), url }
    : undefined;
}
