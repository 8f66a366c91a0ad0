/** The visible content of an ad on any surface. */
export interface Creative {
  headline: string;
  subtext?: string;
  cta_label?: string;
  cta_url?: string;
  logo_url?: string;
  media_url?: string;
  poster_url?: string;
  format?: string;
}
export type Surface = 'card' | 'embed' | 'text' | 'mcp' | 'banner';
export const surfaces: Surface[] = ['card', 'embed', 'text', 'mcp', 'banner'];

/** Only images that a page loads over an encrypted connection. */
const picture = (url?: string) =>
  url?.startsWith('https://') || url?.startsWith('data:image/') ? url : undefined;

export function host(url?: string): string {
  try {
    return new URL(url ?? '').host;
  } catch {
    return '';
  }
}

/** An ad as readers see it. Its links are inactive here, and nothing is counted. */
export function AdCard({
  ad,
  surface,
  label,
  names,
}: {
  ad: Creative;
  surface: Surface;
  label: string;
  names: { headline: string; cta: string };
}) {
  const headline = ad.headline || names.headline;
  const cta = ad.cta_label || names.cta;
  if (surface === 'text' || surface === 'mcp') {
    return (
      <div class={`ad ad-${surface}`} dir="auto">
        <p>
          <b>[{label}]</b> {headline}
        </p>
        {ad.subtext && <p>{ad.subtext}</p>}
        <p class="ad-link">
          {cta}: {ad.cta_url || 'https://…'}
        </p>
      </div>
    );
  }
  const media = picture(ad.format === 'video' ? ad.poster_url : ad.media_url);
  const logo = picture(ad.logo_url);
  return (
    <div class={`ad ad-${surface}`} dir="auto">
      {surface !== 'banner' && media && (
        <img class="ad-media" src={media} alt="" referrerpolicy="no-referrer" loading="lazy" />
      )}
      <div class="ad-body">
        <p class="ad-top">
          {logo && (
            <img class="ad-logo" src={logo} alt="" referrerpolicy="no-referrer" loading="lazy" />
          )}
          <span class="ad-label">{label}</span>
          <span class="ad-host">{host(ad.cta_url)}</span>
        </p>
        <p class="ad-headline">{headline}</p>
        {ad.subtext && <p class="ad-subtext">{ad.subtext}</p>}
        <span class="ad-cta">{cta}</span>
      </div>
    </div>
  );
}
