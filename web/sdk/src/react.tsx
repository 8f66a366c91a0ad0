/**
 * Ads in React pages: ask with {@link useAd}, or get the ad from your server, and show it with
 * {@link AdCard}.
 */
import { createElement, useEffect, useRef, useState, type ReactElement } from 'react';
import type { Adnet } from './client.js';
import { label, whyOf } from './text.js';
import type { Ad, AdRequest, AdResult, PublicAd } from './types.js';
import { Watch } from './viewable.gen.js';

/**
 * Asks for an ad when request changes; undefined while the reply is out, or without a request. For
 * pages: adnet has a browser key.
 */
export function useAd(adnet: Adnet, request: AdRequest | undefined): AdResult | undefined {
  const [result, setResult] = useState<{ of: string; is: AdResult }>();
  const asked = textOf(request);
  useEffect(() => {
    if (asked === '') return undefined;
    const unmounted = new AbortController();
    // A moment later: StrictMode mounts twice at once, and each question is an auction.
    void Promise.resolve().then(async () => {
      if (unmounted.signal.aborted) return;
      const is = await adnet.ad(JSON.parse(asked) as AdRequest, { signal: unmounted.signal });
      if (!unmounted.signal.aborted) setResult({ of: asked, is });
    });
    return () => unmounted.abort();
  }, [adnet, asked]);
  return result?.of === asked ? result.is : undefined;
}

/** request as JSON; '' without one, and of one that is no JSON: a page must not fail by it. */
function textOf(request: AdRequest | undefined): string {
  try {
    return request === undefined ? '' : JSON.stringify(request);
  } catch {
    return '';
  }
}

/** Loads a signed link of an ad, also while the page is left. Nothing comes of a failure. */
async function beacon(url: string | undefined): Promise<void> {
  try {
    if (url) await fetch(url, { mode: 'no-cors', keepalive: true, credentials: 'omit' });
  } catch {}
}

/** What {@link AdCard} takes. */
export interface AdCardProps {
  ad: Ad | PublicAd | undefined;
  className?: string;
  /** The text of the link to why the ad was shown, instead of the reply's. */
  why?: string;
}

/**
 * An ad with its label, its counted link and the receipt; nothing without an ad. Reports the
 * impression when the ad is on the screen and `viewable` when it was for a second.
 */
export function AdCard({ ad, className, why }: AdCardProps): ReactElement | null {
  const place = useRef<HTMLElement>(null);
  const { impression_url, viewable_url } = ad ?? {};
  useEffect(() => {
    // Where nothing can say what is in view (jsdom), nothing is reported.
    if (
      place.current === null ||
      impression_url === undefined ||
      typeof IntersectionObserver === 'undefined'
    )
      return undefined;
    const watch = new Watch(
      place.current,
      () => void beacon(impression_url),
      () => void beacon(viewable_url),
    );
    watch.begin();
    return () => watch.stop();
  }, [impression_url, viewable_url]);
  if (ad === undefined) return null;
  const outward = { target: '_blank', rel: 'sponsored noopener' };
  return (
    <aside
      ref={place}
      className={className ?? 'adnet-ad'}
      aria-label={ad.disclosure_label}
      data-ad={ad.ad_id}
    >
      <small dir="auto">{label(ad)}</small>
      {ad.image_url && ad.type !== 'video' ? (
        <img src={ad.image_url} alt="" loading="lazy" referrerPolicy="no-referrer" />
      ) : null}
      <strong dir="auto">{ad.headline}</strong>
      {ad.body ? <p dir="auto">{ad.body}</p> : null}
      <a href={ad.click_url} {...outward} dir="auto">
        {ad.cta_label || ad.headline}
      </a>{' '}
      {ad.receipt_url ? (
        <a href={ad.receipt_url} target="_blank" rel="noopener">
          {why ?? whyOf(ad)}
        </a>
      ) : null}
    </aside>
  );
}

/** Asks and shows in one: `<SponsoredAd adnet={…} request={{context: "…"}} />`. */
export function SponsoredAd({
  adnet,
  request,
  ...props
}: { adnet: Adnet; request: AdRequest | undefined } & Omit<
  AdCardProps,
  'ad'
>): ReactElement | null {
  const result = useAd(adnet, request);
  return result?.kind === 'filled' ? createElement(AdCard, { ...props, ad: result.ad }) : null;
}
