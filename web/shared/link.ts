// permitted returns an address that an ad may link to or load: encrypted, or on this machine. It
// throws for others.
export const permitted = (address: unknown) => {
  const u = new URL(String(address));
  if (
    u.protocol == 'https:' ||
    (u.protocol == 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(u.hostname))
  )
    return u.href;
  throw u;
};
