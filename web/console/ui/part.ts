const noted = 'adnet.reloaded';

/** The build of this page: the address of its first module, which has a hash. */
const build = () => document.querySelector<HTMLScriptElement>('script[type=module]')?.src ?? '';

/**
 * Notes that the page is loaded anew, and reports whether it may be: once for each build, so that a
 * module which stays missing cannot cause a loop, even between nodes of two builds. Without storage
 * nothing could end a loop.
 */
function mayReload(): boolean {
  try {
    const builds = (sessionStorage.getItem(noted) ?? '').split(' ');
    if (builds.includes(build())) return false;
    sessionStorage.setItem(noted, [...builds.slice(-20), build()].join(' '));
    return true;
  } catch {
    return false;
  }
}

const answers = () =>
  fetch(location.href, { cache: 'no-store' }).then(
    (r) => r.ok,
    () => false,
  );

/**
 * Loads a part of the console. After an upgrade the parts of an open page are gone from the server:
 * the page is then loaded anew, once. It stays when the server does not answer. Errors: those of
 * load.
 */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (e) {
    if (!(await answers()) || !mayReload()) throw e;
    location.reload();
    return new Promise<T>(() => {});
  }
}
