import { useState } from 'preact/hooks';
import { AdCard, surfaces, type Creative, type Surface } from '../../shared/card';
import { t } from '../state';

/** An ad in the surfaces where it may stand. */
export function Preview({ ad }: { ad: Creative }) {
  const [surface, setSurface] = useState<Surface>('card');
  return (
    <section class="card preview" aria-label={t().preview}>
      <div class="row spread"><h2>{t().preview}</h2>
        <label class="pick"><span>{t().surface}</span><select value={surface} onChange={(e) => setSurface(e.currentTarget.value as Surface)}>{surfaces.map((s) => <option key={s} value={s}>{t().surfaces[s]}</option>)}</select></label></div>
      <div class="stage"><AdCard ad={ad} surface={surface} label={t().sponsored} names={{ headline: t().yourHeadline, cta: t().learnMore }} /></div>
      <p class="note">{t().previewHelp}</p>
    </section>
  );
}
