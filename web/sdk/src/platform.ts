// Functions that some platforms lack: older browsers, React Native, and pages without encryption,
// where a part of crypto is missing. Without them a call works as well.

/** Reports whether value is an absolute http or https URL. */
export function isAddress(value: unknown): value is string {
  if (typeof value !== 'string' || !/^https?:\/\/[^/?#]/i.test(value)) return false;
  try {
    return typeof URL === 'undefined' || new URL(value) !== undefined;
  } catch {
    return false;
  }
}

/** Returns a new key that names one call: 36 characters. */
export function callKey(): string {
  const source = globalThis.crypto as Partial<Crypto> | undefined;
  if (source?.randomUUID !== undefined) return source.randomUUID();
  const bytes = new Uint8Array(18);
  if (source?.getRandomValues !== undefined) source.getRandomValues(bytes);
  // The key tells calls of one API key apart and is no secret.
  else for (let i = 0; i < bytes.length; i++) bytes[i] = Math.random() * 256;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
