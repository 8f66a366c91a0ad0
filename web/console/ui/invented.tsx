import { info, t } from '../state';

/** One line on every page of an installation whose history never happened. */
export function Invented() {
  if (!info.value?.invented) return null;
  return (
    <p class="invented" role="note">
      {t().inventedData}
    </p>
  );
}
