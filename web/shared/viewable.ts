/**
 * Watch calls seen when some of box is in view, and viewed when enough of it was for a second
 * without
 * a break, as MRC counts: half, or 30 % from 242,500 pixels, in a tab that is visible. Each once,
 * however often it is stopped and begun.
 */
export class Watch {
  #entry?: IntersectionObserverEntry;
  #timer = 0;
  #since = 0; // start of the current view
  #told = false;
  #done = false;
  #running = false;
  #observer = new IntersectionObserver(
    (entries) => {
      this.#entry = entries[entries.length - 1];
      this.#judge();
    },
    { threshold: [0, 0.001, 0.3, 0.5] },
  );
  #judge = () => {
    clearTimeout(this.#timer);
    const {
      isIntersecting,
      intersectionRatio: ratio,
      boundingClientRect: { width, height },
    } = this.#entry!;
    const area = width * height;
    const inView = document.visibilityState == 'visible' && isIntersecting && ratio > 0 && area > 0;
    const enough = inView && ratio >= (area >= 242500 ? 0.3 : 0.5);
    // A page may hide an ad by its styles, which no observer reports.
    const bare =
      inView &&
      (this.box.checkVisibility?.({ checkOpacity: true, checkVisibilityCSS: true }) ?? true);
    if (bare && !this.#told) {
      this.#told = true;
      this.seen();
    }
    if (!enough || !bare) this.#since = 0;
    else {
      const now = performance.now();
      this.#since ||= now;
      const rest = this.#since + 1000 - now;
      if (rest <= 0) {
        this.#done = true;
        this.stop();
        return this.viewed();
      }
      this.#timer = setTimeout(this.#judge, Math.min(rest, 100));
      return;
    }
    if (enough || (inView && !this.#told)) this.#timer = setTimeout(this.#judge, 100);
  };
  constructor(
    readonly box: Element,
    readonly seen: () => void,
    readonly viewed: () => void,
  ) {}
  begin() {
    if (this.#done || this.#running) return;
    this.#running = true;
    this.#observer.observe(this.box);
    document.addEventListener('visibilitychange', this.#changed);
  }
  stop() {
    clearTimeout(this.#timer);
    this.#running = false;
    this.#since = 0;
    this.#entry = undefined;
    this.#observer.disconnect();
    document.removeEventListener('visibilitychange', this.#changed);
  }
  #changed = () => this.#entry && this.#judge();
}
