import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Runs the act of a pressed key. The keys act only while the address is that of their screen: the
 * screen before stays on the page while the next one is loaded. Fields and dialogs keep their keys,
 * and a key that is held acts once, except for those in held.
 */
export function useKeys(acts: Record<string, () => unknown>, held = '') {
  const at = useRef(location.pathname);
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      const on = e.target instanceof HTMLElement ? e.target : document.body;
      const act = acts[e.key];
      if (
        !act ||
        location.pathname !== at.current ||
        (on !== document.body && !on.closest('main, .toasts')) ||
        document.querySelector('dialog[open]') ||
        /^(TEXTAREA|SELECT)$/.test(on.tagName) ||
        (e.repeat && !held.includes(e.key)) ||
        e.ctrlKey ||
        e.metaKey ||
        e.altKey
      )
        return;
      e.preventDefault();
      act();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}
