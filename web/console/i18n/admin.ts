import { lang } from '../state';

/** The texts of administrators' screens, which come with these screens only. */
const en = {
  users: 'Accounts', email: 'E-mail or id', all: 'All', state: 'State', ids: 'User and developer id', reason: 'Reason, which the owner reads', cancel: 'Cancel',
  makeAdmin: 'Make administrator', takeAdmin: 'Take administration', erased: 'Erased', seat: 'Seat', itsCampaigns: 'Campaigns', its: 'Audit log',
  restoreSure: (who: string) => `Restore ${who}?`, roleSure: (who: string, role: string) => `Change the role of ${who} to ${role}?`,
  restoreHelp: 'Its keys and campaigns work again; it signs in anew.', roleHelp: 'Its sessions end.', you: 'you',
  reportsLead: 'What readers say by the receipts of ads. A report counts once, where the impression was valid and billed.', noReports: 'No reports wait', noReportsHelp: 'The receipt page of each ad has the form “Report this ad”.',
  counted: 'Counted / all', networks: 'Distinct networks', publishers: 'Distinct publishers', reasons: 'Reasons', newest: 'Newest', notCounted: 'does not count', keep: 'Keep the ad', remove: 'Remove the ad',
  keepSure: 'Let the ad go on?', removeSure: 'Remove the ad?', toldHelp: 'Who left an e-mail is told your words.', decided: 'The reports are decided.',
  reasonNames: { illegal: 'Illegal', misleading: 'Misleading', offensive: 'Offensive', scam: 'Scam', malware: 'Harmful software', not_labelled: 'Not labelled', other: 'Other' } as Record<string, string>,
  suspendedIt: (who: string) => `Suspended: ${who}`, restoredIt: (who: string) => `Restored: ${who}`, roledIt: (who: string) => `Role changed: ${who}`,
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends (...args: infer A) => string ? (...args: A) => string : Texts<T[K]> };

const de: Texts<typeof en> = {
  users: 'Konten', email: 'E-Mail oder Kennung', all: 'Alle', state: 'Zustand', ids: 'Nutzer- und Entwicklerkennung', reason: 'Begründung, die das Konto liest', cancel: 'Abbrechen',
  makeAdmin: 'Zum Administrator machen', takeAdmin: 'Administration entziehen', erased: 'Gelöscht', seat: 'Sitz', itsCampaigns: 'Kampagnen', its: 'Änderungslog',
  restoreSure: (who) => `${who} entsperren?`, roleSure: (who, role) => `Rolle von ${who} auf ${role} ändern?`,
  restoreHelp: 'Schlüssel und Kampagnen gehen wieder; die Anmeldung beginnt neu.', roleHelp: 'Die Sitzungen enden.', you: 'Sie',
  reportsLead: 'Was Leser über die Belege von Anzeigen melden. Eine Meldung zählt einmal, wenn die Einblendung gültig und abgerechnet war.', noReports: 'Keine Meldung wartet', noReportsHelp: 'Die Belegseite jeder Anzeige hat das Formular „Report this ad“.',
  counted: 'Gezählt / alle', networks: 'Verschiedene Netze', publishers: 'Verschiedene Publisher', reasons: 'Gründe', newest: 'Neueste', notCounted: 'zählt nicht', keep: 'Anzeige behalten', remove: 'Anzeige entfernen',
  keepSure: 'Die Anzeige weiterlaufen lassen?', removeSure: 'Die Anzeige entfernen?', toldHelp: 'Wer eine E-Mail hinterließ, bekommt Ihre Worte.', decided: 'Die Meldungen sind entschieden.',
  reasonNames: { illegal: 'Rechtswidrig', misleading: 'Irreführend', offensive: 'Anstößig', scam: 'Betrug', malware: 'Schädliche Software', not_labelled: 'Nicht gekennzeichnet', other: 'Anderes' },
  suspendedIt: (who) => `Gesperrt: ${who}`, restoredIt: (who) => `Entsperrt: ${who}`, roledIt: (who) => `Rolle geändert: ${who}`,
};

export const a = () => (lang.value === 'de' ? de : en);
