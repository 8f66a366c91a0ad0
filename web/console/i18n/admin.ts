import { lang } from '../state';

/** The texts of administrators' screens, which come with these screens only. */
const en = {
  users: 'Accounts', email: 'E-mail or id', all: 'All', state: 'State', ids: 'User and developer id', reason: 'Reason, which the owner reads', cancel: 'Cancel',
  makeAdmin: 'Make administrator', takeAdmin: 'Take administration', erased: 'Erased', seat: 'Seat', itsCampaigns: 'Campaigns', its: 'Audit log',
  restoreSure: (who: string) => `Restore ${who}?`, roleSure: (who: string, role: string) => `Change the role of ${who} to ${role}?`,
  restoreHelp: 'Its keys and campaigns work again; it signs in anew.', roleHelp: 'Its sessions end.', you: 'you',
  suspendedIt: (who: string) => `Suspended: ${who}`, restoredIt: (who: string) => `Restored: ${who}`, roledIt: (who: string) => `Role changed: ${who}`,
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends (...args: infer A) => string ? (...args: A) => string : Texts<T[K]> };

const de: Texts<typeof en> = {
  users: 'Konten', email: 'E-Mail oder Kennung', all: 'Alle', state: 'Zustand', ids: 'Nutzer- und Entwicklerkennung', reason: 'Begründung, die das Konto liest', cancel: 'Abbrechen',
  makeAdmin: 'Zum Administrator machen', takeAdmin: 'Administration entziehen', erased: 'Gelöscht', seat: 'Sitz', itsCampaigns: 'Kampagnen', its: 'Änderungslog',
  restoreSure: (who) => `${who} entsperren?`, roleSure: (who, role) => `Rolle von ${who} auf ${role} ändern?`,
  restoreHelp: 'Schlüssel und Kampagnen gehen wieder; die Anmeldung beginnt neu.', roleHelp: 'Die Sitzungen enden.', you: 'Sie',
  suspendedIt: (who) => `Gesperrt: ${who}`, restoredIt: (who) => `Entsperrt: ${who}`, roledIt: (who) => `Rolle geändert: ${who}`,
};

export const a = () => (lang.value === 'de' ? de : en);
