import { texts } from '../state';

/** The texts of administrators' screens, which come with these screens only. */
const en = {
  users: 'Accounts', email: 'E-mail or id', all: 'All', state: 'State', ids: 'User and developer id', reason: 'Reason, which the owner reads', cancel: 'Cancel',
  makeAdmin: 'Make administrator', takeAdmin: 'Take administration', erased: 'Erased', seat: 'Seat', itsCampaigns: 'Campaigns', its: 'Audit log',
  restoreSure: (who: string) => `Restore ${who}?`, roleSure: (who: string, role: string) => `Change the role of ${who} to ${role}?`,
  restoreHelp: 'Its keys and campaigns work again; it signs in anew.', roleHelp: 'Its sessions end.', you: 'you',
  nameInAds: 'Name in ads', nameStates: { none: 'None', waiting: 'Waits', approved: 'Approved' } as Record<string, string>, nameVerified: 'Verified', nameApprove: 'Approve name', nameReject: 'Reject name', nameWaiting: 'Name waits', namesWait: (n: number) => (n === 1 ? '1 name of an account waits, too' : `${n} names of accounts wait, too`),
  nameApproveSure: (name: string) => `Let ads say “${name}”?`, nameApproveHelp: 'Apps and models read it beside the label of each ad of this account. Is it the name of the company, and no instruction, no claim, no name of somebody else?', nameCheck: 'I checked who is behind the name: readers see “verified”',
  nameRejectSure: (name: string) => `Take the name “${name}” away?`, nameRejectHelp: 'It goes from the profile and from receipts. The account may say another one.', nameApproved: (name: string) => `Approved: ${name}`, nameRejected: (name: string) => `Rejected: ${name}`,
  reportsLead: 'What readers say by the receipts of ads. A report counts once, where the impression was valid and billed.', noReports: 'No reports wait', noReportsHelp: 'The receipt page of each ad has the form “Report this ad”.',
  counted: 'Counted / all', networks: 'Distinct networks', publishers: 'Distinct publishers', reasons: 'Reasons', newest: 'Newest', notCounted: 'does not count', keep: 'Keep the ad', remove: 'Remove the ad',
  keepSure: 'Let the ad go on?', removeSure: 'Remove the ad?', toldHelp: 'Who left an e-mail is told your words.', decided: 'The reports are decided.',
  reasonNames: { illegal: 'Illegal', misleading: 'Misleading', offensive: 'Offensive', scam: 'Scam', malware: 'Harmful software', not_labelled: 'Not labelled', unsuitable_place: 'Should not have been there', other: 'Other' } as Record<string, string>,
  casesLead: 'Publishers whose traffic is unlike that of people. Their Credits are held until a case is decided.', noCases: 'No cases', open: 'Open', release: 'Release', clawback: 'Claw back', releaseSure: 'Release the Credits?', clawbackSure: 'Claw the Credits back?',
  clawbackHelp: 'The Credits of the case are taken back, and its charges are given back to the advertisers.', caseDecided: 'The case is decided.', caseStates: { open: 'Open', released: 'Released', clawed_back: 'Clawed back' } as Record<string, string>,
  rules: { ctr: 'Click rate', invalid_share: 'Invalid traffic', mint_surge: 'Surge of Credits', manual: 'By hand', owner: 'Owner of the seat' } as Record<string, string>,
  publisher: 'Publisher', evidence: 'Evidence (threshold)', impressions: 'impressions', clicks: 'clicks', invalid: 'invalid', charged: 'Charged meanwhile', why: 'Reason given', parked: 'Parked payments', parkedHelp: 'Deliveries of payment providers that could not be applied.', noParked: 'None',
  rejectSure: (what: string) => `Reject ${what}?`, rejectSureN: (n: number) => (n === 1 ? 'Reject 1 campaign?' : `Reject ${n} campaigns?`), approvedN: (n: number) => `${n} approved.`, rejectedN: (n: number) => `${n} rejected.`, reportsN: (n: number) => (n === 1 ? '1 report' : `${n} reports`),
  compared: 'Approved before, and now', before: 'Before', now: 'Now', field: 'Field', differs: 'changed', approvedAt: (at: string, person: boolean) => (person ? `A person approved it ${at}.` : `The policy let it through ${at}.`), noneApproved: 'Nothing of it was approved before.', tooMany: 'It changed too often since to read what was approved before.',
  suspendedIt: (who: string) => `Suspended: ${who}`, restoredIt: (who: string) => `Restored: ${who}`, roledIt: (who: string) => `Role changed: ${who}`,
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends (...args: infer A) => string ? (...args: A) => string : Texts<T[K]> };

const de: Texts<typeof en> = {
  users: 'Konten', email: 'E-Mail oder Kennung', all: 'Alle', state: 'Zustand', ids: 'Nutzer- und Entwicklerkennung', reason: 'Begründung, die das Konto liest', cancel: 'Abbrechen',
  makeAdmin: 'Zum Administrator machen', takeAdmin: 'Administration entziehen', erased: 'Gelöscht', seat: 'Sitz', itsCampaigns: 'Kampagnen', its: 'Änderungslog',
  restoreSure: (who) => `${who} entsperren?`, roleSure: (who, role) => `Rolle von ${who} auf ${role} ändern?`,
  restoreHelp: 'Schlüssel und Kampagnen gehen wieder; die Anmeldung beginnt neu.', roleHelp: 'Die Sitzungen enden.', you: 'Sie',
  nameInAds: 'Name in Anzeigen', nameStates: { none: 'Keiner', waiting: 'Wartet', approved: 'Genehmigt' }, nameVerified: 'Geprüft', nameApprove: 'Namen genehmigen', nameReject: 'Namen ablehnen', nameWaiting: 'Name wartet', namesWait: (n) => (n === 1 ? 'Auch der Name eines Kontos wartet' : `Auch die Namen von ${n} Konten warten`),
  nameApproveSure: (name) => `Dürfen Anzeigen „${name}“ nennen?`, nameApproveHelp: 'Apps und Modelle lesen ihn neben der Kennzeichnung jeder Anzeige dieses Kontos. Ist es der Name der Firma, und keine Anweisung, keine Behauptung, kein Name von anderen?', nameCheck: 'Ich habe geprüft, wer hinter dem Namen steht: Leser sehen „geprüft“',
  nameRejectSure: (name) => `Den Namen „${name}“ entziehen?`, nameRejectHelp: 'Er verschwindet aus dem Profil und von Belegen. Das Konto kann einen anderen nennen.', nameApproved: (name) => `Genehmigt: ${name}`, nameRejected: (name) => `Abgelehnt: ${name}`,
  reportsLead: 'Was Leser über die Belege von Anzeigen melden. Eine Meldung zählt einmal, wenn die Einblendung gültig und abgerechnet war.', noReports: 'Keine Meldung wartet', noReportsHelp: 'Die Belegseite jeder Anzeige hat das Formular „Report this ad“.',
  counted: 'Gezählt / alle', networks: 'Verschiedene Netze', publishers: 'Verschiedene Publisher', reasons: 'Gründe', newest: 'Neueste', notCounted: 'zählt nicht', keep: 'Anzeige behalten', remove: 'Anzeige entfernen',
  keepSure: 'Die Anzeige weiterlaufen lassen?', removeSure: 'Die Anzeige entfernen?', toldHelp: 'Wer eine E-Mail hinterließ, bekommt Ihre Worte.', decided: 'Die Meldungen sind entschieden.',
  reasonNames: { illegal: 'Rechtswidrig', misleading: 'Irreführend', offensive: 'Anstößig', scam: 'Betrug', malware: 'Schädliche Software', not_labelled: 'Nicht gekennzeichnet', unsuitable_place: 'Hätte dort nicht stehen dürfen', other: 'Anderes' },
  casesLead: 'Publisher, deren Verkehr nicht dem von Menschen gleicht. Ihre Credits werden einbehalten, bis ein Fall entschieden ist.', noCases: 'Keine Fälle', open: 'Offen', release: 'Freigeben', clawback: 'Zurücknehmen', releaseSure: 'Die Credits freigeben?', clawbackSure: 'Die Credits zurücknehmen?',
  clawbackHelp: 'Die Credits des Falls werden zurückgenommen, und wer zahlte, bekommt sein Geld zurück.', caseDecided: 'Der Fall ist entschieden.', caseStates: { open: 'Offen', released: 'Freigegeben', clawed_back: 'Zurückgenommen' },
  rules: { ctr: 'Klickrate', invalid_share: 'Ungültiger Verkehr', mint_surge: 'Sprung der Credits', manual: 'Von Hand', owner: 'Eigentümer des Sitzes' },
  publisher: 'Publisher', evidence: 'Belege (Schwelle)', impressions: 'Einblendungen', clicks: 'Klicks', invalid: 'ungültig', charged: 'Inzwischen berechnet', why: 'Begründung', parked: 'Liegen gebliebene Zahlungen', parkedHelp: 'Nachrichten von Zahlungsanbietern, die nicht verbucht werden konnten.', noParked: 'Keine',
  rejectSure: (what) => `${what} ablehnen?`, rejectSureN: (n) => (n === 1 ? '1 Kampagne ablehnen?' : `${n} Kampagnen ablehnen?`), approvedN: (n) => `${n} genehmigt.`, rejectedN: (n) => `${n} abgelehnt.`, reportsN: (n) => (n === 1 ? '1 Meldung' : `${n} Meldungen`),
  compared: 'Vorher genehmigt und jetzt', before: 'Vorher', now: 'Jetzt', field: 'Feld', differs: 'geändert', approvedAt: (at, person) => (person ? `Ein Mensch hat es am ${at} genehmigt.` : `Die Richtlinie hat es am ${at} durchgelassen.`), noneApproved: 'Davon wurde noch nichts genehmigt.', tooMany: 'Seither wurde es zu oft geändert, um zu lesen, was genehmigt war.',
  suspendedIt: (who) => `Gesperrt: ${who}`, restoredIt: (who) => `Entsperrt: ${who}`, roledIt: (who) => `Rolle geändert: ${who}`,
};

export const a = () => texts(en, de);
