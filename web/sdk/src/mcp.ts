/**
 * Ads in the results of an MCP server's tools: a text block for the person, the ad as `_meta`, and
 * a labelled card in hosts that have MCP Apps. The tool's own answer stays as it is, and without an
 * ad nothing is added.
 */
import { card } from './card.gen.js';
import type { Adnet } from './client.js';
import { inert, label, link, whyOf } from './text.js';
import { publicAd, type Ad, type AdRequest, type PublicAd } from './types.js';

/** The resource that shows an ad. */
export const cardUri = 'ui://adnet/ad';

/** The MIME type of MCP Apps. */
export const cardMimeType = 'text/html;profile=mcp-app';

/** The key of the ad in the `_meta` of a result, which the card reads. */
export const adMetaKey = 'adnet/ad';

/** `_meta` for the definition of a tool that may answer with an ad: hosts load the card by it. */
export const adToolMeta: { ui: { resourceUri: string } } = { ui: { resourceUri: cardUri } };

/** What of a tool's result is read and written here; every result of the MCP SDKs is one. */
export interface ToolResult {
  content?: readonly object[];
  structuredContent?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  isError?: boolean;
  [field: string]: unknown;
}

/** What {@link withAd} adds to a result with an ad. */
export interface TextBlock {
  type: 'text';
  text: string;
  annotations: { audience: 'user'[]; priority: number };
  [field: string]: unknown;
}

/** What a result has after {@link withAd}. */
export type WithAd<R extends ToolResult> = Omit<R, 'content' | 'structuredContent' | '_meta'> & {
  content: R extends { content: readonly (infer Block)[] }
    ? (Block | TextBlock)[]
    : TextBlock[] | undefined;
  structuredContent?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
};

/** How {@link addAd} adds an ad. */
export interface AddOptions {
  /**
   * Also add the ad as `sponsored` to a `structuredContent` that the tool filled. The tool's output
   * schema must allow it, or hosts refuse the whole result.
   */
  structured?: boolean;
}

/** How {@link withAd} goes about. */
export interface AdOptions extends AddOptions {
  /**
   * Report the impression as soon as the result is made: for hosts that show text and load nothing.
   */
  reportImpression?: boolean;
}

/**
 * The result of a tool, with an ad if there is one. The ad is asked for while the tool works, so
 * pass the promise of its result. A failed tool gets none, nor does a result without an answer in
 * `content`, because the ad would replace it: these are returned as they are. Rejects only if
 * result does.
 */
export async function withAd<const R extends ToolResult>(
  adnet: Adnet,
  request: AdRequest,
  result: R | Promise<R>,
  options: AdOptions = {},
): Promise<WithAd<R>> {
  const [answer, made] = await Promise.all([adnet.ad(request), result]);
  if (answer.kind !== 'filled' || !takesAd(made)) return made as unknown as WithAd<R>;
  if (options.reportImpression) void adnet.report(answer.ad, 'impression');
  return addAd(made, answer.ad, options);
}

/** Reports whether value is an object as JSON has it, which a copy loses nothing of. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const kind: unknown = Object.getPrototypeOf(value);
  return kind === null || Object.getPrototypeOf(kind) === null;
}

/** Reports whether an ad can stand beside the answer of this result. */
function takesAd(result: ToolResult): boolean {
  if (!isPlain(result) || result.isError) return false;
  const { content, _meta } = result;
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    (_meta === undefined || (isPlain(_meta) && (_meta['ui'] === undefined || isPlain(_meta['ui']))))
  );
}

/** result with this ad. */
export function addAd<const R extends ToolResult>(
  result: R,
  ad: Ad | PublicAd,
  { structured = false }: AddOptions = {},
): WithAd<R> {
  const shown = publicAd(ad);
  const own = result.structuredContent;
  return {
    ...result,
    content: [...(result.content ?? []), adBlock(ad)],
    // Hosts that prefer structuredContent give their models nothing else: it stays the tool's.
    ...(structured && isPlain(own) && { structuredContent: { sponsored: shown, ...own } }),
    _meta: {
      ...result._meta,
      [adMetaKey]: shown,
      ui: { resourceUri: cardUri, ...(result._meta?.['ui'] as object | undefined) },
    },
  } as unknown as WithAd<R>;
}

/** The ad in words, for the person and not for the model. */
export function adBlock(ad: Ad | PublicAd): TextBlock {
  const lines = [`**${inert(label(ad))}:** ${inert(ad.headline)}`];
  if (ad.body) lines.push(inert(ad.body));
  const why = ad.receipt_url ? ` · [${inert(whyOf(ad))}](${link(ad.receipt_url)})` : '';
  lines.push(`[${inert(ad.cta_label || ad.headline)}](${link(ad.click_url)})${why}`);
  return {
    type: 'text',
    text: lines.join('\n\n'),
    annotations: { audience: ['user'], priority: 0.1 },
  };
}

/** The card as the contents of `resources/read`. It may talk to the installation alone. */
export function cardContents(adnet: Adnet): {
  uri: string;
  mimeType: string;
  text: string;
  _meta: { ui: { csp: { connectDomains: string[]; resourceDomains: string[] } } };
} {
  return {
    uri: cardUri,
    mimeType: cardMimeType,
    text: card,
    _meta: { ui: { csp: { connectDomains: [new URL(adnet.url).origin], resourceDomains: [] } } },
  };
}

/** What {@link registerCard} needs of an `McpServer`. */
export interface ResourceServer {
  registerResource(
    name: string,
    uri: string,
    config: { title: string; mimeType: string },
    read: () => { contents: ReturnType<typeof cardContents>[] },
  ): unknown;
}

/** Makes an `McpServer` of the official SDK serve the card. */
export function registerCard(server: ResourceServer, adnet: Adnet): void {
  server.registerResource(
    'adnet-ad',
    cardUri,
    { title: 'Advertisement', mimeType: cardMimeType },
    () => ({ contents: [cardContents(adnet)] }),
  );
}
