/** Matches elements that can take the focus. */
const able =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), ' +
  'textarea:not(:disabled), summary, [tabindex]';

/**
 * The focused element and its ancestors, innermost first, each with its neighbours.
 */
type Place = { at: Element; after: Element | null; before: Element | null }[];

let page: Place = [],
  dialog: Place = [];
let timer = 0,
  tries = 0;

function placeOf(of: Element): Place {
  const place: Place = [];
  for (let at: Element | null = of; at && at !== document.body; at = at.parentElement) {
    place.push({ at, after: at.nextElementSibling, before: at.previousElementSibling });
    if (at.matches('main, dialog')) break;
  }
  return place;
}

/** The first focusable element within an element, including itself. */
const first = (of: Element | null) =>
  of?.isConnected
    ? [of, ...of.querySelectorAll(able)].find(
        (e): e is HTMLElement => e.matches(able) && e.getClientRects().length > 0,
      )
    : undefined;

function mend() {
  timer = 0;
  const place = document.querySelector('dialog[open]') ? dialog : page;
  if (place.length === 0 || (document.activeElement && document.activeElement !== document.body))
    return;
  // A button is disabled while its action runs. It gets the focus back unless it stays disabled.
  if (place[0]!.at.isConnected && place[0]!.at.matches(':disabled') && tries++ < 10)
    return look(100);
  for (const { at, after, before } of place) {
    const to = first(at) ?? first(after) ?? first(before);
    if (to) return to.focus();
  }
}

function look(wait: number) {
  timer ||= window.setTimeout(mend, wait);
}

/** Keeps the keyboard where it is. What has the focus may leave the page, as a row that was decided, or
 *  be disabled; the browser then drops the focus, and who types stands nowhere. It goes to what is
 *  nearest. Who clicks beside everything has left it by will. */
export function keepFocus() {
  addEventListener('focusin', ({ target }) => {
    if (!(target instanceof Element)) return;
    tries = 0;
    if (target.closest('dialog')) dialog = placeOf(target);
    else page = placeOf(target);
  });
  addEventListener(
    'pointerdown',
    () => {
      page = dialog = [];
    },
    true,
  );
  new MutationObserver(() => look(50)).observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ['disabled', 'open'],
  });
}
