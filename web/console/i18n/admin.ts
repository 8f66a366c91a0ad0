import { texts } from '../state';

/** The texts of administrators' screens, loaded only with these screens. */
const en = {
  users: 'Accounts',
  email: 'E-mail or id',
  all: 'All',
  state: 'State',
  ids: 'User and developer id',
  reason: 'Reason (visible to the owner)',
  cancel: 'Cancel',
  makeAdmin: 'Make administrator',
  takeAdmin: 'Remove administrator',
  erased: 'Erased',
  seat: 'Seat',
  itsCampaigns: 'Campaigns',
  its: 'Audit log',
  restoreSure: (who: string) => `Restore ${who}?`,
  roleSure: (who: string, role: string) => `Change the role of ${who} to ${role}?`,
  restoreHelp: 'Its keys and campaigns work again. The user has to sign in again.',
  roleHelp: 'Its sessions end.',
  you: 'you',
  nameInAds: 'Name in ads',
  nameStates: { none: 'None', waiting: 'In review', approved: 'Approved' } as Record<
    string,
    string
  >,
  nameVerified: 'Verified',
  nameApprove: 'Approve name',
  nameReject: 'Reject name',
  nameWaiting: 'Name in review',
  namesWait: (n: number) =>
    n === 1 ? '1 account name is also in review' : `${n} account names are also in review`,
  nameApproveSure: (name: string) => `Allow ads to show “${name}”?`,
  nameApproveHelp:
    'Apps and models read it beside the label of each ad of this account. Make sure ' +
    'that it is the name of the company, and not an instruction, a claim or another ' +
    'party’s name.',
  nameCheck: 'I verified the owner of the name: readers see “verified”',
  nameRejectSure: (name: string) => `Remove the name “${name}”?`,
  nameRejectHelp:
    'It is removed from the profile and from receipts. The account may submit another one.',
  nameApproved: (name: string) => `Approved: ${name}`,
  nameRejected: (name: string) => `Rejected: ${name}`,
  reportsLead:
    'Complaints of readers from the receipts of ads. A report counts once, and only if ' +
    'the impression was valid and billed.',
  noReports: 'No reports wait',
  noReportsHelp: 'The receipt page of each ad has the form “Report this ad”.',
  counted: 'Counted / all',
  networks: 'Distinct networks',
  publishers: 'Distinct publishers',
  reasons: 'Reasons',
  newest: 'Newest',
  notCounted: 'does not count',
  keep: 'Keep ad',
  remove: 'Remove ad',
  keepSure: 'Keep the ad running?',
  removeSure: 'Remove the ad?',
  toldHelp: 'Reporters with an e-mail address receive your text.',
  decided: 'The reports are decided.',
  reasonNames: {
    illegal: 'Illegal',
    misleading: 'Misleading',
    offensive: 'Offensive',
    scam: 'Scam',
    malware: 'Harmful software',
    not_labelled: 'Not labelled',
    unsuitable_place: 'Should not have been there',
    other: 'Other',
  } as Record<string, string>,
  casesLead:
    'Publishers with suspicious traffic. Their Credits are held until the case is decided.',
  noCases: 'No cases',
  open: 'Open',
  release: 'Release',
  clawback: 'Claw back',
  releaseSure: 'Release the Credits?',
  clawbackSure: 'Claw the Credits back?',
  clawbackHelp:
    'The Credits of the case are taken back, and its charges are refunded to the advertisers.',
  caseDecided: 'The case is decided.',
  caseStates: { open: 'Open', released: 'Released', clawed_back: 'Clawed back' } as Record<
    string,
    string
  >,
  rules: {
    ctr: 'CTR',
    invalid_share: 'Invalid traffic',
    mint_surge: 'Surge of Credits',
    manual: 'Manual',
    owner: 'Owner of the seat',
  } as Record<string, string>,
  publisher: 'Publisher',
  evidence: 'Evidence (threshold)',
  impressions: 'impressions',
  clicks: 'clicks',
  invalid: 'invalid',
  charged: 'Charged since then',
  why: 'Reason',
  parked: 'Parked payments',
  parkedHelp: 'Notifications of payment providers that could not be applied.',
  noParked: 'None',
  rejectSure: (what: string) => `Reject ${what}?`,
  rejectSureN: (n: number) => (n === 1 ? 'Reject 1 campaign?' : `Reject ${n} campaigns?`),
  approvedN: (n: number) => `${n} approved.`,
  rejectedN: (n: number) => `${n} rejected.`,
  reportsN: (n: number) => (n === 1 ? '1 report' : `${n} reports`),
  compared: 'Last approved version compared with the current one',
  before: 'Before',
  now: 'Now',
  field: 'Field',
  differs: 'changed',
  approvedAt: (at: string, person: boolean) =>
    person ? `A person approved it ${at}.` : `The policy let it through ${at}.`,
  noneApproved: 'No earlier version was approved.',
  tooMany: 'Too many changes since then to show the approved version.',
  suspendedIt: (who: string) => `Suspended: ${who}`,
  restoredIt: (who: string) => `Restored: ${who}`,
  roledIt: (who: string) => `Role changed: ${who}`,
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  users: 'Konten',
  email: 'E-Mail oder ID',
  all: 'Alle',
  state: 'Status',
  ids: 'Nutzer- und Entwickler-ID',
  reason: 'Begründung (für das Konto sichtbar)',
  cancel: 'Abbrechen',
  makeAdmin: 'Zum Administrator machen',
  takeAdmin: 'Administration entziehen',
  erased: 'Gelöscht',
  seat: 'Seat',
  itsCampaigns: 'Kampagnen',
  its: 'Audit-Log',
  restoreSure: (who) => `${who} entsperren?`,
  roleSure: (who, role) => `Rolle von ${who} auf ${role} ändern?`,
  restoreHelp: 'Schlüssel und Kampagnen funktionieren wieder. Der Nutzer muss sich neu anmelden.',
  roleHelp: 'Die Sitzungen enden.',
  you: 'Sie',
  nameInAds: 'Name in Anzeigen',
  nameStates: { none: 'Keiner', waiting: 'In Prüfung', approved: 'Genehmigt' },
  nameVerified: 'Geprüft',
  nameApprove: 'Namen genehmigen',
  nameReject: 'Namen ablehnen',
  nameWaiting: 'Name in Prüfung',
  namesWait: (n) =>
    n === 1 ? 'Auch 1 Kontoname ist in Prüfung' : `Auch ${n} Kontonamen sind in Prüfung`,
  nameApproveSure: (name) => `Dürfen Anzeigen „${name}“ zeigen?`,
  nameApproveHelp:
    'Apps und Modelle lesen ihn neben der Kennzeichnung jeder Anzeige dieses Kontos. ' +
    'Stellen Sie sicher, dass es der Name der Firma ist und keine Anweisung, keine ' +
    'Behauptung und kein fremder Name.',
  nameCheck: 'Ich habe den Inhaber des Namens geprüft: Leser sehen „geprüft“',
  nameRejectSure: (name) => `Den Namen „${name}“ entziehen?`,
  nameRejectHelp:
    'Er wird aus dem Profil und von Belegen entfernt. Das Konto kann einen anderen einreichen.',
  nameApproved: (name) => `Genehmigt: ${name}`,
  nameRejected: (name) => `Abgelehnt: ${name}`,
  reportsLead:
    'Meldungen von Lesern über die Belege von Anzeigen. Eine Meldung zählt einmal, und ' +
    'nur wenn die Impression gültig und abgerechnet war.',
  noReports: 'Keine offenen Meldungen',
  noReportsHelp: 'Die Belegseite jeder Anzeige hat das Formular „Report this ad“.',
  counted: 'Gezählt / alle',
  networks: 'Verschiedene Netzwerke',
  publishers: 'Verschiedene Publisher',
  reasons: 'Gründe',
  newest: 'Neueste',
  notCounted: 'zählt nicht',
  keep: 'Anzeige behalten',
  remove: 'Anzeige entfernen',
  keepSure: 'Die Anzeige weiterlaufen lassen?',
  removeSure: 'Die Anzeige entfernen?',
  toldHelp: 'Meldende mit E-Mail-Adresse erhalten Ihren Text.',
  decided: 'Die Meldungen sind entschieden.',
  reasonNames: {
    illegal: 'Rechtswidrig',
    misleading: 'Irreführend',
    offensive: 'Anstößig',
    scam: 'Betrug',
    malware: 'Schädliche Software',
    not_labelled: 'Nicht gekennzeichnet',
    unsuitable_place: 'Hätte dort nicht stehen dürfen',
    other: 'Anderes',
  },
  casesLead:
    'Publisher mit verdächtigem Traffic. Ihre Credits werden einbehalten, bis der Fall ' +
    'entschieden ist.',
  noCases: 'Keine Fälle',
  open: 'Offen',
  release: 'Freigeben',
  clawback: 'Zurücknehmen',
  releaseSure: 'Die Credits freigeben?',
  clawbackSure: 'Die Credits zurücknehmen?',
  clawbackHelp:
    'Die Credits des Falls werden zurückgenommen, und die Werbetreibenden erhalten die ' +
    'Belastungen zurück.',
  caseDecided: 'Der Fall ist entschieden.',
  caseStates: { open: 'Offen', released: 'Freigegeben', clawed_back: 'Zurückgenommen' },
  rules: {
    ctr: 'CTR',
    invalid_share: 'Ungültiger Traffic',
    mint_surge: 'Anstieg der Credits',
    manual: 'Manuell',
    owner: 'Inhaber des Seats',
  },
  publisher: 'Publisher',
  evidence: 'Belege (Schwelle)',
  impressions: 'Impressionen',
  clicks: 'Klicks',
  invalid: 'ungültig',
  charged: 'Seitdem berechnet',
  why: 'Begründung',
  parked: 'Nicht verbuchte Zahlungen',
  parkedHelp: 'Nachrichten von Zahlungsanbietern, die nicht verbucht werden konnten.',
  noParked: 'Keine',
  rejectSure: (what) => `${what} ablehnen?`,
  rejectSureN: (n) => (n === 1 ? '1 Kampagne ablehnen?' : `${n} Kampagnen ablehnen?`),
  approvedN: (n) => `${n} genehmigt.`,
  rejectedN: (n) => `${n} abgelehnt.`,
  reportsN: (n) => (n === 1 ? '1 Meldung' : `${n} Meldungen`),
  compared: 'Zuletzt genehmigte und aktuelle Fassung',
  before: 'Vorher',
  now: 'Jetzt',
  field: 'Feld',
  differs: 'geändert',
  approvedAt: (at, person) =>
    person
      ? `Ein Mensch hat es am ${at} genehmigt.`
      : `Die Richtlinie hat es am ${at} durchgelassen.`,
  noneApproved: 'Keine frühere Fassung wurde genehmigt.',
  tooMany: 'Zu viele Änderungen seither, um die genehmigte Fassung zu zeigen.',
  suspendedIt: (who) => `Gesperrt: ${who}`,
  restoredIt: (who) => `Entsperrt: ${who}`,
  roledIt: (who) => `Rolle geändert: ${who}`,
};

export const a = () => texts(en, de);
