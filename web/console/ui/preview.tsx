import { useEffect, useRef, useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { typedNumber } from '../../shared/money';
import { base, t } from '../state';

type Shown = Schemas['Preview'];
/** The visible parts of a campaign. */
export interface Creative {
  headline: string;
  subtext?: string;
  cta_label?: string;
  cta_url?: string;
  logo_url?: string;
  media_url?: string;
  poster_url?: string;
  format?: '' | Schemas['Format'];
  skippable_after_sec?: number | string;
  billing_model?: Schemas['Campaign']['billing_model'];
  billing_event?: Schemas['Campaign']['billing_event'];
}
const surfaces = [
  'card',
  'embed',
  'text',
  'mcp',
  '300x250',
  '728x90',
  '320x50',
  '300x600',
  '160x600',
  'vast',
] as const;
type Surface = (typeof surfaces)[number];
const sizeOf = (s: Surface) => (/^\d/.test(s) ? s.split('x').map(Number) : undefined);

/**
 * The rendering of an ad on every surface, shortly after its last change. Missing texts have
 * placeholders.
 */
function usePreview(ad: Creative): Shown | null {
  const [shown, set] = useState<Shown | null>(null);
  const link = (url?: string) => (url && /^https:\/\/[^\s/]+/.test(url.trim()) ? url.trim() : '');
  const body = {
    headline: ad.headline.trim() || t().yourHeadline,
    subtext: ad.subtext ?? '',
    ...(ad.cta_label?.trim() ? { cta_label: ad.cta_label } : {}),
    cta_url: link(ad.cta_url) || 'https://www.example/',
    media_url: link(ad.media_url),
    logo_url: link(ad.logo_url),
    poster_url: link(ad.poster_url),
    ...(ad.format ? { format: ad.format } : {}),
    ...(ad.format === 'video' && ad.skippable_after_sec !== undefined
      ? { skippable_after_sec: typedNumber(String(ad.skippable_after_sec)) }
      : {}),
    ...(ad.billing_model === 'cpm' && ad.billing_event ? { billing_event: ad.billing_event } : {}),
  };
  const text = JSON.stringify(body);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(
      () =>
        void need(api.POST('/api/campaigns/preview', { body })).then(
          (r) => {
            if (current) set(r);
          },
          () => {
            /* the check reports what cannot be shown yet */
          },
        ),
      shown ? 400 : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  return shown;
}

/** An ad on its possible surfaces, each drawn by the surface's own code. */
export function Preview({ ad }: { ad: Creative }) {
  const [wanted, setSurface] = useState<Surface>('card');
  const shown = usePreview(ad);
  const why = (s: Surface) => shown?.unserved[sizeOf(s) ? 'banner' : s];
  const surface = why(wanted) ? 'card' : wanted; // each ad can be a card
  const name = (s: Surface) =>
    sizeOf(s) ? t().bannerOf(s.replace('x', ' × ')) : t().surfacesShown[s as 'card'];
  return (
    <section class="card preview" aria-label={t().preview}>
      <div class="row spread">
        <h2>{t().preview}</h2>
        <label class="pick">
          <span>{t().surface}</span>
          <select
            name="surface"
            value={surface}
            onChange={(e) => setSurface(e.currentTarget.value as Surface)}
          >
            {surfaces.map((s) => (
              <option key={s} value={s} disabled={!!why(s)}>
                {why(s) ? t().notHere(name(s), t().unserved[why(s)!]) : name(s)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="stage" tabIndex={0} role="group" aria-label={t().preview}>
        {shown && <Frame key={surface} surface={surface} shown={shown} />}
      </div>
      <p class="note">
        {shown?.sample && t().samplePicture} {t().previewHelp}
      </p>
    </section>
  );
}

interface Said {
  preview?: { ready?: true; height?: number };
  id?: number;
  method?: string;
  params?: { height?: number };
}

/** One surface in its sandbox. It receives the ad to draw and reports its height. */
function Frame({ surface, shown }: { surface: Surface; shown: Shown }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const ready = useRef(false);
  const size = sizeOf(surface);
  const page = size ? 'banner' : surface;
  const show = () => {
    const html =
      size && shown.banners.find((b) => b.width === size[0] && b.height === size[1])?.html;
    // Its origin is none of anybody's: it cannot be named. What it is told is what it is for.
    frame.current?.contentWindow?.postMessage(
      surface === 'mcp'
        ? {
            jsonrpc: '2.0',
            method: 'ui/notifications/tool-result',
            params: { structuredContent: shown.mcp },
          }
        : { show: { ad: shown.ad, html, vast: shown.vast } },
      '*',
    );
  };
  const latest = useRef(show);
  latest.current = show;
  useEffect(() => {
    if (ready.current) show();
  }, [shown]);
  useEffect(() => {
    const hear = ({ source, data }: MessageEvent<Said>) => {
      if (
        !frame.current ||
        source !== frame.current.contentWindow ||
        typeof data !== 'object' ||
        !data
      )
        return;
      const begins = data.preview?.ready || data.method === 'ui/notifications/initialized';
      const height =
        data.preview?.height ??
        (data.method === 'ui/notifications/size-changed' ? data.params?.height : undefined);
      if (height && !size)
        frame.current.height = String(Math.min(Math.max(Math.ceil(height), 20), 900));
      if (begins) {
        ready.current = true;
        latest.current();
      }
      // The host of a card of MCP Apps: it runs no tool and opens no link.
      if (data.id !== undefined && data.method) {
        const result =
          data.method === 'ui/initialize'
            ? {
                protocolVersion: '2026-01-26',
                hostInfo: { name: 'adnet console', version: '1.0.0' },
                hostCapabilities: {},
                hostContext: {},
              }
            : {};
        frame.current.contentWindow!.postMessage({ jsonrpc: '2.0', id: data.id, result }, '*');
      }
    };
    addEventListener('message', hear);
    return () => removeEventListener('message', hear);
  }, []);
  return (
    <iframe
      ref={frame}
      title={t().preview}
      src={`${base}/console/preview/${page}`}
      sandbox="allow-scripts"
      referrerpolicy="no-referrer"
      loading="eager"
      width={size?.[0]}
      height={size ? size[1] : 180}
      class={size ? 'fixed' : undefined}
    />
  );
}
